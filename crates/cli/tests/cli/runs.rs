//! Verbs that run worlds: bad input leaves nothing, a stop leaves what finished.

use std::fs;
use std::process::Command;

use crate::common::*;

/// Runs the command, which must refuse its input with one line that begins with our name.
fn refused(scratch: &Scratch, arguments: &[&str]) -> String {
    let message = scratch.refused(arguments);
    assert_eq!(message.lines().count(), 1, "one message: {message}");
    message
}

/// Two transfers for as long as the test says.
fn scenario(duration_s: u32) -> String {
    format!(
        "duration_s = {duration_s}\n[link]\nrate_bps = 2e6\n[[scheme]]\nname = \"cubic\"\n\
         [[bulk]]\n[[bulk]]\n"
    )
}

#[test]
fn bad_scenarios_are_refused_with_file_line_and_key() {
    let scratch = Scratch::new("scenario");
    let about = |from: &str, to: &str| {
        scratch.file("s.toml", &scenario(1).replacen(from, to, 1));
        refused(&scratch, &["run", "s.toml"])
    };
    assert_eq!(
        about("rate_bps", "rate_bsp"),
        "s.toml:3: link.rate_bsp: unknown key; did you mean `rate_bps`?"
    );
    let absurd = "; expected a number from 1000 to 1e12 bit/s, such as 10e6";
    assert_eq!(about("2e6", "-2e6"), format!("s.toml:3: link.rate_bps: found -2e6{absurd}"));
    assert_eq!(about("2e6", "nan"), format!("s.toml:3: link.rate_bps: found NaN{absurd}"));
    assert_eq!(about("2e6", "1e99"), format!("s.toml:3: link.rate_bps: found 1e99{absurd}"));
    assert!(about("[link]", "[link").starts_with("s.toml:2: "));
    let missing = refused(&scratch, &["run", "nowhere.toml"]);
    assert!(missing.starts_with("nowhere.toml: no such file; expected a scenario"), "{missing}");
    scratch.file("s.toml", &scenario(1));
    let set = refused(&scratch, &["run", "s.toml", "--set", "link.rate_bps=0"]);
    assert_eq!(set, format!("--set link.rate_bps: found 0{absurd}"));
}

#[test]
fn bad_traces_are_refused_with_file_and_line() {
    let scratch = Scratch::new("trace");
    scratch.file("s.toml", &scenario(1));
    let about = |content: &str| {
        scratch.file("t.txt", content);
        refused(&scratch, &["run", "s.toml", "--trace", "t.txt"])
    };
    assert!(about("").starts_with("t.txt: "), "{}", about(""));
    assert!(about("5\n3\n").starts_with("t.txt:2: "), "{}", about("5\n3\n"));
    assert!(about("0 1\n1 -1\n").starts_with("t.txt:2: "), "{}", about("0 1\n1 -1\n"));
    let missing = refused(&scratch, &["run", "s.toml", "--trace", "nowhere.txt"]);
    assert!(missing.starts_with("nowhere.txt: cannot read the trace: "), "{missing}");
}

#[test]
fn bad_content_is_refused_before_anything_runs() {
    let scratch = Scratch::new("content");
    scratch.file("s.toml", &format!("{}[[viewer]]\n", scenario(1)));
    fs::create_dir(scratch.0.join("content")).unwrap();
    let about = |text: &str| {
        fs::write(scratch.0.join("content/one.json"), text).unwrap();
        let message = refused(&scratch, &["run", "s.toml", "--content", "content"]);
        assert!(message.starts_with("content/one.json"), "{message}");
    };
    about("{");
    about("{\"video\": \"one\", \"chunk_seconds\": 4.0, \"representations\": []}");
    let missing = refused(&scratch, &["run", "s.toml", "--content", "nowhere"]);
    assert!(missing.starts_with("nowhere: cannot read the content folder: "), "{missing}");
}

#[test]
fn a_folder_that_cannot_be_written_is_refused_before_anything_runs() {
    let scratch = Scratch::new("out");
    scratch.file("file", "kept");
    // An hour would show in the test's time if the work came first.
    scratch.file("s.toml", &scenario(3_600));
    let message = refused(&scratch, &["run", "s.toml", "--out", "file/out"]);
    assert!(message.starts_with("file/out: cannot make the folder: "), "{message}");
    for captures in ["--pcap", "--qlog", "--keylog"] {
        let message = refused(&scratch, &["run", "s.toml", captures, "file/captures"]);
        assert!(message.starts_with("file/captures: cannot make the folder: "), "{message}");
    }
    assert_eq!(fs::read_to_string(scratch.0.join("file")).unwrap(), "kept");
}

#[test]
fn a_run_leaves_its_results_twice_the_same() {
    let scratch = Scratch::new("twice");
    scratch.file("s.toml", &scenario(2));
    let summary = |out: &str| {
        let output = scratch.airlane(&["run", "s.toml", "--out", out, "--quiet", "--seed", "7"]);
        let (stdout, stderr) = (output.stdout, String::from_utf8(output.stderr).unwrap());
        assert_eq!(output.status.code(), Some(0), "{stderr}");
        assert_eq!(String::from_utf8(stdout).unwrap().lines().count(), 1, "the final line alone");
        assert!(stderr.is_empty(), "{stderr}");
        for name in ["run.json", "report.html"] {
            assert!(scratch.0.join(out).join(name).is_file(), "{name}");
        }
        fs::read(scratch.0.join(out).join("summary.json")).unwrap()
    };
    let first = summary("a/b");
    assert_eq!(first, summary("c"), "the same seed, the same bytes");
    let value: serde_json::Value = serde_json::from_slice(&first).unwrap();
    assert_eq!(value["seeds"], serde_json::json!([7]));
    assert_eq!(value["runs"].as_array().unwrap().len(), 1);
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_what_finished_complete_and_exits_with_130() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;

    let scratch = Scratch::new("stop");
    // Each of the runs would take minutes.
    scratch.file("s.toml", &scenario(100_000));
    let seeds = "seeds=[1,2,3,4]";
    let mut child = scratch
        .command(&["run", "s.toml", "-j", "1", "--set", seeds, "--out", "out"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The first line of progress: it runs, and listens.
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains('%'));
    let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    let read = |name: &str| -> serde_json::Value {
        let text = fs::read_to_string(scratch.0.join("out").join(name)).unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let (summary, run) = (read("summary.json"), read("run.json"));
    assert_eq!((run["stopped"].as_bool(), run["runs_planned"].as_u64()), (Some(true), Some(4)));
    assert_eq!(
        run["runs_finished"].as_u64(),
        Some(summary["runs"].as_array().unwrap().len() as u64)
    );
}
