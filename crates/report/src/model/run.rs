//! Runs: what happened over time.

use serde::{Deserialize, Serialize};

use super::{Grid, Occupancy};

/// One run of one scheme with one seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Run {
    /// Case of the scenario, such as `mix 7`; empty if there is one only.
    pub case: String,
    /// The scheme's id.
    pub scheme: String,
    /// The seed.
    pub seed: u64,
    /// Further text to stand beside the scheme's name, in a few words.
    pub label: String,
    /// Actors with lines in the panels. The order gives the colours; the runs of one section should
    /// list the same actors in the same order.
    pub actors: Vec<Actor>,
    /// The quantities over time, top to bottom. Panels of the same `id` stand side by side.
    pub panels: Vec<Panel>,
    /// Spans of time to shade, such as stalls.
    pub spans: Vec<Span>,
    /// Grids over time, above the panels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub grids: Vec<Grid>,
    /// Shared media over time, above the panels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub occupancies: Vec<Occupancy>,
}

/// An actor: a viewer, a station, a radio.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Actor {
    /// Name, unique in its run: `Viewer A`.
    pub name: String,
    /// Description of the actor: the video and its character.
    pub detail: String,
}

impl Actor {
    /// An actor.
    pub fn new(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { name: name.into(), detail: detail.into() }
    }
}

/// One quantity over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Panel {
    /// Name that is the same in all runs: `rate`.
    pub id: String,
    /// Heading: `Delivery rate`.
    pub title: String,
    /// Unit of the values: `Mbit/s`; empty for none.
    pub unit: String,
    /// A sentence that says what it is.
    pub help: String,
    /// Way in which points are joined.
    pub draw: Draw,
    /// Digits after the point, in the values shown on hover.
    pub digits: u8,
    /// The range to show at least; `[0.0, 0.0]` for an axis from zero.
    pub range: Option<[f64; 2]>,
    /// Figure of each line that stands beside the chart while the pointer is elsewhere.
    pub at_rest: AtRest,
    /// The lines.
    pub series: Vec<Series>,
}

impl Panel {
    /// A panel without lines; its axis starts at zero.
    pub fn new(
        id: impl Into<String>,
        title: impl Into<String>,
        unit: impl Into<String>,
        draw: Draw,
        digits: u8,
    ) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            unit: unit.into(),
            draw,
            digits,
            range: Some([0.0, 0.0]),
            ..Self::default()
        }
    }

    /// Says what it is.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }

    /// Shows at least this range.
    pub fn range(mut self, low: f64, high: f64) -> Self {
        self.range = Some([low, high]);
        self
    }

    /// Has the legend show the last value of each line, rather than its mean, while nothing is pointed at.
    pub fn last_at_rest(mut self) -> Self {
        self.at_rest = AtRest::Last;
        self
    }
}

/// The figure that sums up a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtRest {
    /// The mean over the time shown.
    #[default]
    Mean,
    /// The last value of the time shown: for what adds up, such as the quality so far.
    Last,
}

/// Way in which points are joined, which says what the value between two of them is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Draw {
    /// A straight line from point to point: rates, buffers.
    #[default]
    Line,
    /// A value holds until the next point: rungs, weights, the quality of the chunk playing.
    Step,
}

/// One line of a panel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Series {
    /// The actor's name; a name that no actor has (such as `Link`) is drawn in a neutral colour.
    pub name: String,
    /// Times of the points, rising, in seconds from the start of the run.
    pub times_s: Vec<f64>,
    /// Values of the points, in the panel's unit; as many as `times_s`. A value that is not finite
    /// (NaN) is a gap.
    #[serde(with = "gaps")]
    pub values: Vec<f64>,
}

impl Series {
    /// A line without points.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Adds a point.
    pub fn push(&mut self, time_s: f64, value: f64) {
        self.times_s.push(time_s);
        self.values.push(value);
    }
}

/// A span of time to shade.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// The actor's name.
    pub actor: String,
    /// Kind of the span: `stall`, `start-up`, `outage`.
    pub kind: String,
    /// From, in seconds from the start of the run.
    pub start_s: f64,
    /// To, in seconds from the start of the run.
    pub end_s: f64,
}

/// Numbers with gaps: what is not finite becomes `null`, and `null` becomes NaN.
pub(crate) mod gaps {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(values: &[f64], s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(values.iter().map(|v| v.is_finite().then_some(*v)))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<f64>, D::Error> {
        let values = Vec::<Option<f64>>::deserialize(d)?;
        Ok(values.into_iter().map(|v| v.unwrap_or(f64::NAN)).collect())
    }
}
