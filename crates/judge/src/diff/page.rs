//! The report of a comparison.

use airlane_report::Report;
use airlane_report::model::{Cell, Column, Fact, Section, Table};

use super::compare::{Change, Comparison};
use super::read::ComparedResult;
use super::terminal::{ORDER, claim, name, percent, values};

/// The report of a comparison: the claims and figures that changed.
pub(super) fn report(
    a: &ComparedResult,
    b: &ComparedResult,
    comparison: &Comparison<'_>,
    shown: &[&Change<'_>],
    threshold: f64,
    line: &str,
) -> Report {
    let mut report = Report::new("What changed");
    report.verdict = line.to_owned();
    report.lead = "Two results, compared over the runs that both have: the same experiment, case, \
                   scheme and seed. Intervals are of the difference from run to run."
        .to_owned();
    let mut section = Section {
        facts: vec![Fact::new("A", a.describe()), Fact::new("B", b.describe())],
        ..Section::default()
    };
    if !comparison.claims.is_empty() {
        let columns = ["Claim", "A", "B"].map(Column::text).to_vec();
        let mut table = Table::new("Claims that changed", columns);
        for change in &comparison.claims {
            table.push(vec![name(change.a).into(), claim(change.a).into(), claim(change.b).into()]);
        }
        section.tables.push(table);
    }
    if !shown.is_empty() {
        let columns = [
            "Figure",
            "Unit",
            "Scheme",
            "Experiment",
            "Pairs",
            "A",
            "B",
            "B less A",
            "95 % interval",
            "Relative",
        ];
        let mut table = Table::new("Figures that changed", columns.map(Column::text).to_vec());
        table.note = format!(
            "Means over the runs that both have, {ORDER}. {} of {} figures changed, {} by more \
             than {}.",
            comparison.changes.len(),
            comparison.figures,
            comparison.beyond(threshold),
            percent(threshold)
        );
        for change in shown {
            let (experiment, scheme, metric, unit) = change.figure;
            let mut row = [metric, unit, scheme, experiment].map(Cell::from).to_vec();
            // Numbers are not broken at spaces and signs.
            let whole = |text: String| text.replace(' ', "\u{a0}").replace('-', "\u{2212}").into();
            row.extend(values(change).map(whole));
            table.push(row);
        }
        section.tables.push(table);
    }
    report.sections = vec![section];
    report
}
