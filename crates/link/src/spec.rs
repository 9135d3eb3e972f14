//! What a link does, each way.

use std::time::Duration;

use airlane_base::{Rate, Seed};
use airlane_net::{Dumbbell, DumbbellFlow, Impairment, Limit, QueueSpec, SendJitter, Supply};

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct WaySpec {
    /// What it can carry.
    pub supply: Supply,
    /// Where in a recorded supply the link starts.
    pub offset: Duration,
    /// The queue in front of it.
    pub queue: QueueSpec,
    /// The round trip that a queue limit in BDP counts with.
    pub queue_rtt: Duration,
    /// Constant time on the way, before impairments and queue.
    pub delay: Duration,
    /// What happens to packets between delay and queue, in this order.
    pub impairments: Vec<Impairment>,
}

impl WaySpec {
    /// A way of this supply and queue without delay and impairments. A limit in BDP counts with a
    /// round trip of 20 ms.
    pub fn new(supply: impl Into<Supply>, queue: QueueSpec) -> Self {
        Self {
            supply: supply.into(),
            offset: Duration::ZERO,
            queue,
            queue_rtt: Duration::from_millis(20),
            delay: Duration::ZERO,
            impairments: Vec::new(),
        }
    }

    /// The laboratory's dumbbell of which this is the way from the only server to the only client:
    /// delay, impairments, queue, link. Nothing takes its way back.
    pub fn dumbbell(&self) -> Dumbbell {
        let back = QueueSpec::DropTail(Limit::Packets(1));
        Dumbbell {
            downlink: airlane_net::LinkSpec {
                supply: self.supply.clone(),
                offset: self.offset,
                queue: self.queue,
            },
            uplink: airlane_net::LinkSpec::new(Rate::from_bps(1), back),
            queue_rtt: self.queue_rtt,
            send_jitter: SendJitter::Off,
            flows: vec![DumbbellFlow {
                rtt: self.delay.saturating_mul(2),
                impair_down: self.impairments.clone(),
                impair_up: Vec::new(),
            }],
        }
    }
}

/// A link with two directions that share nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpec {
    /// From the clients to the target; from the near end of a pair of devices to the far one.
    pub up: WaySpec,
    /// Back.
    pub down: WaySpec,
    /// What everything random is drawn from.
    pub seed: Seed,
    /// Most that packets on the way may occupy in each direction, in bytes of memory: more are
    /// dropped for [`Reason::Memory`](crate::Reason::Memory).
    pub most_held_bytes: u64,
}

impl LinkSpec {
    /// The memory of [`LinkSpec::new`]: 256 MiB each way.
    pub const MOST_HELD_BYTES: u64 = 256 << 20;

    /// A link of these two ways.
    pub fn new(up: WaySpec, down: WaySpec, seed: Seed) -> Self {
        Self { up, down, seed, most_held_bytes: Self::MOST_HELD_BYTES }
    }
}
