//! Who held a medium that only one can use at a time, and what for: the air of a WiFi.

use serde::{Deserialize, Serialize};

/// A shared medium over time, in one run. Runs of one case and seed stand side by side, on the axis of
/// time of their panels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Occupancy {
    /// Name that is the same in all runs: `air`.
    pub id: String,
    /// Heading: `The air`.
    pub title: String,
    /// A sentence that says what it is.
    pub help: String,
    /// Purposes that the medium can be held for, at most 8; the legend, in order.
    pub kinds: Vec<Purpose>,
    /// Name of the state in which nobody holds the medium, in a few words.
    pub free: String,
    /// Holders of the medium, top to bottom.
    pub holders: Vec<Holder>,
    /// The length of a bin, seconds; the first begins with the run.
    pub bin_s: f64,
    /// A short stretch in full detail, if there is one.
    pub stretch: Option<Stretch>,
}

/// A purpose that a medium is held for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Purpose {
    /// Name of the purpose, in a few words.
    pub name: String,
    /// The same in a word or two, beside figures; empty: `name`.
    pub brief: String,
    /// Colour or pattern of the purpose.
    pub fill: Wear,
}

/// Colour or pattern of a purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wear {
    /// In the colour of who held it.
    #[default]
    Own,
    /// In stripes of that colour.
    Striped,
    /// In the colour of what is done again.
    Again,
    /// In the colour of what was in vain.
    Vain,
    /// In the colour of what was in vain as others did the same.
    Clash,
}

/// Somebody who held a medium.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Holder {
    /// The actor's name.
    pub actor: String,
    /// The share of each bin, 0 to 1, that it held the medium for, by purpose in the order of
    /// [`Occupancy::kinds`], then by bin.
    pub shares: Vec<Vec<f64>>,
}

/// A short stretch of a run in which each hold is shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stretch {
    /// A sentence on how to read it.
    pub help: String,
    /// Start of the stretch, in seconds from the start of the run.
    pub start_s: f64,
    /// End of the stretch, in seconds from the start of the run.
    pub end_s: f64,
    /// Meanings of the upper and the lower half of a row.
    pub lanes: [String; 2],
    /// Outcomes of holds, at most 8; the legend, in order.
    pub kinds: Vec<Purpose>,
    /// The holds, in any order.
    pub holds: Vec<Hold>,
}

/// An uninterrupted use of a medium.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hold {
    /// Holder of the medium, by its place in [`Occupancy::holders`].
    pub holder: usize,
    /// Half of the row, by its place in [`Stretch::lanes`].
    pub lane: u8,
    /// Outcome of the hold, by its place in [`Stretch::kinds`].
    pub kind: u8,
    /// From, in seconds from the start of the run.
    pub start_s: f64,
    /// To, in seconds from the start of the run.
    pub end_s: f64,
    /// Further remarks, in a few words.
    pub note: String,
}
