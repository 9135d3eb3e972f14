//! Small multiples: one little chart per combination of two circumstances.

use serde::{Deserialize, Serialize};

use super::Axis;

/// A panel per column and row, all with the same vertical axis; in each panel a mark per scheme.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Multiples {
    /// Heading.
    pub title: String,
    /// A sentence on how to read it.
    pub note: String,
    /// The vertical axis of all panels.
    pub y: Axis,
    /// Circumstance that differs from column to column.
    pub columns: Facet,
    /// Circumstance that differs from row to row; without labels there is one row.
    pub rows: Facet,
    /// The panels, in any order; where there is none, nothing was measured.
    pub panels: Vec<SmallPanel>,
}

/// A circumstance by which panels are laid out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facet {
    /// Name of the circumstance: `link.rate_bps`.
    pub title: String,
    /// Its values, in order: `4 Mbit/s`.
    pub labels: Vec<String>,
}

/// A panel of [`Multiples`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SmallPanel {
    /// Position in the labels of the columns.
    pub column: usize,
    /// Position in the labels of the rows.
    pub row: usize,
    /// Marks in the panel: at most one per scheme.
    pub marks: Vec<Estimate>,
}

/// A figure of a scheme with what it was estimated from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Estimate {
    /// The scheme's id.
    pub scheme: String,
    /// The figure, in the unit of the axis.
    pub value: f64,
    /// Its 95 % interval, low and high.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci95: Option<[f64; 2]>,
    /// The single runs, drawn faintly.
    #[serde(with = "crate::model::run::gaps")]
    pub samples: Vec<f64>,
}
