//! Tables with confidence intervals.

use serde::{Deserialize, Serialize};

/// A table. The first column names the row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Table {
    /// Caption.
    pub title: String,
    /// A sentence below the caption: what to look at, what the intervals are over.
    pub note: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows, each with a cell per column; missing cells at the end are empty.
    pub rows: Vec<Row>,
}

impl Table {
    /// A table without rows.
    pub fn new(title: impl Into<String>, columns: Vec<Column>) -> Self {
        Self { title: title.into(), columns, ..Self::default() }
    }

    /// Adds a row.
    pub fn push(&mut self, cells: Vec<Cell>) {
        self.rows.push(Row { cells, strong: false });
    }
}

/// A column of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Column {
    /// Heading.
    pub title: String,
    /// Unit of the numbers, shown under the heading; empty for none.
    pub unit: String,
    /// Digits after the point.
    pub digits: u8,
    /// Direction that is good. If set, the best number of the column is marked.
    pub better: Option<Better>,
    /// Equal neighbours in this column are drawn as one cell over several rows.
    pub merge: bool,
    /// A sentence that explains the heading (shown on hover and to screen readers).
    pub help: String,
}

impl Column {
    /// A column of text.
    pub fn text(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// A column of numbers.
    pub fn number(title: impl Into<String>, unit: impl Into<String>, digits: u8) -> Self {
        Self { title: title.into(), unit: unit.into(), digits, ..Self::default() }
    }

    /// Marks the best number, given which direction is good.
    pub fn better(mut self, better: Better) -> Self {
        self.better = Some(better);
        self
    }

    /// Draws equal neighbours as one cell.
    pub fn merged(mut self) -> Self {
        self.merge = true;
        self
    }

    /// Explains the heading.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }
}

/// Direction in which numbers are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// A row of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Row {
    /// The cells, one per column.
    pub cells: Vec<Cell>,
    /// Draws the row with emphasis.
    pub strong: bool,
}

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// A number, with its 95 % interval where there are several seeds.
    Number {
        /// The number, in the column's unit.
        value: f64,
        /// The interval, low and high.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ci95: Option<[f64; 2]>,
    },
    /// Text.
    Text(String),
    /// Nothing to show: not measured, or does not apply.
    #[default]
    Empty,
}

impl Cell {
    /// A number; [`Cell::Empty`] if it is not finite.
    pub fn number(value: f64) -> Self {
        Self::with_ci(value, None)
    }

    /// A number with its 95 % interval; [`Cell::Empty`] if the number is not finite, and no
    /// interval if the interval is not.
    pub fn with_ci(value: f64, ci95: Option<[f64; 2]>) -> Self {
        if value.is_finite() {
            Self::Number { value, ci95: ci95.filter(|c| c.iter().all(|v| v.is_finite())) }
        } else {
            Self::Empty
        }
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::number(value)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}
