//! Queueing disciplines, a file each, and how a scenario asks for one.

mod abc;
mod codel;
mod custom;
mod discard_timer;
mod droptail;
mod dualpi2;
mod fq_codel;
mod octopus;
mod pdu_sets;
mod per_flow;
mod pie;
mod priority_drop;

use std::time::Duration;

use airlane_base::{Rate, Seed};

pub use abc::{Abc, AbcConfig};
pub use codel::{Codel, CodelConfig};
pub use custom::{CustomQueue, QueueKind};
pub use discard_timer::DiscardTimer;
pub use droptail::DropTail;
pub use dualpi2::{DualPi2, DualPi2Config};
pub use fq_codel::FqCodel;
pub use octopus::{Octopus, OctopusConfig};
pub use per_flow::PerFlow;
pub use pie::{Latency, Pie, PieConfig};
pub use priority_drop::PriorityDrop;

use crate::node::Queue;

/// Limit of a queue, resolved to what it can count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// At most so many packets.
    Packets(usize),
    /// At most so many IP bytes.
    Bytes(u64),
    /// No limit.
    Unlimited,
}

impl Capacity {
    /// True if a queue of so many packets and IP bytes would be over it.
    #[inline]
    pub fn exceeded_by(self, packets: usize, bytes: u64) -> bool {
        match self {
            Self::Packets(n) => packets > n,
            Self::Bytes(n) => bytes > n,
            Self::Unlimited => false,
        }
    }
}

/// Limit of a queue, as a scenario says it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// At most so many packets.
    Packets(usize),
    /// At most so many IP bytes.
    Bytes(u64),
    /// A multiple of the bandwidth-delay product, in IP bytes.
    Bdp(f64),
    /// No limit.
    Unlimited,
}

impl Limit {
    /// The bytes or packets that the limit means on a link of `rate` with a round trip of `rtt`.
    ///
    /// A limit in BDP is at least one packet of 1500 bytes: packets reach a link through its
    /// queue, also an idle one, so a queue that holds none lets nothing through.
    pub fn resolve(self, rate: Rate, rtt: Duration) -> Capacity {
        match self {
            Self::Packets(n) => Capacity::Packets(n),
            Self::Bytes(n) => Capacity::Bytes(n),
            Self::Bdp(x) => Capacity::Bytes(bdp_bytes(x, rate, rtt)),
            Self::Unlimited => Capacity::Unlimited,
        }
    }

    /// The limit that no longer depends on its link: one in BDP becomes the bytes that
    /// [`resolve`](Self::resolve) finds at `rate` and `rtt`, which need not be the link's own.
    #[must_use]
    pub fn fixed(self, rate: Rate, rtt: Duration) -> Self {
        match self {
            Self::Bdp(x) => Self::Bytes(bdp_bytes(x, rate, rtt)),
            other => other,
        }
    }
}

/// `x` bandwidth-delay products in IP bytes, at least one packet.
fn bdp_bytes(x: f64, rate: Rate, rtt: Duration) -> u64 {
    let bytes = rate.as_f64() / 8.0 * rtt.as_secs_f64() * x.max(0.0);
    (bytes.round() as u64).max(1_500)
}

/// A queueing discipline, as a scenario says it.
#[derive(Clone, Debug, PartialEq)]
pub enum QueueSpec {
    /// First in, first out with a limit.
    DropTail(Limit),
    /// PIE, with what its buffer holds at most.
    Pie(Limit, PieConfig),
    /// Octopus, with what its buffer holds at most.
    Octopus(Limit, OctopusConfig),
    /// CoDel, with what its buffer holds at most.
    Codel(Limit, CodelConfig),
    /// FQ-CoDel, with what its buffer holds at most.
    FqCodel(Limit, CodelConfig),
    /// Priority dropping, with what its buffer holds at most.
    PriorityDrop(Limit),
    /// ABC, with what its buffer holds at most.
    Abc(Limit, AbcConfig),
    /// A discard timer, with what its buffer holds at most.
    DiscardTimer(Limit, Duration),
    /// DualPI2, with what its buffer holds at most.
    DualPi2(Limit, DualPi2Config),
    /// One that another crate brings, with what its buffer holds at most.
    Custom(Limit, CustomQueue),
    /// One of these for each flow, served in turn.
    PerFlow(Box<QueueSpec>),
}

impl QueueSpec {
    /// The queue for a link of `rate` with a round trip of `rtt`, drawing from `seed`.
    pub fn build(&self, rate: Rate, rtt: Duration, seed: Seed) -> Box<dyn Queue> {
        match *self {
            Self::DropTail(limit) => Box::new(DropTail::new(limit.resolve(rate, rtt))),
            Self::Pie(limit, config) => {
                Box::new(Pie::new(config, limit.resolve(rate, rtt), seed.rng()))
            }
            Self::Octopus(limit, config) => {
                Box::new(Octopus::new(config, limit.resolve(rate, rtt), seed))
            }
            Self::Codel(limit, config) => Box::new(Codel::new(config, limit.resolve(rate, rtt))),
            Self::FqCodel(limit, config) => {
                Box::new(FqCodel::new(config, limit.resolve(rate, rtt), seed))
            }
            Self::PriorityDrop(limit) => {
                Box::new(PriorityDrop::new(limit.resolve(rate, rtt), seed))
            }
            Self::Abc(limit, config) => Box::new(Abc::new(config, limit.resolve(rate, rtt))),
            Self::DiscardTimer(limit, timer) => {
                Box::new(DiscardTimer::new(timer, limit.resolve(rate, rtt)))
            }
            Self::DualPi2(limit, config) => {
                Box::new(DualPi2::new(config, limit.resolve(rate, rtt), seed.rng()))
            }
            Self::Custom(limit, CustomQueue(kind)) => kind.build(limit.resolve(rate, rtt), seed),
            Self::PerFlow(ref spec) => {
                Box::new(PerFlow::new(QueueSpec::clone(spec), rate, rtt, seed))
            }
        }
    }
}
