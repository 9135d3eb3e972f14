//! What stood in each cell of a grid, moment after moment: the tiles of a panorama.

use serde::{Deserialize, Serialize};

/// A grid of cells over time, in one run. Runs of one case and seed stand side by side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Grid {
    /// Name that is the same in all runs: `tiles`.
    pub id: String,
    /// Heading: `What each tile got`.
    pub title: String,
    /// A sentence that says what it is.
    pub help: String,
    /// Cells from left to right; at least 1.
    pub columns: usize,
    /// Cells from top to bottom; at least 1.
    pub rows: usize,
    /// Width of the whole over its height.
    pub aspect: f64,
    /// States that a cell can have, at most 256; the legend, in order.
    pub kinds: Vec<Kind>,
    /// Quantity that the size of a dot in a cell stands for; empty if there are no dots.
    pub mark: String,
    /// The moments, rising.
    pub frames: Vec<Frame>,
}

/// A state of a cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Kind {
    /// Name of the state, in a few words.
    pub name: String,
    /// Fill of cells in this state.
    pub fill: Fill,
}

/// Fill of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fill {
    /// On a scale from 0, the least, to 1, the most.
    Scale(f64),
    /// Something began that came to nothing.
    Broken,
    /// Nothing, where there could be something: it is missing.
    #[default]
    Empty,
    /// Nothing, where there can be nothing yet: it does not count.
    Nothing,
}

/// A moment: it holds until the next one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Frame {
    /// Time of the moment, in seconds from the start of the run.
    pub at_s: f64,
    /// The kind of each cell, by its place in `kinds`; row by row from the top.
    pub cells: Vec<u8>,
    /// The size of the dot in each cell, 0 (none) to 1; none at all if it is empty.
    pub marks: Vec<f64>,
    /// A few words beside it: `38.2 dB`.
    pub note: String,
}
