//! The page as a reader gets it.

use airlane_report::model::{
    Actor, Axis, Bound, Cdf, CdfLine, Cell, Check, Claim, Column, Dot, DotChart, DotRow, Draw,
    Estimate, Facet, Fact, Fill, Frame, Grid, Hold, Holder, Kind, Mark, Multiples, Occupancy,
    Panel, Provenance, Purpose, Report, Run, Scheme, Section, Series, SmallPanel, Span, Stretch,
    Table, Term, Tradeoff, TradeoffPoint, Verdict, Wear, XyChart, XyGroup, XyLine,
};
use airlane_report::{MAX_POINTS, render};

/// A report with `text` wherever text can be.
fn filled_with(text: &str) -> Report {
    let t = || text.to_owned();
    let mut report = Report::new(text);
    report.verdict = t();
    report.lead = t();
    report.notes = vec![t()];
    report.terms = vec![Term::new(text, text)];
    report.claims = vec![Claim {
        id: t(),
        statement: t(),
        source: t(),
        content: t(),
        paper: t(),
        paper_value: Some(2.0),
        measured: Some(1.0),
        ci95: Some([0.5, 1.5]),
        unit: t(),
        rule: t(),
        bound: Some(Bound::AtLeast(0.0)),
        rule_before: t(),
        why: t(),
        also: vec![Check { statement: t(), rule: t(), unit: t(), ..Check::default() }],
        ..Claim::default()
    }];
    report.provenance = vec![Provenance {
        label: t(),
        command: t(),
        scenario: t(),
        scenario_text: t(),
        airlane: t(),
        commit: t(),
        packet_hashes: vec![t()],
        content: t(),
        trace: t(),
        seeds: vec![1],
        more: vec![Fact::new(text, text)],
    }];
    let mut section = Section::new(text);
    section.verdict = t();
    section.lead = t();
    section.notes = vec![t()];
    section.facts = vec![Fact::new(text, text)];
    section.schemes = vec![Scheme::new(text, text, text)];
    section.dots = vec![DotChart {
        title: t(),
        note: t(),
        x: Axis::new(text, text),
        rows: vec![DotRow {
            scheme: t(),
            dots: vec![Dot { actor: t(), value: 1.0, ci95: Some([0.0, 2.0]) }],
        }],
    }];
    section.tradeoffs = vec![Tradeoff {
        title: t(),
        note: t(),
        x: Column::number(text, text, 1).help(text),
        y: Column::number(text, text, 1),
        more: vec![Column::text(text)],
        points: vec![TradeoffPoint {
            scheme: t(),
            x: 1.0.into(),
            y: 2.0.into(),
            more: vec![text.into()],
        }],
        ..Tradeoff::default()
    }];
    let facet = || Facet { title: t(), labels: vec![t(), t()] };
    section.multiples = vec![Multiples {
        title: t(),
        note: t(),
        y: Axis::new(text, text),
        columns: facet(),
        rows: facet(),
        panels: vec![SmallPanel {
            column: 1,
            row: 0,
            marks: vec![Estimate {
                scheme: t(),
                value: 1.0,
                ci95: Some([0.5, 1.5]),
                samples: vec![1.2],
            }],
        }],
    }];
    let column = |digits| Column::number(text, text, digits).help(text);
    section.tables = vec![Table {
        title: t(),
        note: t(),
        columns: vec![Column::text(text), column(1), column(2)],
        rows: Vec::new(),
    }];
    section.tables[0].push(vec![text.into(), 1.0.into(), text.into()]);
    let xs = || vec![0.0, 1.0];
    section.curves = vec![XyGroup {
        title: t(),
        note: t(),
        x: Axis::new(text, text),
        y: Axis::new(text, text),
        charts: vec![XyChart {
            title: t(),
            subtitle: t(),
            lines: vec![XyLine { name: t(), x: xs(), y: xs() }],
            marks: vec![Mark { scheme: t(), x: 0.5, y: None }],
        }],
    }];
    section.cdfs = vec![Cdf {
        title: t(),
        note: t(),
        x: Axis::new(text, text),
        lines: vec![CdfLine { scheme: t(), samples: xs() }],
    }];
    let mut panel = Panel::new(text, text, text, Draw::Step, 1).help(text);
    panel.series = vec![Series { name: t(), times_s: xs(), values: xs() }];
    section.runs = vec![Run {
        case: t(),
        scheme: t(),
        label: t(),
        actors: vec![Actor::new(text, text)],
        panels: vec![panel],
        spans: vec![Span { actor: t(), kind: t(), start_s: 0.0, end_s: 1.0 }],
        grids: vec![Grid {
            id: t(),
            title: t(),
            help: t(),
            columns: 1,
            rows: 1,
            aspect: 2.0,
            kinds: vec![Kind { name: t(), fill: Fill::Empty }],
            mark: t(),
            frames: vec![Frame { at_s: 0.0, cells: vec![0], marks: vec![1.0], note: t() }],
        }],
        occupancies: vec![Occupancy {
            id: t(),
            title: t(),
            help: t(),
            kinds: vec![Purpose { name: t(), brief: t(), fill: Wear::Own }],
            free: t(),
            holders: vec![Holder { actor: t(), shares: vec![vec![0.25, 0.5]] }],
            bin_s: 0.1,
            stretch: Some(Stretch {
                help: t(),
                start_s: 1.0,
                end_s: 1.02,
                lanes: [t(), t()],
                kinds: vec![Purpose { name: t(), brief: t(), fill: Wear::Clash }],
                holds: vec![Hold { start_s: 1.001, end_s: 1.002, note: t(), ..Hold::default() }],
            }),
        }],
        ..Run::default()
    }];
    report.sections = vec![section];
    report
}

