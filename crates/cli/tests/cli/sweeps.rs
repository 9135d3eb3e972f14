//! `airlane sweep` and `airlane diff` as people call them.

use std::fs;
use std::process::Command;

use crate::common::*;

/// Two cells, two seeds, two schemes, for as long as the test says.
fn scenario(duration_s: u32) -> String {
    format!(
        "duration_s = {duration_s}\nseeds = [1, 2]\n[link]\nrate_bps = 2e6\n\
         [[scheme]]\nname = \"cubic\"\n[[scheme]]\nname = \"reno\"\ncontroller = \"reno\"\n\
         [[bulk]]\n[[bulk]]\n[grid]\n\"link.rate_bps\" = [4e6, 8e6]\n"
    )
}

impl Scratch {
    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.0.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"))
    }

    /// Runs the command, which must succeed; its last line.
    fn done(&self, arguments: &[&str]) -> String {
        let output = self.airlane(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {stderr}");
        String::from_utf8(output.stdout).unwrap().lines().last().unwrap_or_default().to_owned()
    }
}

#[test]
fn bad_grids_are_refused_with_file_line_and_key() {
    let scratch = Scratch::new("grid");
    let about = |from: &str, to: &str, more: &[&str]| {
        // An hour would show in the test's time if the work came first.
        scratch.file("s.toml", &scenario(3_600).replacen(from, to, 1));
        let message = scratch.refused(&[&["sweep", "s.toml"], more].concat());
        assert_eq!(message.lines().count(), 1, "one message: {message}");
        message
    };
    assert_eq!(
        about("\"link.rate_bps\"", "\"link.rate_bsp\"", &[]),
        "s.toml:13: link.rate_bsp: unknown key; did you mean `rate_bps`?"
    );
    let absurd = "expected a number from 1000 to 1e12 bit/s, such as 10e6";
    assert_eq!(
        about("8e6]", "\"fast\"]", &[]),
        format!("s.toml:13: link.rate_bps: found the text \"fast\"; {absurd}")
    );
    assert_eq!(
        about("", "", &["--grid", "link.rtt_s=0.01,900"]),
        "--grid link.rtt_s: found 900; expected a number from 1e-5 to 60 s, such as 0.02"
    );
    assert!(about("[grid]", "[grid", &[]).starts_with("s.toml:12: "));
    let none = scratch.refused(&["sweep", "bulk"]);
    assert_eq!(none, "bulk: no grid; expected a table [grid], or --grid key=v1,v2");
    scratch.file("s.toml", &scenario(1));
    let run = scratch.refused(&["run", "s.toml"]);
    assert_eq!(run, "s.toml:12: grid: a grid of scenarios; run it with `airlane sweep`");
}

#[cfg(unix)]
#[test]
fn ctrl_c_and_the_same_command_again_leave_what_one_go_leaves() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;

    let scratch = Scratch::new("sigint");
    // A second or more of work, of which less than a third is done when the signal is sent.
    scratch.file("s.toml", &scenario(30));
    let arguments = ["sweep", "s.toml", "-j", "1", "--out", "out"];
    let mut child =
        scratch.command(&arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.any(|l| l.unwrap().contains("20 %")), "progress is told");
    let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let read = |name: &str| -> serde_json::Value {
        serde_json::from_str(&scratch.read(&format!("out/{name}"))).unwrap()
    };
    let finished = read("run.json")["runs_finished"].as_u64().unwrap();
    assert!((1..8).contains(&finished), "{finished}");
    assert_eq!(read("summary.json")["runs"].as_array().unwrap().len() as u64, finished);
    assert!(scratch.read("out/sweep.csv").lines().count() > 1);

    let line = scratch.done(&arguments);
    assert!(line.contains(&format!("{finished} of 8 runs were there from before.")), "{line}");
    scratch.done(&["sweep", "s.toml", "--out", "whole", "--quiet"]);
    for file in ["summary.json", "sweep.csv"] {
        let same = scratch.read(&format!("out/{file}")) == scratch.read(&format!("whole/{file}"));
        assert!(same, "{file}");
    }
    let same = scratch.done(&["diff", "out", "whole", "--check"]);
    assert!(same.starts_with("Identical: 8 runs with equal packet hashes, "), "{same}");
    let fresh =
        scratch.done(&["sweep", "s.toml", "--out", "whole", "--fresh", "--set", "duration_s=1"]);
    assert!(!fresh.contains("from before"), "{fresh}");
}

#[test]
fn any_scenario_can_be_swept_without_a_file() {
    let scratch = Scratch::new("embedded");
    let line = scratch.done(&[
        "sweep",
        "bulk",
        "--set",
        "duration_s=1",
        "--grid",
        "link.queue.kind=pie,droptail",
        "--grid",
        "bulk.0.rate_bps=1e6,2e6",
        "--set",
        "bulk.0.controller=explicit",
        "--seed",
        "7",
        "--quiet",
    ]);
    assert!(line.starts_with("Over 4 cells the link is in use for between "), "{line}");
    let csv = scratch.read("out/sweep.csv");
    assert!(
        csv.starts_with("link.queue.kind,bulk.0.rate_bps,case,scheme,seed,metric,unit,value\n")
    );
    assert!(csv.contains("\npie,1000000,1/a,cubic,7,goodput_bps,bit/s,"), "{csv}");
    scratch.done(&["report", "out", "--out", "page"]);
    assert!(scratch.read("page/report.html").contains("<table class=\"facets\""));
}

#[test]
fn diff_says_what_changed_and_writes_nothing() {
    let scratch = Scratch::new("diff");
    scratch.file("s.toml", &scenario(1));
    scratch.done(&["sweep", "s.toml", "--out", "a"]);
    scratch.done(&["sweep", "s.toml", "--out", "b", "--set", "bulk.1.start_s=0.5"]);
    let before = listing(&scratch.0);
    let changed = scratch.done(&["diff", "a", "b"]);
    assert!(changed.contains(" changed, ") && changed.contains("8 of 8 runs differ"), "{changed}");
    let check = scratch.airlane(&["diff", "a", "b", "--check", "--quiet"]);
    assert_eq!(check.status.code(), Some(1));
    assert_eq!(String::from_utf8(check.stdout).unwrap().lines().count(), 1, "the final line alone");
    assert_eq!(listing(&scratch.0), before, "nothing was written");
    scratch.done(&["diff", "a/summary.json", "b", "--all", "--out", "c"]);
    assert!(scratch.read("c/report.html").contains("goodput_bps"));

    assert!(scratch.refused(&["diff", "a", "nowhere"]).starts_with("nowhere: no such folder; "));
    assert!(scratch.refused(&["diff", "s.toml", "b"]).starts_with("s.toml:1: "));
    let threshold = scratch.refused(&["diff", "a", "b", "--threshold", "much"]);
    assert!(threshold.contains("expected a number from 0 to 200"), "{threshold}");
}
