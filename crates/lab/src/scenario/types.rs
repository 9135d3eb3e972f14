//! What a scenario says, checked and in units that cannot be confused.

use std::path::PathBuf;
use std::time::Duration;

use airlane_base::Rate;
use airlane_media::Metric;
use airlane_net::trace::Medium;
use airlane_quality::Smoothness;

/// Videos with fewer chunks are not drawn, unless a scenario says otherwise.
pub const MIN_CHUNKS: u64 = 50;

/// A scenario: who shares which link, under which schemes, for how long.
///
/// Read one with [`Scenario::from_file`](super::Scenario::from_file) or
/// [`Scenario::from_bytes`](super::Scenario::from_bytes); the keys of the file are described in
/// `docs/scenarios.md`.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Name, of files and rows.
    pub name: String,
    /// Title, for people.
    pub title: String,
    /// What the reader of the report should look at.
    pub story: String,
    /// Length of a run in virtual time.
    pub duration: Duration,
    /// One run of every case and scheme per seed; distinct, at least one.
    pub seeds: Vec<u64>,
    /// Videos with fewer chunks are not drawn.
    pub min_chunks: usize,
    /// The shared bottleneck.
    pub link: Link,
    /// The hosts.
    pub host: Host,
    /// The QUIC connections.
    pub transport: Transport,
    /// The players.
    pub player: Player,
    /// What is compared, in order; at least one, names distinct.
    pub schemes: Vec<Scheme>,
    /// Who watches.
    pub viewers: Vec<Viewer>,
    /// How those viewers come that have no time of their own. `None`: all at the start.
    pub arrivals: Option<Arrivals>,
    /// How many draws of videos.
    pub cases: Cases,
    /// Transfers beside the viewers.
    pub bulk: Vec<Bulk>,
    /// Web traffic beside the viewers.
    pub web: Vec<Web>,
    /// Where it was read from.
    pub source: Source,
}

/// Where a scenario came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// The file, or the name of an embedded scenario.
    pub name: PathBuf,
    /// The folder that paths in the scenario are relative to.
    pub folder: Option<PathBuf>,
    /// The text as it was read, before `--set`.
    pub text: String,
    /// What `--set` changed, in order, as given.
    pub set: Vec<String>,
}

/// The shared bottleneck from the servers to the viewers, and the way back.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// What it carries.
    pub capacity: Capacity,
    /// Round trip of propagation, split evenly over both ways.
    pub rtt: Duration,
    /// The queue in front of the bottleneck.
    pub queue: Queue,
    /// Rate of the way back.
    pub uplink: Rate,
    /// Loss in front of the queue.
    pub loss: Option<Loss>,
    /// Most that is added to the delay of a packet, uniform from zero; packets keep their order.
    pub jitter: Duration,
}

/// What a link carries over time.
#[derive(Clone, Debug, PartialEq)]
pub enum Capacity {
    /// The same all the time.
    Constant(Rate),
    /// A trace, recorded or made.
    Trace(TraceSource),
    /// Constant between steps; the first is at time zero, times rise.
    Steps(Vec<RateStep>),
}

/// From `at` on, the link carries `rate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateStep {
    /// When.
    pub at: Duration,
    /// How much.
    pub rate: Rate,
}

/// A trace and how to use it.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceSource {
    /// Where it comes from.
    pub from: TraceFrom,
    /// The column of capacities: a name in the header, or a number from 1. `None`: the format's
    /// own.
    pub column: Option<String>,
    /// Factor on every capacity.
    pub scale: f64,
    /// The mean that the trace is scaled to, before that factor. `None`: its own.
    pub mean: Option<Rate>,
    /// Where in the trace the run starts. `None`: drawn from the run's seed.
    pub offset: Option<Duration>,
}

/// Where a trace comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum TraceFrom {
    /// A file, as the scenario names it; see [`Source::folder`](Source).
    File(PathBuf),
    /// A generator, which makes another one for every case: see `docs/traces.md`.
    Generator(Medium),
}

/// A queueing discipline and how much it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    /// The discipline.
    pub discipline: Discipline,
    /// How much it holds.
    pub limit: QueueLimit,
    /// The round trip that a limit in BDP counts with. `None`: the link's.
    pub bdp_rtt: Option<Duration>,
    /// The rate that a limit in BDP counts with. `None`: the link's; of a trace or of steps the
    /// mean over time.
    pub bdp_rate: Option<Rate>,
}

/// A queueing discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// First come, first served; what does not fit is dropped.
    DropTail,
    /// PIE (RFC 8033).
    Pie {
        /// The delay that it aims at.
        target: Duration,
    },
}

/// How much a queue holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueueLimit {
    /// A multiple of rate times round trip, in IP bytes.
    Bdp(f64),
    /// IP bytes.
    Bytes(u64),
    /// Packets.
    Packets(u64),
}

/// Loss that has nothing to do with the queue; it comes before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// Each packet with the same probability.
    Bernoulli {
        /// The probability.
        p: f64,
    },
    /// One of every so many packets of a flow.
    Periodic {
        /// Of so many packets one is lost.
        every: u64,
        /// So many packets pass before the first loss.
        first: u64,
    },
    /// Bursts: a chain of two states that steps once per packet.
    GilbertElliott {
        /// Probability of going from the good state to the bad one.
        good_to_bad: f64,
        /// Probability of going back.
        bad_to_good: f64,
        /// Probability of loss in the good state.
        good: f64,
        /// Probability of loss in the bad state.
        bad: f64,
    },
}

