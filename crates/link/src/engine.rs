//! The packet path without clock, sockets and threads.

use std::net::{IpAddr, SocketAddr};

use airlane_base::{FlowId, Packet, Progress, Time, TrafficClass};
use airlane_net::{BuiltDumbbell, Counters, Direction, HostId, LinkStats, Network, NodeId, Port};

use crate::spec::{LinkSpec, dumbbell, half_duplex};

/// Both directions, in the order in which a link looks at them and in which pairs hold what is of
/// each: what goes from the clients first.
pub(crate) const DIRECTIONS: [Direction; 2] = [Direction::Up, Direction::Down];

/// Position of a direction in [`DIRECTIONS`].
pub(crate) const fn place(direction: Direction) -> usize {
    match direction {
        Direction::Up => 0,
        Direction::Down => 1,
    }
}

/// A packet that came out of the link.
#[derive(Debug)]
pub struct Delivery {
    /// Direction of the packet: up from the clients to the target, or from the near end of a
    /// pair of devices to the far one; down is the way back.
    pub direction: Direction,
    /// Time at which the packet left the link: the event's own time, also if the engine was polled
    /// late.
    pub at: Time,
    /// Tag with which the packet was pushed.
    pub tag: u32,
    /// The packet.
    pub packet: Box<Packet>,
}

/// Memory that a packet on its way occupies beside its payload, in bytes.
const PACKET_COST: u64 = 256;
/// Packets kept for use again.
const MAX_SPARE: usize = 4_096;
/// A kept packet holds at most so much memory.
const MAX_SPARE_BYTES: usize = 2_048;

/// Both directions of a link. Pure: time is an argument.
///
/// Drive contract: [`push`](Self::push) packets when they arrive, [`poll`](Self::poll) at each
/// [`next_event`](Self::next_event) until it returns `None`. A late poll catches up: everything
/// happens at its own time, and nothing happens differently because it was noticed late.
#[derive(Debug)]
pub struct Engine {
    /// One of each direction, or a single one of both.
    networks: Vec<Network>,
    ways: [Way; 2],
    max_held_bytes: u64,
    /// Packets to be used again, so that a busy link does not live on the allocator.
    #[expect(clippy::vec_box, reason = "networks take packets boxed")]
    spare: Vec<Box<Packet>>,
}

#[derive(Debug)]
struct Way {
    /// Position of its network.
    network: usize,
    ends: (IpAddr, IpAddr),
    /// Host that its packets are for.
    to: HostId,
    link: (NodeId, Port),
    /// Nodes on its way through a network of both directions.
    nodes: Vec<(NodeId, Port)>,
    /// Packets and bytes that went into and out of a network of both directions.
    counters: Counters,
    /// Packets and bytes that found no memory.
    refused: (u64, u64),
}

impl Way {
    /// A direction with a network of its own, which is at this position.
    fn alone(
        spec: &airlane_net::Way,
        seed: airlane_base::Seed,
        position: usize,
    ) -> (Network, Self) {
        let BuiltDumbbell { network, servers, clients, .. } = dumbbell(spec).build(seed);
        let way = Self::of(&network, position, (servers[0], clients[0]));
        (network, way)
    }

    /// The direction between two hosts of the network at this position.
    fn of(network: &Network, position: usize, (from, to): (HostId, HostId)) -> Self {
        let ends = (network.addresses(from)[0], network.addresses(to)[0]);
        let nodes = network.nodes_between(ends.0, ends.1);
        let Some(&link) = nodes.last() else { unreachable!("a direction ends with its link") };
        let (counters, refused) = (Counters::default(), (0, 0));
        Self { network: position, ends, to, link, nodes, counters, refused }
    }

    /// Statistics of the direction in a network that has both.
    fn tally(&self, network: &Network) -> Counters {
        let mut tally = self.counters;
        for (node, port) in &self.nodes {
            let of_node = network.node_counters(*node, *port);
            for (sum, dropped) in tally.dropped.iter_mut().zip(of_node.dropped) {
                *sum = (sum.0 + dropped.0, sum.1 + dropped.1);
            }
        }
        let (packets, bytes) = tally.dropped_total();
        tally.held =
            (tally.pushed.0 - tally.polled.0 - packets, tally.pushed.1 - tally.polled.1 - bytes);
        tally
    }
}

/// The addresses of a packet with a tag in their ports, which networks do not look at.
fn tagged((src, dst): (IpAddr, IpAddr), tag: u32) -> (SocketAddr, SocketAddr) {
    (SocketAddr::new(src, (tag >> 16) as u16), SocketAddr::new(dst, tag as u16))
}

fn tag_of(packet: &Packet) -> u32 {
    u32::from(packet.src.port()) << 16 | u32::from(packet.dst.port())
}

