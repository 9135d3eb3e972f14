//! Reports as files, and several as one.

use airlane_report::model::{Claim, Draw, Panel, Report, Run, Section, Series, Term, Verdict};
use airlane_report::{merge, tally};

fn report(title: &str) -> Report {
    let mut panel = Panel::new("rate", "Rate", "Mbit/s", Draw::Line, 1);
    let mut series = Series::new("Viewer A");
    series.push(0.0, 0.1 + 0.2);
    series.push(1.5, 1e-300);
    panel.series = vec![series];
    let mut section = Section::new("");
    section.runs = vec![Run { seed: u64::MAX, panels: vec![panel], ..Run::default() }];
    let mut report = Report::new(title);
    report.verdict = format!("{title} is better.");
    report.sections = vec![section];
    report.terms = vec![Term::new("QoE", "quality")];
    report.claims = vec![Claim { id: "c".to_owned(), verdict: Verdict::Holds, ..Claim::default() }];
    report
}

#[test]
fn a_report_survives_the_way_through_json_plain_and_zipped() {
    let report = report("a");
    assert_eq!(Report::from_json(&report.to_json()).as_ref(), Ok(&report));
    assert_eq!(Report::from_json(&report.to_json_gz()).as_ref(), Ok(&report));
    assert_eq!(report.to_json_gz(), report.to_json_gz());
}

#[test]
fn gaps_survive_the_way_through_json() {
    let mut report = report("a");
    report.sections[0].runs[0].panels[0].series[0].push(2.0, f64::NAN);
    let back = Report::from_json(&report.to_json()).expect("our own JSON");
    let values = &back.sections[0].runs[0].panels[0].series[0].values;
    assert_eq!(values[..2], [0.1 + 0.2, 1e-300]);
    assert!(values[2].is_nan());
}

#[test]
fn what_is_no_report_is_refused_with_place_and_remedy() {
    let message = |text: &str| {
        let error = Report::from_json(text.as_bytes()).expect_err("no report");
        error.at_file("report.json").to_string()
    };
    assert!(message("{\"format\":\n 7}").starts_with("report.json:2: invalid type"));
    assert_eq!(
        message("{\"rows\": []}"),
        "report.json: format: \"\" is not a report's format; expected \"airlane-report\""
    );
    assert_eq!(
        message("{\"format\":\"airlane-report\",\"version\":99,\"title\":7}"),
        "report.json: version: version 99 is unknown; this airlane reads versions 1 to 1"
    );
    assert!(message("").contains("expected a report written by airlane"));
    let cut = &report("a").to_json_gz()[..40];
    let error = Report::from_json(cut).expect_err("cut short").to_string();
    assert!(error.contains("cannot unzip") && error.contains("cut short"), "{error}");
}

#[test]
fn one_report_merges_to_itself_and_several_keep_their_verdicts() {
    assert_eq!(merge(vec![report("a")]), report("a"));
    let both = merge(vec![report("a"), report("b")]);
    assert_eq!(both.title, "2 results");
    let titles: Vec<&str> = both.sections.iter().map(|s| s.title.as_str()).collect();
    assert_eq!(titles, ["a", "b"]);
    assert_eq!(both.sections[1].verdict, "b is better.");
    assert_eq!(both.terms.len(), 1, "what both say is said once");
    assert_eq!(both.claims.len(), 1);
    assert_eq!(both.verdict, "Of 1 claim 1 holds.");
    assert_eq!(tally(&[]), "");
}
