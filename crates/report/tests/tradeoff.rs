//! Charts of one figure against another, as a reader gets them.

use airlane_report::model::{
    Better, Cell, Column, Report, Scheme, Section, Tradeoff, TradeoffPoint,
};
use airlane_report::render;
use serde_json::{Value, json};

fn point(scheme: &str, x: Cell, y: Cell, more: Cell) -> TradeoffPoint {
    TradeoffPoint { scheme: scheme.to_owned(), x, y, more: vec![more] }
}

/// Three schemes, of which one has no tail and one a tail of 0, which has no logarithm.
fn chart() -> Tradeoff {
    Tradeoff {
        title: "Quality against the tail".to_owned(),
        note: "Over 15 draws.".to_owned(),
        x: Column::number("tail", "s", 3).better(Better::Lower),
        log_x: true,
        y: Column::number("quality", "dB", 2).better(Better::Higher),
        log_y: false,
        more: vec![Column::number("shown", "", 2).better(Better::Higher)],
        points: vec![
            point(
                "ours",
                Cell::with_ci(0.25, Some([-0.125, 0.5])),
                Cell::with_ci(16.5, Some([16.0, 17.0])),
                0.875.into(),
            ),
            point("still", 0.0.into(), 12.0.into(), 0.5.into()),
            point("silent", Cell::Empty, 11.0.into(), Cell::Empty),
            point("theirs", Cell::number(2.0), Cell::number(16.25), 1.0.into()),
        ],
    }
}

fn report(chart: Tradeoff) -> Report {
    let mut section = Section::new("s");
    section.schemes = ["theirs", "silent", "still", "ours"]
        .map(|id| Scheme::new(id, id.to_uppercase(), ""))
        .to_vec();
    section.tradeoffs = vec![chart];
    section.page = "claims/x.html".to_owned();
    let mut report = Report::new("r");
    report.sections = vec![section];
    report
}

fn drawn(page: &str) -> Value {
    let from = "<script type=\"application/json\" id=\"data\">";
    let start = page.find(from).expect("the page has data") + from.len();
    let end = start + page[start..].find("</script>").expect("they end");
    let data: Value = serde_json::from_str(&page[start..end]).expect("JSON");
    data["sections"][0]["tradeoffs"][0].clone()
}

#[test]
fn a_point_is_drawn_for_each_scheme_that_has_both_figures() {
    let page = render(&report(chart()));
    let expected = json!({
        "x": { "title": "tail", "unit": "s", "digits": 3, "log": true, "better": "lower" },
        "y": { "title": "quality", "unit": "dB", "digits": 2, "log": false, "better": "higher" },
        "points": [
            {
                "scheme": 3,
                "x": { "value": 0.25, "ci95": [-0.125, 0.5] },
                "y": { "value": 16.5, "ci95": [16.0, 17.0] },
            },
            {
                "scheme": 0,
                "x": { "value": 2.0, "ci95": null },
                "y": { "value": 16.25, "ci95": null },
            },
        ],
    });
    assert_eq!(drawn(&page), expected);
    assert!(page.contains("<div class=\"plane\" data-section=\"0\" data-chart=\"0\">"));
    assert!(page.contains("<a href=\"claims/x.html\">The runs behind it</a>"));
}

#[test]
fn the_table_has_all_figures_and_the_words_say_where_is_better() {
    let page = render(&report(chart()));
    assert!(page.contains("Better is up and to the left: higher quality, lower tail."));
    assert!(page.contains("joins the schemes that no other one exceeds in both"));
    let rows: Vec<&str> = page.split("<tr data-scheme=\"").skip(1).collect();
    assert_eq!(rows.len(), 4);
    assert!(rows[0].starts_with("3\"><th scope=\"row\"><i class=\"mark m2\"></i>OURS</th>"));
    let quality = rows[0].find("16.50").expect("the quality");
    assert!(rows[0].find("0.250").is_some_and(|tail| tail > quality), "the vertical axis first");
    assert!(rows[0].contains("\u{2212}0.125 to 0.500") && rows[0].contains("0.88"));
    assert!(rows[2].contains("SILENT") && rows[2].contains("–"));
}

#[test]
fn words_follow_what_is_better() {
    let words = |x: Option<Better>, y: Option<Better>| {
        let mut chart = chart();
        (chart.x.better, chart.y.better) = (x, y);
        render(&report(chart))
    };
    let right = words(Some(Better::Higher), Some(Better::Lower));
    assert!(right.contains("Better is down and to the right: lower quality, higher tail."));
    let up = words(None, Some(Better::Higher));
    assert!(up.contains("Better is up: higher quality.") && !up.contains("stepped line joins"));
    assert!(!words(None, None).contains("Better is"));
}

#[test]
fn the_same_chart_gives_the_same_bytes_and_survives_its_file() {
    let whole = report(chart());
    assert_eq!(render(&whole), render(&whole));
    let again = Report::from_json(&whole.to_json()).expect("our own JSON");
    assert_eq!(again, whole);
    assert_eq!(render(&again), render(&whole));
    // Reports of before have no such charts.
    let mut before: Value = serde_json::from_slice(&whole.to_json()).expect("JSON");
    before["sections"][0].as_object_mut().expect("a section").remove("tradeoffs");
    let before = Report::from_json(before.to_string().as_bytes()).expect("an older report");
    assert!(before.sections[0].tradeoffs.is_empty());
}

#[test]
fn without_points_there_is_no_chart() {
    let page = render(&report(Tradeoff { points: Vec::new(), ..chart() }));
    assert!(!page.contains("class=\"plane\""));
}
