//! The access that is half-duplex: one budget of air for both directions.

use std::time::Duration;

use airlane_base::Seed;

use super::link::{Built as BuiltLink, BuiltWay};
use crate::direction::Direction;
use crate::impair::Impairment;
use crate::link::{RoundRobin, Supply};
use crate::network::Network;
use crate::node::Queue;
use crate::queue::QueueSpec;

/// A half-duplex link: one server that takes packets of both directions in turns.
#[derive(Clone, Debug, PartialEq)]
pub struct HalfDuplexAccess {
    /// Capacity, of both directions together.
    pub supply: Supply,
    /// Place in a recorded supply where the link starts.
    pub offset: Duration,
    /// Towards the hosts.
    pub down: HalfDuplexWay,
    /// Back.
    pub up: HalfDuplexWay,
    /// Each host has such a link of its own, the first from `offset` on, the others from random
    /// offsets; otherwise all hosts share the one.
    pub per_host: bool,
}

/// One direction of a half-duplex link. A packet passes its parts in this order: delay, impairments,
/// queue, the link of both directions.
#[derive(Clone, Debug, PartialEq)]
pub struct HalfDuplexWay {
    /// The queue of this direction.
    pub queue: QueueSpec,
    /// The round trip that a queue limit in BDP counts with; the rate is the mean of the supply.
    pub queue_rtt: Duration,
    /// Constant time on the way, before impairments and queue.
    pub delay: Duration,
    /// Impairments between delay and queue, in this order; each flow has its own.
    pub impairments: Vec<Impairment>,
}

impl HalfDuplexWay {
    /// A way with this queue, without delay and impairments. A limit in BDP counts with a round trip
    /// of 20 ms.
    pub fn new(queue: QueueSpec) -> Self {
        let queue_rtt = Duration::from_millis(20);
        Self { queue, queue_rtt, delay: Duration::ZERO, impairments: Vec::new() }
    }
}

impl HalfDuplexAccess {
    /// A link of this supply that all hosts share, from the supply's start on.
    pub fn new(supply: impl Into<Supply>, down: HalfDuplexWay, up: HalfDuplexWay) -> Self {
        Self { supply: supply.into(), offset: Duration::ZERO, down, up, per_host: false }
    }

    /// The link of all hosts, or of one.
    pub(super) fn build(&self, name: &str, network: &mut Network, seed: Seed) -> BuiltLink {
        let mean = self.supply.mean();
        let queue = |direction: Direction, way: &HalfDuplexWay| -> Box<dyn Queue> {
            way.queue.build(mean, way.queue_rtt, seed.split(&format!("{}link", direction.name())))
        };
        let queues = (queue(Direction::Down, &self.down), queue(Direction::Up, &self.up));
        let node = network.add_node(name, self.supply.half_duplex(self.offset, queues.0, queues.1));
        let way = |direction, way: &HalfDuplexWay| BuiltWay {
            node,
            port: RoundRobin::port(direction),
            delay: way.delay,
            impairments: way.impairments.clone(),
        };
        let ways = [way(Direction::Down, &self.down), way(Direction::Up, &self.up)];
        BuiltLink::new((name, seed), ways, mean)
    }
}