impl Engine {
    /// An empty link. What is random in a direction draws from a part of the seed of its own:
    /// `seed.split("up")` and `seed.split("down")`, or the laboratory's parts of a half-duplex access.
    pub fn new(spec: &LinkSpec) -> Self {
        let (networks, ways) = if spec.half_duplex {
            let (network, server, client) = half_duplex(&spec.up, &spec.down, spec.seed);
            let ways = DIRECTIONS.map(|direction| match direction {
                Direction::Up => Way::of(&network, 0, (client, server)),
                Direction::Down => Way::of(&network, 0, (server, client)),
            });
            (vec![network], ways)
        } else {
            let seed = |direction: Direction| spec.seed.split(direction.name());
            let (up_network, up) = Way::alone(&spec.up, seed(Direction::Up), 0);
            let (down_network, down) = Way::alone(&spec.down, seed(Direction::Down), 1);
            (vec![up_network, down_network], [up, down])
        };
        Self { networks, ways, max_held_bytes: spec.max_held_bytes, spare: Vec::new() }
    }

    /// Takes a packet that arrived at `at`. If something later has happened in its direction, or on a
    /// half-duplex link in either, already, it arrives at that time. Returns when it did; `None` if there was no memory for it.
    ///
    /// `tag` comes back with the [`Delivery`]; `header_bytes` travel with the payload: see
    /// [`Packet::header_bytes`].
    pub fn push(
        &mut self,
        at: Time,
        direction: Direction,
        tag: u32,
        class: TrafficClass,
        header_bytes: u8,
        payload: &[u8],
    ) -> Option<Time> {
        let (packets, bytes) = self.tally(direction).held;
        let way = &mut self.ways[place(direction)];
        let network = &mut self.networks[way.network];
        let size = payload.len() as u64;
        if (packets + 1) * PACKET_COST + bytes + size > self.max_held_bytes {
            way.refused.0 += 1;
            way.refused.1 += size + u64::from(header_bytes);
            return None;
        }
        let (src, dst) = tagged(way.ends, tag);
        let at = at.max(network.now());
        let mut packet = self.spare.pop().unwrap_or_else(|| {
            Box::new(Packet {
                id: 0,
                flow: FlowId::default(),
                src,
                dst,
                ecn: class.ecn,
                dscp: class.dscp,
                sent: at,
                enqueued: at,
                progress: Progress::default(),
                header_bytes,
                payload: Vec::new(),
            })
        });
        packet.src = src;
        packet.dst = dst;
        packet.ecn = class.ecn;
        packet.dscp = class.dscp;
        packet.header_bytes = header_bytes;
        packet.payload.clear();
        packet.payload.extend_from_slice(payload);
        way.counters.count_push(&packet);
        network.send(at, packet);
        Some(at)
    }

    /// Time of the next event: poll then. `None` while no packet is on its way.
    pub fn next_event(&self) -> Option<Time> {
        self.networks.iter().filter_map(Network::next_event).min()
    }

    /// The next packet that came out at or before `now`; `None` when there is no more. Those of
    /// one direction come in the order of their times.
    pub fn poll(&mut self, now: Time) -> Option<Delivery> {
        let polled = |(position, network): (usize, &mut Network)| {
            network.poll(now).map(|delivered| (position, delivered))
        };
        let (position, delivered) = self.networks.iter_mut().enumerate().find_map(polled)?;
        let direction = DIRECTIONS.into_iter().find(|direction| {
            let way = &self.ways[place(*direction)];
            way.network == position && way.to == delivered.host
        })?;
        self.ways[place(direction)].counters.count_poll(&delivered.packet);
        let tag = tag_of(&delivered.packet);
        Some(Delivery { direction, at: delivered.at, tag, packet: delivered.packet })
    }

    /// Takes back a packet that is done with.
    pub fn recycle(&mut self, packet: Box<Packet>) {
        if self.spare.len() < MAX_SPARE && packet.payload.capacity() <= MAX_SPARE_BYTES {
            self.spare.push(packet);
        }
    }

    /// Counters of a direction so far: all that was pushed and found memory, by its fate.
    pub fn tally(&self, direction: Direction) -> Counters {
        let way = &self.ways[place(direction)];
        let network = &self.networks[way.network];
        match self.networks.len() {
            1 => way.tally(network),
            _ => network.tally(),
        }
    }

    /// Packets and bytes (with headers) of a direction that found no memory.
    pub fn refused(&self, direction: Direction) -> (u64, u64) {
        self.ways[place(direction)].refused
    }

    /// Packets and bytes that wait in the link of a direction or are being served by it.
    pub fn in_link(&self, direction: Direction) -> (u64, u64) {
        let way = &self.ways[place(direction)];
        self.networks[way.network].node_counters(way.link.0, way.link.1).held
    }

    /// Statistics of the link of a direction until `now`.
    ///
    /// # Panics
    /// Never: the node asked is a link.
    pub fn link_stats(&self, direction: Direction, now: Time) -> LinkStats {
        let way = &self.ways[place(direction)];
        match self.networks[way.network].link_stats(way.link.0, way.link.1, now) {
            Some(stats) => stats,
            None => unreachable!("the node asked is a link"),
        }
    }
}
