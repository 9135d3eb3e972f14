//! Tables of a system's results in its page of documentation, beside that of its claims.

use serde::Deserialize;

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
    pub of: String,
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
