//! What a command leaves, and where.

use std::path::PathBuf;

use airlane_judge::summary::*;
use airlane_sim::{OutFolder, RunInfo};

/// A folder of its own for each test, gone when the test is.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("airlane-lab-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn summary() -> Summary {
    let mut s = Summary::new("bulk", vec![1, 2]);
    s.virtual_s = 120.0;
    for seed in [1, 2] {
        let (experiment, case, scheme) = ("bulk".to_owned(), "1".to_owned(), "cubic".to_owned());
        s.runs.push(RunEntry {
            experiment: experiment.clone(),
            case: case.clone(),
            scheme: scheme.clone(),
            seed,
            packet_hash: Some(format!("{:016x}", 0xabcu64)),
        });
        s.rows.push(Row {
            experiment,
            case,
            scheme,
            seed,
            metric: "goodput_bps".to_owned(),
            unit: "bit/s".to_owned(),
            value: 0.1 + 0.2,
        });
    }
    s
}

#[test]
fn a_summary_reads_back_and_is_the_same_bytes_again() {
    let text = summary().to_json().unwrap();
    let back: Summary = serde_json::from_str(&text).unwrap();
    assert_eq!(back, summary());
    assert_eq!(back.to_json().unwrap(), text);
    assert!(text.contains("\"value\":0.30000000000000004"), "{text}");
    assert!(text.contains("\"packet_hash\":\"0000000000000abc\""));
    let names: Vec<String> = serde_json::from_str::<serde_json::Value>(&text)
        .unwrap()
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    for name in [
        "schema",
        "airlane",
        "commit",
        "scenario",
        "seeds",
        "virtual_s",
        "rows",
        "claims",
        "judgement",
    ] {
        assert!(names.iter().any(|n| n == name), "{name} of the contract");
    }
    assert_eq!(text.lines().filter(|l| l.starts_with("{\"experiment\"")).count(), 4);
}

#[test]
fn a_figure_that_is_no_number_is_a_fault_and_not_a_null() {
    let mut s = summary();
    s.rows[1].value = f64::NAN;
    assert_eq!(
        s.to_json().unwrap_err().to_string(),
        "goodput_bps of bulk, 1, cubic, seed 2 is no finite number"
    );
}

#[test]
fn a_folder_is_made_with_its_parents_and_old_results_go() {
    let scratch = Scratch::new("made");
    let dir = scratch.0.join("a/b");
    let folder = OutFolder::prepare(&dir).unwrap();
    folder.write("summary.json", b"{}").unwrap();
    folder.write("other.csv", b"1").unwrap();
    assert_eq!(std::fs::read(dir.join("summary.json")).unwrap(), b"{}");
    let again = OutFolder::prepare(&dir).unwrap();
    assert!(!again.path("summary.json").exists(), "results of an earlier run would look like ours");
    let left: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["other.csv"], "no probe and no partial file stays");
}

#[test]
fn a_folder_below_a_file_cannot_be_used() {
    let scratch = Scratch::new("below");
    let file = scratch.0.join("file");
    std::fs::write(&file, b"kept").unwrap();
    for path in [file.join("out"), file.clone()] {
        let e = OutFolder::prepare(&path).unwrap_err().to_string();
        assert!(e.starts_with(&format!("{}: cannot make the folder: ", path.display())), "{e}");
        assert!(e.ends_with("; expected a folder that can be written: see --out"), "{e}");
    }
    assert_eq!(std::fs::read(&file).unwrap(), b"kept");
}

#[test]
fn a_write_that_fails_leaves_nothing() {
    let scratch = Scratch::new("fails");
    let folder = OutFolder::prepare(&scratch.0).unwrap();
    std::fs::create_dir(scratch.0.join("summary.json")).unwrap();
    assert!(folder.write("summary.json", b"{}").is_err(), "a folder is in the way");
    assert_eq!(std::fs::read_dir(&scratch.0).unwrap().count(), 1);
}

#[test]
fn circumstances_read_back() {
    let info = RunInfo {
        command: vec!["airlane".to_owned(), "demo".to_owned()],
        stopped: true,
        ..RunInfo::default()
    };
    assert_eq!(serde_json::from_str::<RunInfo>(&info.to_json()).unwrap(), info);
}

#[test]
fn verdicts_are_counted_with_how_many_chance_gets_wrong() {
    let check = |ci95, verdict| CheckEntry {
        metric: "gain".to_owned(),
        unit: String::new(),
        cell: String::new(),
        worst: false,
        rule: "above 0".to_owned(),
        bound: 0.0,
        above: true,
        measured: Some(1.0),
        ci95,
        n: 20,
        verdict,
    };
    let claim = |verdict, checks| ClaimEntry {
        id: "x.one".to_owned(),
        content: "embedded".to_owned(),
        source: "here".to_owned(),
        statement: "It is.".to_owned(),
        paper: PaperValue::Value(1.0),
        measured: Some(1.0),
        unit: String::new(),
        n: 20,
        ci95: Some([0.5, 1.5]),
        rule: "above 0".to_owned(),
        verdict,
        reason: String::new(),
        stream: "x/1".to_owned(),
        checks,
        chart: Vec::new(),
        draws: Vec::new(),
    };
    let (holds, few) = (check(Some([0.5, 1.5]), Verdict::Holds), check(None, Verdict::Undecided));
    let mut s = summary();
    s.count_verdicts();
    assert_eq!(s.judgement, None, "nothing was judged");
    s.claims = vec![
        claim(Verdict::Holds, vec![holds.clone(), holds.clone(), few.clone()]),
        claim(Verdict::Undecided, vec![few]),
        claim(Verdict::Reported, vec![holds.clone()]),
        claim(Verdict::Fails, vec![holds]),
    ];
    s.count_verdicts();
    let counted = Judgement { claims: 2, conditions: 3, expected_false: 0.075 };
    assert_eq!(s.judgement, Some(counted));
    let text = s.to_json().unwrap();
    assert_eq!(serde_json::from_str::<Summary>(&text).unwrap(), s);
}
