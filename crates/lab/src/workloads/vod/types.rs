//! What a scenario says of viewers and of the schemes that serve them.

use std::path::PathBuf;
use std::time::Duration;

use airlane_abr::CustomAbr;
use airlane_media::Metric;
use airlane_quality::Smoothness;
use serde::Serialize;

use airlane_scenario::ControllerConfig;

/// Videos with fewer chunks are not drawn, unless a scenario says otherwise.
pub const MIN_CHUNKS: u64 = 50;

/// Viewers of a scenario, with their players.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Viewers {
    /// The viewers, in the order of the scenario.
    pub viewers: Vec<Viewer>,
    /// Arrivals of the viewers that have no start time of their own. `None`: all at the start.
    pub arrivals: Option<Arrivals>,
    /// The players.
    pub player: Player,
    /// Videos with fewer chunks are not drawn.
    pub min_chunks: usize,
}

/// The players; the same in every scheme.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Player {
    /// Bitrate algorithm, which chooses the rungs.
    pub abr: Abr,
    /// Chunks that MPC looks ahead.
    pub horizon: usize,
    /// Most that the player holds.
    pub buffer_cap: Duration,
    /// Idle time between a response and the next request.
    pub overhead: Duration,
    /// Sizes of what is fetched before the first chunk, one after the other.
    pub opening_bytes: Vec<u64>,
    /// Cost of a second of rebuffering in equation 1.
    pub beta: f64,
    /// Cost of a point of change in equation 1.
    pub gamma: f64,
    /// The measure of quality.
    pub metric: Metric,
    /// Values that a change of quality is taken from: the mean curve, or the chunks.
    pub smoothness: Smoothness,
    /// Beta and gamma are for a measure from 0 to 100: for others they are multiplied by the
    /// measure's span over 100 ([`Metric::span`]).
    pub scaled_penalties: bool,
    /// Longer videos are cut to so many chunks.
    pub max_chunks: Option<usize>,
}

/// Bitrate algorithm, which chooses the rungs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Abr {
    /// RobustMPC.
    RobustMpc,
    /// MPC.
    Mpc,
    /// BOLA.
    Bola,
    /// Buffer-based.
    Buffer,
    /// The highest rung below the predicted throughput.
    Rate,
    /// Always the same rung, from 0.
    Fixed(usize),
    /// One that another crate brings.
    Custom(CustomAbr),
}

/// A viewer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Viewer {
    /// Name, of rows; distinct.
    pub name: String,
    /// The name without its number: viewers that one entry of the scenario makes share it.
    pub group: String,
    /// The video. `None`: drawn per case.
    pub video: Option<String>,
    /// The number of the viewer whose video it watches too.
    pub same_as: Option<usize>,
    /// Start time.
    pub start: Start,
    /// The number of the access that it is on.
    pub at: usize,
    /// Its round trip in the core, if it is not the network's.
    pub rtt: Option<Duration>,
    /// Its ABR, if it is not the player's.
    pub abr: Option<Abr>,
    /// Its measure of quality, if it is not the player's: of its device, or of its provider.
    pub metric: Option<Metric>,
    /// Provider of the titles that it watches: each provider has a normalisation of its own.
    pub provider: String,
    /// Content of its reports on itself.
    pub reports: Reports,
    /// The controller of its server, without Minerva: cross traffic of the same kind under every
    /// scheme. `None`: what the scheme says.
    pub control: Option<ControllerConfig>,
}

/// Start of a viewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Start {
    /// At this time.
    At(Duration),
    /// As it arrives: [`Viewers::arrivals`].
    Arrives,
}

/// Content of a viewer's reports on itself, true or false.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Reports {
    /// The truth.
    Truth,
    /// That its buffer is empty.
    EmptyBuffer,
    /// Eight more seconds of stalls with every chunk.
    Stalls,
}

/// Viewers that come one by one: a Poisson process.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Arrivals {
    /// Mean number that watch at once, if films take as long as they last.
    pub at_once: f64,
}

/// Minerva's parameters; what is `None` has the default of the algorithm.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Minerva {
    /// Factor on every weight.
    pub alpha: Option<f64>,
    /// Weights stay within n_e/mu and n_e*mu.
    pub mu: Option<f64>,
    /// Utility that is made equal.
    pub utility: Option<Utility>,
    /// Average that the normalisation takes over the corpus.
    pub normalisation: Option<Normalisation>,
    /// Popularity of each title, with which the normalisation averages: a file, as the scenario
    /// names it. `None`: all the same.
    pub popularity: Option<PathBuf>,
    /// A normalisation that was computed before: a file, as the scenario names it.
    pub normalisation_file: Option<PathBuf>,
    /// Fairness among viewers.
    pub fairness: Option<Fairness>,
    /// Source of the value function.
    pub value: Option<Value>,
    /// Weight of the past in the utility, beside 1 for the current chunk.
    pub past: Option<f64>,
    /// Weight of the value function.
    pub future: Option<f64>,
    /// Chunks that the value function looks ahead.
    pub horizon: Option<usize>,
    /// Round trips between updates.
    pub interval_rtts: Option<u32>,
    /// True if rates are taken at their conservative form.
    pub conservative: Option<bool>,
    /// True if rates and weights are smoothed.
    pub smoothed: Option<bool>,
}

/// Utility that Minerva makes equal among viewers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Utility {
    /// Past QoE, the current chunk and the value function over the player's own ABR.
    ClientAware,
    /// Equation 2: the quality at the current rate.
    Basic,
}

/// Average that the normalisation takes over the corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Normalisation {
    /// The QoE of the player at a constant rate.
    FixedRate,
    /// The mean quality curve.
    MeanCurve,
    /// The QoE of the player at a constant rate, as the exponential of appendix C that fits it.
    Fitted,
    /// Nothing: weights go with rate over utility.
    None,
}

/// Fairness among viewers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Fairness {
    /// Utility.
    MaxMin,
    /// Relative gain from more rate (appendix D): the sum of the logarithms of QoE is the largest.
    Proportional,
}

/// Source of the value function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Value {
    /// The player's algorithm is simulated with every update.
    OnDemand,
    /// It was simulated beforehand, on a grid.
    Table,
    /// That grid, as the exponentials of appendix C that fit it.
    Fitted,
    /// Value that the best algorithm could reach (appendix C).
    Optimal,
    /// The player sends it with its requests.
    Sent,
}
