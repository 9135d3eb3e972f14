//! What is said of two results that are equal, changed or strangers to each other.

use std::fs;
use std::path::PathBuf;

use airlane_judge::diff;
use airlane_judge::request::{DiffRequest, Outcome};
use airlane_judge::summary::{ClaimEntry, PaperValue, Row, RunEntry, Summary, Verdict};
use airlane_sim::LabError;
use airlane_sim::RunInfo;

/// A folder of this test's own, gone when the test is.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("airlane-diff-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn leave(&self, name: &str, summary: &Summary) {
        let dir = self.0.join(name);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("summary.json"), summary.to_json().unwrap()).unwrap();
    }

    fn diff(&self, change: impl FnOnce(&mut DiffRequest)) -> Result<Outcome, LabError> {
        let mut request = DiffRequest {
            a: self.0.join("a"),
            b: self.0.join("b"),
            all: false,
            threshold: 0.01,
            check: true,
            out: None,
        };
        change(&mut request);
        diff(&request)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn row(case: &str, scheme: &str, seed: u64, metric: &str, value: f64) -> Row {
    Row {
        experiment: "scene".to_owned(),
        case: case.to_owned(),
        scheme: scheme.to_owned(),
        seed,
        metric: metric.to_owned(),
        unit: "points".to_owned(),
        value,
    }
}

fn claim(id: &str, measured: f64, verdict: Verdict) -> ClaimEntry {
    ClaimEntry {
        id: id.to_owned(),
        content: "embedded".to_owned(),
        source: String::new(),
        statement: String::new(),
        paper: PaperValue::Value(7.0),
        measured: Some(measured),
        unit: "points".to_owned(),
        n: 3,
        ci95: Some([measured - 1.0, measured + 1.0]),
        rule: String::new(),
        verdict,
        reason: String::new(),
        stream: String::new(),
        checks: Vec::new(),
        chart: Vec::new(),
        draws: Vec::new(),
    }
}

/// Two cases, two seeds, one scheme; two metrics of the run and one of a viewer.
fn summary() -> Summary {
    let mut s = Summary::new("scene", vec![1, 2]);
    for (c, case) in ["1", "2"].iter().enumerate() {
        for seed in [1, 2] {
            s.runs.push(RunEntry {
                experiment: "scene".to_owned(),
                case: (*case).to_owned(),
                scheme: "cubic".to_owned(),
                seed,
                packet_hash: Some(format!("{seed:016x}")),
            });
            let base = 50.0 + c as f64 + seed as f64;
            s.rows.push(row(case, "cubic", seed, "min_qoe", base));
            s.rows.push(row(case, "cubic", seed, "stall", 2.0));
            s.rows.push(row(&format!("{case}/v1"), "cubic", seed, "qoe", base));
        }
    }
    s.claims = vec![claim("x.one", 8.0, Verdict::Holds), claim("x.two", 3.0, Verdict::Fails)];
    s
}

#[test]
fn equal_results_are_identical_whichever_build_made_them() {
    let folder = Folder::new("equal");
    folder.leave("a", &summary());
    let mut b = summary();
    b.commit = "another".to_owned();
    folder.leave("b", &b);
    let outcome = folder.diff(|_| {}).unwrap();
    let expected = "Identical: 4 runs with equal packet hashes, 12 rows, 2 claims.";
    assert_eq!((outcome.line.as_str(), outcome.exit_code()), (expected, 0));
    assert!(outcome.table.contains("commit another"), "{}", outcome.table);
    assert!(!outcome.table.contains("Figures"));
    let listing = |name: &str| fs::read_dir(folder.0.join(name)).unwrap().count();
    assert_eq!((listing("."), listing("a"), listing("b")), (2, 1, 1), "nothing was written");
}

#[test]
fn changes_are_paired_and_the_largest_comes_first() {
    let folder = Folder::new("changed");
    folder.leave("a", &summary());
    let mut b = summary();
    b.runs[3].packet_hash = Some("0".to_owned());
    // By 0.2 of some 53: below one percent. From 2 to 3 and 1: a mean that stays.
    for row in &mut b.rows {
        match (row.metric.as_str(), row.case.as_str(), row.seed) {
            ("qoe", ..) => row.value += 0.2,
            ("min_qoe", "1", seed) => row.value += 10.0 + seed as f64,
            ("min_qoe", ..) => row.value += 12.0,
            ("stall", "1", _) => row.value = 6.0,
            _ => {}
        }
    }
    b.claims[1] = claim("x.two", 7.5, Verdict::Undecided);
    folder.leave("b", &b);
    let outcome = folder.diff(|_| {}).unwrap();
    assert_eq!(
        outcome.line,
        "3 of 3 figures changed, 2 of them by more than 1 %. The packet hashes of 1 of 4 runs \
         differ. 1 of 2 claims changed."
    );
    assert_eq!(outcome.exit_code(), 1);
    assert_eq!(folder.diff(|r| r.check = false).unwrap().exit_code(), 0);
    let lines: Vec<&str> = outcome.table.lines().collect();
    let at = |what: &str| {
        let found = lines.iter().position(|l| l.starts_with(what));
        found.unwrap_or_else(|| panic!("{what} in\n{}", outcome.table))
    };
    let (stall, qoe) = (at("scene, cubic, stall [points]"), at("scene, cubic, min_qoe [points]"));
    assert!(qoe < stall, "what may be chance comes last, however large");
    let cells: Vec<&str> =
        lines[qoe].split("  ").filter(|c| !c.is_empty()).map(str::trim).collect();
    // Case 1 gains 11 and 12, case 2 12 twice: 11.5 and 12, Student's interval over two cases.
    assert_eq!(
        cells[1..],
        ["4", "52.00", "63.75", "+11.75", "[+8.57, +14.93]", "18.4 %"],
        "{}",
        lines[qoe]
    );
    assert_eq!(lines[stall].split("  ").last().map(str::trim), Some("50.0 %"));
    assert!(lines.contains(&"1 more figure changed: see --all"));
    let changed = lines[at("x.two, embedded")];
    assert!(changed.contains("3.00 [2.00, 4.00], fails"), "{changed}");
    assert!(changed.contains("7.50 [6.50, 8.50], undecided"), "{changed}");
    assert!(!outcome.table.contains("x.one"));

    let mut clear = b.clone();
    clear.rows.iter_mut().filter(|r| r.metric == "stall").for_each(|r| r.value = 6.0);
    folder.leave("b", &clear);
    let table = folder.diff(|_| {}).unwrap().table;
    let place = |what: &str| table.find(what).unwrap();
    assert!(place("stall") < place("min_qoe"), "a share of itself is what counts: {table}");
    folder.leave("b", &b);

    let all = folder.diff(|r| r.all = true).unwrap().table;
    assert!(all.contains("scene, cubic, qoe [points]") && !all.contains("see --all"), "{all}");
    let few = folder.diff(|r| r.threshold = 0.4).unwrap().table;
    assert!(few.contains("stall") && !few.contains("min_qoe"), "{few}");
}

#[test]
fn what_one_side_alone_has_is_counted() {
    let folder = Folder::new("only");
    folder.leave("a", &summary());
    let mut b = summary();
    b.runs.truncate(2);
    b.rows.retain(|r| r.case.starts_with('1'));
    b.rows.push(row("1", "cubic", 1, "new", 1.0));
    b.claims.pop();
    folder.leave("b", &b);
    let outcome = folder.diff(|_| {}).unwrap();
    assert_eq!(
        outcome.line,
        "All 6 rows in common are equal. The packet hashes of 2 runs are equal. 0 of 1 claim \
         changed. Only in A: 2 runs, 6 rows, 1 claim. Only in B: 0 runs, 1 row."
    );
    assert_eq!(outcome.exit_code(), 1);

    let mut other = summary();
    other.runs.iter_mut().for_each(|r| r.experiment = "other".to_owned());
    other.rows.iter_mut().for_each(|r| r.experiment = "other".to_owned());
    other.claims.clear();
    folder.leave("b", &other);
    assert_eq!(
        folder.diff(|_| {}).unwrap().line,
        "Nothing in common. Only in A: 4 runs, 12 rows, 2 claims. Only in B: 4 runs, 12 rows."
    );
}

#[test]
fn packets_that_differ_alone_are_a_difference() {
    let folder = Folder::new("packets");
    folder.leave("a", &summary());
    let mut b = summary();
    b.runs[0].packet_hash = Some("f".to_owned());
    folder.leave("b", &b);
    let outcome = folder.diff(|_| {}).unwrap();
    assert_eq!(
        outcome.line,
        "All 12 rows in common are equal. The packet hashes of 1 of 4 runs differ. 0 of 2 claims \
         changed."
    );
    assert_eq!(outcome.exit_code(), 1);
}

#[test]
fn a_report_is_left_where_it_is_wanted_and_never_over_a_result() {
    let folder = Folder::new("report");
    folder.leave("a", &summary());
    let mut b = summary();
    b.rows[0].value += 20.0;
    folder.leave("b", &b);
    let info = RunInfo { stopped: true, runs_planned: 9, runs_finished: 4, ..RunInfo::default() };
    fs::write(folder.0.join("b/run.json"), info.to_json()).unwrap();
    let out = folder.0.join("deep/out");
    let outcome = folder.diff(|r| r.out = Some(out.clone())).unwrap();
    assert!(outcome.line.ends_with(&format!("Report: {}", out.join("report.html").display())));
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(
        page.contains("<th scope=\"row\">min_qoe</th>")
            && page.contains("stopped after 4 of 9 runs")
    );
    assert!(out.join("report.json.gz").is_file());
    for own in ["a", "b"] {
        let error = folder.diff(|r| r.out = Some(folder.0.join(own))).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("the report would replace this result"), "{error}");
        assert!(folder.0.join(own).join("summary.json").is_file());
    }
}

#[test]
fn what_is_no_result_is_refused_with_its_place() {
    let folder = Folder::new("refused");
    folder.leave("a", &summary());
    let about = |folder: &Folder| {
        let error = folder.diff(|_| {}).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        error.to_string().replace(&folder.0.display().to_string(), "")
    };
    let expected = "expected a folder that airlane left";
    assert_eq!(about(&folder), format!("/b: no such folder; {expected}"));
    fs::create_dir(folder.0.join("b")).unwrap();
    assert_eq!(about(&folder), format!("/b: no summary.json in it; {expected}"));
    let file = folder.0.join("b/summary.json");
    fs::write(&file, "{\n\"airlane\": 3").unwrap();
    assert!(about(&folder).starts_with("/b/summary.json:2: "), "{}", about(&folder));
    let later = summary().to_json().unwrap().replace("\"seeds\"", "\"sedes\"");
    fs::write(&file, later).unwrap();
    let message = about(&folder);
    assert!(message.starts_with("/b/summary.json:6: unknown field `sedes`"), "{message}");
    assert!(message.ends_with("expected a summary.json of this version of airlane"), "{message}");
}
