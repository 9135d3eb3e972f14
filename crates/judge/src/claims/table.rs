//! Tables of a system's results in its page of documentation, beside that of its claims.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::estimate::point_estimate;
use super::samples::Samples;
use super::statistic::Statistic;

/// One table: `[[table]]` of a set of claims.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSpec {
    /// Its name, between whose marks it stands in the page.
    pub name: String,
    /// Id of the claim whose figures it has.
    pub claim: String,
    /// Kind of its rows.
    pub rows: TableRows,
    /// The heading of the names of rows.
    pub heading: String,
    /// The row of the claim without a change; `None`: the table has none.
    #[serde(default)]
    pub plain: Option<PlainRow>,
    /// Figures that each row tells, in order, for each content.
    pub columns: Vec<TableColumn>,
}

/// Kind of the rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TableRows {
    /// Each cell and each variant beside the claim.
    Cells,
    /// Each scheme that a statistic is of: `STATISTIC_of_SCHEME`.
    Schemes,
    /// Each scheme of the claim's chart.
    Chart,
    /// Each draw, which the claim's record keeps for that.
    Draws,
}

/// The row of the claim without a change.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlainRow {
    /// Its name.
    pub name: String,
    /// Number of rows above it.
    pub at: usize,
}

/// A figure that each row of a table tells.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableColumn {
    /// The statistic.
    pub of: Statistic,
    /// Its words in the heading, with the unit.
    pub title: String,
    /// Digits behind the point.
    pub digits: usize,
    /// Factor that figures are multiplied by.
    #[serde(default = "one")]
    pub factor: f64,
    /// True if its interval follows.
    #[serde(default)]
    pub interval: bool,
}

fn one() -> f64 {
    1.0
}

/// Statistics of each draw of a claim, by name: those that a table of its draws tells. None if there is no such table.
/// Statistics that a draw has no figures for are left out.
pub(crate) fn draw_figures(
    tables: &[TableSpec],
    claim: &str,
    samples: &Samples,
) -> Vec<BTreeMap<String, f64>> {
    let of_claim = tables.iter().filter(|t| t.rows == TableRows::Draws && t.claim == claim);
    let columns: Vec<&TableColumn> = of_claim.flat_map(|table| &table.columns).collect();
    if columns.is_empty() {
        return Vec::new();
    }
    let of_draw = |at: usize| {
        let draw = samples.draw(at);
        let figure = |c: &&TableColumn| Some((c.of.to_string(), point_estimate(&c.of, &draw)?));
        columns.iter().filter_map(figure).collect()
    };
    (0..samples.draws()).map(of_draw).collect()
}

#[cfg(test)]
mod tests {
    use super::super::spec::Draws;
    use super::*;
    use crate::claims::CellSamples;

    fn table(rows: &str, of: &str) -> TableSpec {
        let text = format!(
            "name = \"t\"\nclaim = \"x.a\"\nrows = \"{rows}\"\nheading = \"draw\"\n\
             columns = [{{ of = \"{of}\", title = \"\", digits = 0 }}]"
        );
        toml::from_str(&text).expect("a table")
    }

    fn cell(name: &str, rate: [f64; 2], other: &[f64]) -> CellSamples {
        let draws = |values: &[f64]| values.iter().map(|x| vec![*x]).collect();
        let figures = [("rate", draws(&rate)), ("other", draws(other))];
        CellSamples {
            name: name.to_owned(),
            figures: figures.map(|(metric, draws)| (metric.to_owned(), draws)).into(),
            windows: Vec::new(),
        }
    }

    #[test]
    fn each_draw_has_the_statistics_of_its_tables() {
        let cells = vec![cell("slow", [6.0, 8.0], &[2.0, 4.0]), cell("fast", [9.0, 1.0], &[3.0])];
        let samples = Samples::with_cells(Draws::Shared, cells);
        let figures = |table: TableSpec, claim| draw_figures(&[table], claim, &samples);
        let of = |name: &str, values: [Option<f64>; 2]| {
            values.map(|x| x.map(|x| (name.to_owned(), x)).into_iter().collect()).to_vec()
        };
        let name = "sum(rate@slow / other@slow)";
        assert_eq!(figures(table("draws", name), "x.a"), of(name, [Some(3.0), Some(2.0)]));
        // The mean over cells; the second draw lacks a cell.
        assert_eq!(figures(table("draws", "other"), "x.a"), of("other", [Some(2.5), None]));
        assert_eq!(figures(table("draws", name), "x.b"), []);
        assert_eq!(figures(table("cells", name), "x.a"), []);
    }
}