/// The hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Host {
    /// Each packet leaves up to so many packet times of the bottleneck late (seeded): without it,
    /// a droptail queue picks its victims by phase.
    pub send_jitter_packets: f64,
}

/// The QUIC connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transport {
    /// UDP payload of a full packet in bytes.
    pub payload_bytes: u64,
    /// When the receiver acknowledges.
    pub ack: AckPolicy,
    /// What seals the packets.
    pub cipher: Cipher,
}

/// When a receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPolicy {
    /// Every second packet (RFC 9000, section 13.2.2).
    Every2,
    /// Rarely on fast connections, as Chromium does.
    Decimated,
}

/// What seals packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cipher {
    /// Nothing, with the sizes of the real one.
    Null,
    /// TLS 1.3.
    Tls,
}

/// The players; the same in every scheme.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Player {
    /// What chooses the rungs.
    pub abr: Abr,
    /// Chunks that MPC looks ahead.
    pub horizon: usize,
    /// Most that the player holds.
    pub buffer_cap: Duration,
    /// Idle time between a response and the next request.
    pub overhead: Duration,
    /// Cost of a second of rebuffering in equation 1.
    pub beta: f64,
    /// Cost of a point of change in equation 1.
    pub gamma: f64,
    /// The measure of quality.
    pub metric: Metric,
    /// What a change of quality is taken from.
    pub smoothness: Smoothness,
    /// Beta and gamma are for a measure from 0 to 100: for others they are multiplied by the
    /// measure's span over 100 ([`Metric::span`]).
    pub scaled_penalties: bool,
    /// Longer videos are cut to so many chunks.
    pub max_chunks: Option<usize>,
}

/// What chooses the rungs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

/// One of the things compared: how the servers send.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheme {
    /// Name, of rows and files.
    pub name: String,
    /// Name, for people.
    pub title: String,
    /// One sentence for people who do not know it.
    pub note: String,
    /// The congestion controller and its weight.
    pub control: Control,
    /// The queue under this scheme, if it is not the link's.
    pub queue: Option<Queue>,
    /// Minerva sets the weights while the viewers watch.
    pub minerva: Option<Minerva>,
}

/// A congestion controller and its setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Control {
    /// NewReno (RFC 9002).
    Reno,
    /// Cubic (RFC 9438).
    Cubic {
        /// How many plain connections it counts for.
        weight: f64,
        /// How the weight acts.
        rule: WeightRule,
    },
    /// FAST.
    Fast {
        /// How many plain connections it counts for.
        weight: f64,
    },
    /// BBR, the first version.
    Bbr,
    /// Sends at a given rate.
    Explicit(Rate),
}

impl Control {
    /// How many plain connections it counts for.
    pub fn weight(&self) -> f64 {
        match self {
            Self::Cubic { weight, .. } | Self::Fast { weight } => *weight,
            _ => 1.0,
        }
    }
}

/// How a weight acts on Cubic's growth and cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightRule {
    /// By how synchronised the losses are; holds under droptail and PIE.
    Synchronised,
    /// As if losses were independent.
    Textbook,
}

/// Minerva's parameters; what is `None` has the default of the algorithm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Minerva {
    /// Factor on every weight.
    pub alpha: Option<f64>,
    /// Weights stay within n_e/mu and n_e*mu.
    pub mu: Option<f64>,
    /// What is made equal.
    pub utility: Option<Utility>,
    /// What the normalisation averages.
    pub normalisation: Option<Normalisation>,
    /// How popular each title is, which the normalisation averages with: a file, as the scenario
    /// names it. `None`: all the same.
    pub popularity: Option<PathBuf>,
    /// A normalisation that was computed before: a file, as the scenario names it.
    pub normalisation_file: Option<PathBuf>,
    /// What is to be equal among viewers.
    pub fairness: Option<Fairness>,
    /// How the value function is had.
    pub value: Option<Value>,
    /// Weight of the past in the utility, beside 1 for the current chunk.
    pub past: Option<f64>,
    /// Weight of the value function.
    pub future: Option<f64>,
    /// Chunks that the value function looks ahead.
    pub horizon: Option<usize>,
    /// Round trips between updates.
    pub interval_rtts: Option<u32>,
    /// Whether rates are taken at their conservative form.
    pub conservative: Option<bool>,
    /// Whether rates and weights are smoothed.
    pub smoothed: Option<bool>,
}

/// What Minerva makes equal among viewers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Utility {
    /// Past QoE, the current chunk and the value function over the player's own ABR.
    ClientAware,
    /// Equation 2: the quality at the current rate.
    Basic,
}

/// What the normalisation averages over the corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// What is to be equal among viewers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fairness {
    /// Utility.
    MaxMin,
    /// What more rate brings, over what is there: the sum of the logarithms is the largest.
    Proportional,
}

/// How the value function is had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// The player's algorithm is simulated with every update.
    OnDemand,
    /// It was simulated beforehand, on a grid.
    Table,
    /// That grid, as the exponentials of appendix C that fit it.
    Fitted,
    /// What the best algorithm could reach (appendix C).
    Optimal,
    /// The player sends it with its requests.
    Sent,
}

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
    /// When it arrives: [`Scenario::arrivals`].
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
