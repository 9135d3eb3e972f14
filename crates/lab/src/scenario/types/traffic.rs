//! Who uses the link: viewers, web traffic, transfers.

use std::time::Duration;

use airlane_base::Rate;
use airlane_media::Metric;

use super::{Abr, Control};

/// Somebody who watches.
#[derive(Clone, Debug, PartialEq)]
pub struct Viewer {
    /// Name, of rows; distinct.
    pub name: String,
    /// The name without its number: viewers that one entry of the scenario makes share it.
    pub group: String,
    /// The video. `None`: drawn per case.
    pub video: Option<String>,
    /// The number of the viewer whose video it watches too.
    pub same_as: Option<usize>,
    /// When it starts.
    pub start: Start,
    /// Its round trip, if it is not the link's.
    pub rtt: Option<Duration>,
    /// Its ABR, if it is not the player's.
    pub abr: Option<Abr>,
    /// Its measure of quality, if it is not the player's: of its device, or of its provider.
    pub metric: Option<Metric>,
    /// Whose titles it watches: each provider has a normalisation of its own.
    pub provider: String,
    /// What it says of itself.
    pub reports: Reports,
    /// The controller of its server, without Minerva: cross traffic of the same kind under every
    /// scheme. `None`: what the scheme says.
    pub control: Option<Control>,
}

/// When a viewer starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// At this time.
    At(Duration),
    /// When it arrives: [`Scenario::arrivals`](super::Scenario::arrivals).
    Arrives,
}

/// What a viewer says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reports {
    /// The truth.
    Truth,
    /// That its buffer is empty.
    EmptyBuffer,
    /// Eight more seconds of stalls with every chunk.
    Stalls,
}

/// Viewers that come one by one: a Poisson process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrivals {
    /// How many watch at once on average, if films take as long as they last.
    pub at_once: f64,
}

/// Draws of videos for viewers that name none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cases {
    /// How many.
    pub count: usize,
    /// What they are drawn with.
    pub seed: u64,
    /// How the videos of a case go together.
    pub draw: Draw,
}

/// How the videos of a case go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// All different.
    Distinct,
    /// Each drawn from all.
    Independent,
    /// One for all.
    Identical,
}

/// Web traffic: short transfers that begin as a Poisson process, each from one of many servers.
#[derive(Clone, Debug, PartialEq)]
pub struct Web {
    /// Name, of rows; distinct.
    pub name: String,
    /// Bodies offered per time.
    pub load: Rate,
    /// How many servers.
    pub servers: usize,
    /// The servers' controller.
    pub control: Control,
    /// Their round trip, if it is not the link's.
    pub rtt: Option<Duration>,
    /// The shape of the sizes' Pareto distribution.
    pub shape: f64,
    /// The least size of a transfer in bytes.
    pub least_bytes: u64,
    /// The greatest.
    pub most_bytes: u64,
}

/// Transfers of data beside the viewers.
#[derive(Clone, Debug, PartialEq)]
pub struct Bulk {
    /// Name, of rows; distinct.
    pub name: String,
    /// Its controller. `None`: that of the scheme, with its weight.
    pub control: Option<Control>,
    /// When it starts.
    pub start: Duration,
    /// When it ends.
    pub until: BulkEnd,
    /// Its round trip, if it is not the link's.
    pub rtt: Option<Duration>,
    /// How many of the same kind.
    pub count: usize,
}

/// When a transfer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkEnd {
    /// With the run.
    Run,
    /// At this time.
    At(Duration),
    /// After so many bytes.
    Bytes(u64),
}
