//! What a link does, each way.

use std::time::Duration;

use airlane_base::{Rate, Seed};
use airlane_net::{Dumbbell, Limit, QueueSpec, SendJitter, Way};

/// The laboratory's dumbbell of which `way` is the one from the only server to the only client.
/// Nothing takes its way back.
pub fn dumbbell(way: &Way) -> Dumbbell {
    let back = QueueSpec::DropTail(Limit::Packets(1));
    Dumbbell {
        downlink: way.clone(),
        uplink: Way::new(Rate::from_bps(1), back),
        send_jitter: SendJitter::Off,
        rtts: vec![Duration::ZERO],
    }
}

/// A link with two directions that share nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpec {
    /// From the clients to the target; from the near end of a pair of devices to the far one.
    pub up: Way,
    /// Back.
    pub down: Way,
    /// What everything random is drawn from.
    pub seed: Seed,
    /// Most that packets on the way may occupy in each direction, in bytes of memory: more are
    /// dropped for [`Reason::Memory`](crate::Reason::Memory).
    pub max_held_bytes: u64,
}

impl LinkSpec {
    /// The memory of [`LinkSpec::new`]: 256 MiB each way.
    pub const MAX_HELD_BYTES: u64 = 256 << 20;

    /// A link of these two ways.
    pub fn new(up: Way, down: Way, seed: Seed) -> Self {
        Self { up, down, seed, max_held_bytes: Self::MAX_HELD_BYTES }
    }
}