/// What stands between two marks of the page.
fn part<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    let start = page.find(from).expect("the part begins") + from.len();
    let end = page[start..].find(to).expect("the part ends") + start;
    &page[start..end]
}

fn data(page: &str) -> serde_json::Value {
    let json = part(page, "<script type=\"application/json\" id=\"data\">", "</script>");
    serde_json::from_str(json).expect("the page's data are JSON")
}

#[test]
fn hostile_text_stays_text() {
    let hostile = "\"'><img src=x onerror=alert(1)></script><script>alert(2)</script><!-- {{body}}";
    let page = render(&filled_with(hostile));
    let plain = render(&filled_with("plain"));
    for tag in ["<script", "</script", "<img", "<!--", "<body", "<section", "</title"] {
        let count = |page: &str| page.matches(tag).count();
        assert_eq!(count(&page), count(&plain), "{tag} in a page with hostile text");
    }
    assert!(page.contains("&lt;img src=x onerror=alert(1)&gt;"));
    let data = data(&page);
    assert_eq!(data["sections"][0]["actors"][0]["name"], hostile);
    assert_eq!(data["sections"][0]["groups"][0]["panels"][0]["title"], hostile);
}

#[test]
fn shared_media_are_in_thousandths_and_name_actors() {
    let mut report = filled_with("x");
    let of = &mut report.sections[0].runs[0].occupancies[0];
    of.holders[0].shares[0].push(f64::NAN);
    let stretch = of.stretch.as_mut().expect("it has one");
    stretch.holds.push(Hold { holder: 7, ..Hold::default() });
    stretch.holds.push(Hold { kind: 7, ..Hold::default() });
    let data = data(&render(&report));
    let of = &data["sections"][0]["groups"][0]["runs"][0]["occupancies"][0];
    assert_eq!(of["holders"][0]["actor"], 0);
    assert_eq!(of["holders"][0]["shares"][0], serde_json::json!([250, 500, 0]));
    assert_eq!(of["kinds"][0]["fill"], "own");
    let holds = of["stretch"]["holds"].as_array().expect("a list");
    assert_eq!(holds.len(), 1, "what names nobody and nothing is left out");
    assert_eq!((&holds[0]["from"], &holds[0]["to"]), (&1000.into(), &2000.into()));
}

#[test]
fn same_report_same_bytes() {
    assert_eq!(render(&filled_with("x")), render(&filled_with("x")));
    let again = Report::from_json(&filled_with("x").to_json()).expect("our own JSON");
    assert_eq!(render(&again), render(&filled_with("x")));
}

#[test]
fn loads_nothing() {
    let page = render(&filled_with("http://example.invalid/"));
    for load in
        ["src=", "@import", "url(", "<link", "<iframe", "fetch(", "XMLHttpRequest", "import("]
    {
        assert!(!page.contains(load), "the page has {load}");
    }
    for (at, _) in page.match_indices("href=\"") {
        let target = &page[at + 6..at + 7];
        assert_eq!(target, "#", "links lead into the page only");
    }
    assert!(page.contains("content=\"default-src 'none';"), "a browser would refuse loads as well");
    assert!(page.contains("Copyright (c) 2022 Leon Sorokin"), "the library's licence goes along");
}

#[test]
fn long_series_are_thinned_and_keep_their_extremes() {
    let mut report = filled_with("x");
    let n = 50_000;
    let mut values: Vec<f64> = (0..n).map(|i| f64::from(i % 100)).collect();
    values[31_234] = 5000.0;
    values[7] = -40.0;
    let series = &mut report.sections[0].runs[0].panels[0].series[0];
    series.times_s = (0..n).map(|i| f64::from(i) * 0.01).collect();
    series.values = values;
    let data = data(&render(&report));
    let series = &data["sections"][0]["groups"][0]["runs"][0]["panels"][0]["series"][0];
    let values: Vec<f64> =
        series["v"].as_array().expect("a list").iter().filter_map(|v| v.as_f64()).collect();
    assert!(values.len() <= MAX_POINTS);
    assert!(values.len() > MAX_POINTS / 3);
    assert!(values.contains(&5000.0) && values.contains(&-40.0));
    assert_eq!(series["t"].as_array().map(Vec::len), Some(values.len()));
}

