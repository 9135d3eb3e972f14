//! What a report holds. The laboratory fills it; [`crate::render`] draws it.
//!
//! Nothing here knows a system: a *section* is one story (one scenario under several schemes) made
//! of tables, charts and runs, an *actor* is whatever has a line of its own (a viewer, a station, a
//! radio), and a *panel* is one quantity over time. A new system fills the same types, and the page
//! needs no change.
//!
//! Numbers are in the unit that their column, axis or panel names, ready to be shown: a panel in
//! `Mbit/s` holds Mbit/s. Fields that carry a fixed unit say so in their name (`times_s`,
//! `start_s`).

pub mod chart;
pub mod claim;
pub mod grid;
pub mod multiples;
pub mod occupancy;
pub mod run;
pub mod table;
pub mod tradeoff;

use serde::{Deserialize, Serialize};

pub use chart::{Axis, Cdf, CdfLine, Dot, DotChart, DotRow, Mark, XyChart, XyGroup, XyLine};
pub use claim::{Bound, Check, Claim, Verdict};
pub use grid::{Fill, Frame, Grid, Kind};
pub use multiples::{Estimate, Facet, Multiples, SmallPanel};
pub use occupancy::{Hold, Holder, Occupancy, Purpose, Stretch, Wear};
pub use run::{Actor, AtRest, Draw, Panel, Run, Series, Span};
pub use table::{Better, Cell, Column, Row, Table};
pub use tradeoff::{Tradeoff, TradeoffPoint};

/// The name that every report file carries in `format`.
pub const FORMAT: &str = "airlane-report";

/// The version of the data model: raised when a reader of the old one would misread the new one.
/// Added fields that have a default do not raise it.
pub const VERSION: u32 = 1;

/// A whole report, the content of one page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Always [`FORMAT`].
    pub format: String,
    /// [`VERSION`] of the writer.
    pub version: u32,
    /// The page's title.
    pub title: String,
    /// One sentence that says what came out. It stands above everything else.
    #[serde(default)]
    pub verdict: String,
    /// Two or three sentences on what was run and why, for readers who have not read the paper.
    #[serde(default)]
    pub lead: String,
    /// The page that this one is a part of, relative to it; empty if it is a whole.
    #[serde(default)]
    pub part_of: String,
    /// The stories, in order.
    #[serde(default)]
    pub sections: Vec<Section>,
    /// The claims judged, in order. Several rows may share an id (one per content).
    #[serde(default)]
    pub claims: Vec<Claim>,
    /// Words that the page uses, with what they mean.
    #[serde(default)]
    pub terms: Vec<Term>,
    /// Remarks and warnings, a paragraph each.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Origin of every figure, and the command that repeats it.
    #[serde(default)]
    pub provenance: Vec<Provenance>,
}

impl Report {
    /// An empty report with a title.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            title: title.into(),
            verdict: String::new(),
            lead: String::new(),
            part_of: String::new(),
            sections: Vec::new(),
            claims: Vec::new(),
            terms: Vec::new(),
            notes: Vec::new(),
            provenance: Vec::new(),
        }
    }
}

/// One story: a scenario under one or more schemes.
///
/// Every list may be empty; the page leaves out what is not there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Section {
    /// Heading. In a report of one section it may be empty: the page's title then serves.
    pub title: String,
    /// One sentence that says what came out, if it differs from the report's.
    pub verdict: String,
    /// Description of the run, in a sentence or two.
    pub lead: String,
    /// The page with more on it, relative to this one; empty if there is none.
    pub page: String,
    /// The circumstances in short: `Link` = `10 Mbit/s`, `RTT` = `20 ms`, and so on.
    pub facts: Vec<Fact>,
    /// The schemes compared, in order: baselines first. Colour and shape of marks, and the order
    /// of columns, follow this list; everything else names a scheme by its `id`.
    pub schemes: Vec<Scheme>,
    /// Dot charts at the top: who got what, at a glance.
    pub dots: Vec<DotChart>,
    /// One figure against another: what each scheme gives up for what.
    pub tradeoffs: Vec<Tradeoff>,
    /// Small multiples: how it depends on circumstances.
    pub multiples: Vec<Multiples>,
    /// Tables: the summary by scheme first, then by viewer.
    pub tables: Vec<Table>,
    /// Charts of one quantity against another, such as the quality curve of each video.
    pub curves: Vec<XyGroup>,
    /// Cumulative distributions by scheme.
    pub cdfs: Vec<Cdf>,
    /// Time series. Runs of the same `case` and `seed` stand side by side.
    pub runs: Vec<Run>,
    /// Remarks on this story, a paragraph each.
    pub notes: Vec<String>,
}

impl Section {
    /// An empty section with a heading.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }
}

/// One circumstance of a story.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// Name of the circumstance: `Link`.
    pub name: String,
    /// Value with its unit: `10 Mbit/s`.
    pub value: String,
}

impl Fact {
    /// A fact.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into() }
    }
}

/// One of the things compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scheme {
    /// The name by which runs, marks and lines refer to it: `minerva`.
    pub id: String,
    /// The name shown: `Minerva`.
    pub title: String,
    /// One sentence for people who do not know it.
    #[serde(default)]
    pub note: String,
}

impl Scheme {
    /// A scheme.
    pub fn new(id: impl Into<String>, title: impl Into<String>, note: impl Into<String>) -> Self {
        Self { id: id.into(), title: title.into(), note: note.into() }
    }
}

/// A word and what it means here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Term {
    /// The word.
    pub term: String,
    /// Meaning of the word, in a sentence.
    pub meaning: String,
}

impl Term {
    /// A term.
    pub fn new(term: impl Into<String>, meaning: impl Into<String>) -> Self {
        Self { term: term.into(), meaning: meaning.into() }
    }
}

/// Origin of figures: enough to repeat them.
///
/// Only what the seed determines belongs here, so that the page is the same over repeats; host,
/// date and wall time stay in `run.json`. Empty fields are not shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Provenance {
    /// Name of what was run: `Minerva, seed 1`.
    pub label: String,
    /// The command that repeats it.
    pub command: String,
    /// The scenario's name or file.
    pub scenario: String,
    /// The scenario file's text, whole.
    pub scenario_text: String,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// Airlane's version.
    pub airlane: String,
    /// The commit it was built from.
    pub commit: String,
    /// The packet hashes, as hexadecimal text, one per run in the order of `label`'s runs.
    pub packet_hashes: Vec<String>,
    /// The content set: `embedded v1`, or the folder's name and digest.
    pub content: String,
    /// The trace: name and offset, or `constant 10 Mbit/s`.
    pub trace: String,
    /// Anything else that the figures depend on.
    pub more: Vec<Fact>,
}
