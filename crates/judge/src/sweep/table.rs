//! The tidy table: a figure per row, a column per key of the grid.

use std::fmt::Write;

use super::cells::Cells;
use crate::summary::{Row, Summary};
use airlane_scenario::{AxisValue, Grid};

/// The columns behind those of the grid.
pub(super) const COLUMNS: [&str; 6] = ["case", "scheme", "seed", "metric", "unit", "value"];

/// The rows of a summary with the values of their cells.
pub(super) struct Rows<'a> {
    /// The keys of the grid.
    pub(super) keys: Vec<&'a str>,
    /// Each row with its cell's values, in the order of the summary.
    pub(super) rows: Vec<(Vec<&'a AxisValue>, &'a Row)>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(grid: &'a Grid, cells: &Cells, summary: &'a Summary) -> Self {
        let mut cells = cells.list.iter();
        let mut cell = cells.next();
        let values = |position: &[usize]| -> Vec<&'a AxisValue> {
            grid.axes().iter().zip(position).map(|(a, &at)| &a.values[at]).collect()
        };
        let rows = summary.rows.iter().map(|row| {
            // Rows come cell by cell, in order; a cell without any is passed over.
            while cell.is_some_and(|c| c.plan.scenario.name != row.experiment) {
                cell = cells.next();
            }
            (cell.map(|c| values(&c.position)).unwrap_or_default(), row)
        });
        Self { keys: grid.axes().iter().map(|a| a.key.as_str()).collect(), rows: rows.collect() }
    }

    /// The table as CSV (RFC 4180, lines end with a line feed).
    pub(super) fn to_csv(&self) -> String {
        let mut out = String::new();
        for name in self.keys.iter().chain(&COLUMNS[..5]) {
            field(&mut out, name);
            out.push(',');
        }
        out.push_str("value\n");
        for (values, row) in &self.rows {
            for value in values {
                field(&mut out, value.text());
                out.push(',');
            }
            let seed = row.seed.to_string();
            for text in [&row.case, &row.scheme, &seed, &row.metric, &row.unit] {
                field(&mut out, text);
                out.push(',');
            }
            writeln!(out, "{}", row.value).expect("a String takes it");
        }
        out
    }
}

fn field(out: &mut String, text: &str) {
    if text.contains([',', '"', '\n', '\r']) || text.trim() != text {
        write!(out, "\"{}\"", text.replace('"', "\"\"")).expect("a String takes it");
    } else {
        out.push_str(text);
    }
}
