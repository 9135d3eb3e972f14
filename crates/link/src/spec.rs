//! What a link does, each way.

use std::time::Duration;

use airlane_base::{Rate, Seed};
use airlane_net::{
    Access, Client, Dumbbell, HalfDuplexAccess, HalfDuplexWay, HostId, Limit, Network, QueueSpec,
    SendJitter, Topology, Way,
};

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

/// The laboratory's network of one server and one client on a half-duplex access, with these two.
/// The capacity is that of `down`.
pub fn half_duplex(up: &Way, down: &Way, seed: Seed) -> (Network, HostId, HostId) {
    let way = |way: &Way| HalfDuplexWay {
        queue: way.queue.clone(),
        queue_rtt: way.queue_rtt,
        delay: way.delay,
        impairments: way.impairments.clone(),
    };
    let access = HalfDuplexAccess {
        offset: down.offset,
        ..HalfDuplexAccess::new(down.supply.clone(), way(down), way(up))
    };
    let mut topology = Topology::new(SendJitter::Off, seed);
    let access = Access::HalfDuplex(Box::new(access));
    let access = topology.add_access("link", &access, None, seed);
    let server = topology.add_server();
    let client: Client = topology.add_client(&[access]);
    topology.connect(server, &client, Duration::ZERO);
    (topology.finish(), server, client.host)
}

/// A link with two directions, which share nothing or take turns.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpec {
    /// From the clients to the target; from the near end of a pair of devices to the far one.
    pub up: Way,
    /// Back.
    pub down: Way,
    /// Both directions take turns on the capacity of `down`; that of `up` counts for nothing.
    pub half_duplex: bool,
    /// Seed of all random draws.
    pub seed: Seed,
    /// Most that packets on the way may occupy in each direction, in bytes of memory: more are
    /// dropped for [`Reason::Memory`](crate::Reason::Memory).
    pub max_held_bytes: u64,
}

impl LinkSpec {
    /// The memory of [`LinkSpec::new`]: 256 MiB each way.
    pub const MAX_HELD_BYTES: u64 = 256 << 20;

    /// A link of these two ways, which share nothing.
    pub fn new(up: Way, down: Way, seed: Seed) -> Self {
        Self { up, down, half_duplex: false, seed, max_held_bytes: Self::MAX_HELD_BYTES }
    }
}