#[test]
fn runs_of_one_case_and_seed_stand_side_by_side_in_the_order_of_schemes() {
    let mut section = Section::new("s");
    section.schemes = ["a", "b"].map(|id| Scheme::new(id, id, "")).to_vec();
    for (scheme, seed) in [("b", 1), ("a", 1), ("a", 2)] {
        section.runs.push(Run { scheme: scheme.to_owned(), seed, ..Run::default() });
    }
    let mut report = Report::new("r");
    report.sections = vec![section];
    let data = data(&render(&report));
    let groups = data["sections"][0]["groups"].as_array().expect("groups");
    let schemes = |g: usize| -> Vec<u64> {
        let runs = groups[g]["runs"].as_array().expect("runs");
        runs.iter().filter_map(|r| r["scheme"].as_u64()).collect()
    };
    assert_eq!(groups.len(), 2);
    assert_eq!(schemes(0), [0, 1]);
    assert_eq!(schemes(1), [0]);
    assert_eq!(groups[1]["label"], "seed 2");
}

#[test]
fn tables_mark_the_best_and_show_intervals() {
    use airlane_report::model::Better;
    let mut table = Table::new(
        "t",
        vec![
            Column::text("scheme").merged(),
            Column::number("stalled", "s", 1).better(Better::Lower),
            Column::number("same", "", 0).better(Better::Higher),
        ],
    );
    table.push(vec!["x".into(), Cell::with_ci(2.0, Some([1.5, 2.5])), 7.0.into()]);
    table.push(vec!["x".into(), Cell::number(-0.04), 7.2.into()]);
    table.push(vec!["y".into(), Cell::number(f64::NAN)]);
    let mut section = Section::new("s");
    section.tables = vec![table];
    let mut report = Report::new("r");
    report.sections = vec![section];
    let page = render(&report);
    let body = part(&page, "<tbody>", "</tbody>");
    assert!(body.contains("<th scope=\"row\" rowspan=\"2\">x</th>"));
    assert!(body.contains("2.0<span class=\"ci\" title=\"95 % interval\">1.5 to 2.5</span>"));
    assert!(body.contains("<td class=\"num best\">0.0</td>"));
    assert_eq!(body.matches("best").count(), 1, "numbers that look the same have no best");
    assert_eq!(body.matches("none").count(), 2, "missing numbers are dashes");
}

#[test]
fn claims_say_their_verdict_in_words() {
    let mut report = Report::new("r");
    let verdicts = [
        Verdict::Holds,
        Verdict::Fails,
        Verdict::Undecided,
        Verdict::NotMeasured,
        Verdict::Reported,
    ];
    for verdict in verdicts {
        report.claims.push(Claim { verdict, ..Claim::default() });
    }
    let page = render(&report);
    for word in ["holds", "fails", "undecided", "not measured", "reported"] {
        assert!(page.contains(&format!("</span> {word}</span>")), "{word}");
    }
    assert!(page.contains(
        "Of 5 claims 1 holds, 1 fails, 1 is undecided, 1 was not measured, 1 is reported without a \
         verdict."
    ));
    assert!(page.contains("not measured"));
}

#[test]
fn small_multiples_share_one_scale_and_show_what_is_missing() {
    let estimate = |scheme: &str, value, ci95| Estimate {
        scheme: scheme.to_owned(),
        value,
        ci95,
        samples: Vec::new(),
    };
    let facet = |title: &str, labels: &[&str]| Facet {
        title: title.to_owned(),
        labels: labels.iter().map(|l| (*l).to_owned()).collect(),
    };
    let panel = |column, row, marks| SmallPanel { column, row, marks };
    let mut section = Section::new("s");
    section.schemes = ["a", "b"].map(|id| Scheme::new(id, id, "")).to_vec();
    section.multiples = vec![Multiples {
        y: Axis::new("QoE", "points"),
        columns: facet("rate", &["4", "10"]),
        rows: facet("queue", &["pie", "droptail"]),
        panels: vec![
            panel(0, 0, vec![estimate("b", 30.0, Some([20.0, 40.0])), estimate("a", 10.0, None)]),
            panel(1, 1, vec![estimate("a", 10.0, None)]),
            panel(1, 0, Vec::new()),
        ],
        ..Multiples::default()
    }];
    let mut report = Report::new("r");
    report.sections = vec![section];
    let page = render(&report);
    let body = part(&page, "<table class=\"facets\"", "</table>");
    for head in ["rate", "queue", "<th scope=\"col\">10</th>", "<th scope=\"row\">droptail</th>"] {
        assert!(body.contains(head), "{head}");
    }
    assert_eq!(body.matches("<td class=\"none\">–</td>").count(), 2, "cells without figures");
    assert!(body.contains("title=\"b: 30.0 (20.0 to 40.0)\""));
    let height =
        |title: &str| part(&body[body.find(title).unwrap() - 40..], "bottom:", "%").to_owned();
    let both: Vec<&str> =
        body.match_indices("title=\"a: 10.0\"").map(|(at, _)| &body[at - 40..at]).collect();
    assert_eq!(both.len(), 2);
    assert!(both.iter().all(|b| b.contains(&format!("bottom:{}%", height("title=\"a: 10.0\"")))));
    let json = report.to_json();
    assert_eq!(Report::from_json(&json).expect("our own JSON").to_json(), json);
}
