//! One figure against another, a point per scheme: what each scheme gives up for what.

use serde::{Deserialize, Serialize};

use super::{Cell, Column};

/// A point per scheme in a plane of two figures, and a table with the same figures.
///
/// Where both columns say which direction is good, the page names the corner that is better, and
/// joins the schemes that no other one exceeds in both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tradeoff {
    /// Heading.
    pub title: String,
    /// A sentence on how to read it.
    pub note: String,
    /// Figure along the horizontal axis, as a column of the table.
    pub x: Column,
    /// True if the horizontal axis is logarithmic: figures of 0 and below are then not drawn.
    pub log_x: bool,
    /// Figure along the vertical axis, as a column of the table.
    pub y: Column,
    /// The same of the vertical axis.
    pub log_y: bool,
    /// Further columns of the table.
    pub more: Vec<Column>,
    /// The points, at most one per scheme, in the order of the table.
    pub points: Vec<TradeoffPoint>,
}

/// A point of a [`Tradeoff`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TradeoffPoint {
    /// The scheme's id.
    pub scheme: String,
    /// Horizontal position; without a number the point is in the table alone. The interval is drawn
    /// as whiskers.
    pub x: Cell,
    /// Vertical position.
    pub y: Cell,
    /// Its cells of the further columns.
    pub more: Vec<Cell>,
}
