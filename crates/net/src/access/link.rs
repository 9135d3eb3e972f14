//! The access that is a link: a rate or a trace, a queue, delay and impairments, each way.

use std::time::Duration;

use airlane_base::{Rate, Seed};

use super::Carrier;
use crate::direction::Direction;
use crate::impair::Impairment;
use crate::link::{Handover, HandoverQueue, Supply};
use crate::network::{Network, NodeId, Step};
use crate::node::{Port, Queue};
use crate::queue::QueueSpec;

/// One direction of a link. A packet passes its parts in this order: delay, impairments, queue,
/// link.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// Capacity of the link over time.
    pub supply: Supply,
    /// Position in a recorded supply at which the link starts.
    pub offset: Duration,
    /// The queue in front of it.
    pub queue: QueueSpec,
    /// The round trip that a queue limit in BDP counts with.
    pub queue_rtt: Duration,
    /// Constant time on the way, before impairments and queue.
    pub delay: Duration,
    /// Impairments of packets between delay and queue, in this order; each flow has its own.
    pub impairments: Vec<Impairment>,
    /// Handovers of its host; where both directions have the same, they pause together.
    pub handover: Option<Handover>,
}

impl Way {
    /// A way of this supply and queue without delay and impairments, from the supply's start on. A
    /// limit in BDP counts with a round trip of 20 ms.
    pub fn new(supply: impl Into<Supply>, queue: QueueSpec) -> Self {
        Self {
            supply: supply.into(),
            offset: Duration::ZERO,
            queue,
            queue_rtt: Duration::from_millis(20),
            delay: Duration::ZERO,
            impairments: Vec::new(),
            handover: None,
        }
    }

    /// The queue, with the handovers of the access that has this seed.
    fn queue(&self, direction: Direction, access: Seed) -> Box<dyn Queue> {
        let seed = access.split(&format!("{}link", direction.name()));
        let (spec, rate, rtt) = (self.queue.clone(), self.supply.mean(), self.queue_rtt);
        let Some(handover) = self.handover else { return spec.build(rate, rtt, seed) };
        let build = move |cell| spec.build(rate, rtt, seed.index(cell));
        Box::new(HandoverQueue::new(handover, access.split("handover"), build))
    }
}

/// A link whose two directions share nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkAccess {
    /// Towards the hosts.
    pub down: Way,
    /// Back.
    pub up: Way,
}

/// A direction that stands in a network.
#[derive(Clone, Debug)]
pub(super) struct BuiltWay {
    /// The link.
    pub(super) node: NodeId,
    /// Its port for this direction.
    pub(super) port: Port,
    /// Constant time in front of it.
    pub(super) delay: Duration,
    /// Impairments in front of it, of each flow.
    pub(super) impairments: Vec<Impairment>,
}

/// A link that stands in a network.
#[derive(Clone, Debug)]
pub(crate) struct Built {
    name: String,
    seed: Seed,
    down: BuiltWay,
    up: BuiltWay,
    mean_down: Rate,
}

impl LinkAccess {
    pub(super) fn build(&self, name: &str, network: &mut Network, seed: Seed) -> Built {
        let mut way = |direction: Direction, way: &Way| {
            let link = way.supply.link(way.offset, way.queue(direction, seed));
            let node = network.add_node(format!("{name}.{}", direction.name()), link);
            let (delay, impairments) = (way.delay, way.impairments.clone());
            BuiltWay { node, port: Port::ONLY, delay, impairments }
        };
        let ways = [way(Direction::Down, &self.down), way(Direction::Up, &self.up)];
        Built::new((name, seed), ways, self.down.supply.mean())
    }
}

impl Built {
    /// A link of these directions, down first, whose impairments draw from `seed`.
    pub(super) fn new(
        (name, seed): (&str, Seed),
        [down, up]: [BuiltWay; 2],
        mean_down: Rate,
    ) -> Self {
        Self { name: name.to_owned(), seed, down, up, mean_down }
    }

    fn way(&self, direction: Direction) -> &BuiltWay {
        match direction {
            Direction::Down => &self.down,
            Direction::Up => &self.up,
        }
    }

    pub(super) fn steps(
        &self,
        direction: Direction,
        flow: u32,
        network: &mut Network,
    ) -> Vec<Step> {
        let way = self.way(direction);
        let seed = self.seed.split("flow").index(flow.into()).split(direction.name());
        let mut steps = vec![Step::Delay(way.delay)];
        steps.extend(way.impairments.iter().enumerate().map(|(k, impairment)| {
            let name = format!("{}.flow{flow}.{}{k}", self.name, direction.name());
            let node = network.add_node(name, impairment.build(seed.index(k as u64)));
            Step::Node(node, Port::ONLY)
        }));
        steps.push(Step::Node(way.node, way.port));
        steps
    }

    pub(super) fn carriers(&self) -> Vec<Carrier> {
        let carrier = |direction| {
            let BuiltWay { node, port, .. } = *self.way(direction);
            Carrier { direction, node, port, user: 0 }
        };
        Direction::BOTH.map(carrier).to_vec()
    }

    pub(super) fn mean_down(&self) -> Rate {
        self.mean_down
    }
}
