//! The link: what it carries, its queue, its loss.

use std::path::PathBuf;
use std::time::Duration;

use airlane_base::Rate;
use airlane_net::trace::Medium;

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
    /// A file, as the scenario names it; see [`Source::folder`](super::Source::folder).
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
