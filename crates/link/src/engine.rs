//! The packet path without clock, sockets and threads.

use std::net::{IpAddr, SocketAddr};

use airlane_base::{FlowId, Packet, Progress, Time, TrafficClass};
use airlane_net::{BuiltDumbbell, Counters, Direction, LinkStats, Network, NodeId, Port};

use crate::spec::{LinkSpec, dumbbell};

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
    /// Which way it went: up from the clients to the target, or from the near end of a pair of
    /// devices to the far one; down is the way back.
    pub direction: Direction,
    /// When the link let it go: the event's own time, also if the engine was polled late.
    pub at: Time,
    /// What it was pushed with.
    pub tag: u32,
    /// The packet.
    pub packet: Box<Packet>,
}

/// What a packet on its way occupies beside its payload, in bytes.
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
    ways: [Way; 2],
    max_held_bytes: u64,
    /// Packets to be used again, so that a busy link does not live on the allocator.
    #[expect(clippy::vec_box, reason = "networks take packets boxed")]
    spare: Vec<Box<Packet>>,
}

#[derive(Debug)]
struct Way {
    network: Network,
    ends: (IpAddr, IpAddr),
    link: NodeId,
    /// Packets and bytes that found no memory.
    refused: (u64, u64),
}

impl Way {
    fn new(spec: &airlane_net::Way, seed: airlane_base::Seed) -> Self {
        let BuiltDumbbell { network, servers, clients, downlink, .. } = dumbbell(spec).build(seed);
        let ends = (network.addresses(servers[0])[0], network.addresses(clients[0])[0]);
        Self { ends, link: downlink, network, refused: (0, 0) }
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
    /// `seed.split("up")` and `seed.split("down")`.
    pub fn new(spec: &LinkSpec) -> Self {
        let way = |d: Direction, way| Way::new(way, spec.seed.split(d.name()));
        Self {
            ways: [way(Direction::Up, &spec.up), way(Direction::Down, &spec.down)],
            max_held_bytes: spec.max_held_bytes,
            spare: Vec::new(),
        }
    }

    /// Takes a packet that arrived at `at`. If something later has happened in its direction
    /// already, it arrives at that time. Returns when it did; `None` if there was no memory for it.
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
        let way = &mut self.ways[place(direction)];
        let (packets, bytes) = way.network.tally().held;
        let size = payload.len() as u64;
        if (packets + 1) * PACKET_COST + bytes + size > self.max_held_bytes {
            way.refused.0 += 1;
            way.refused.1 += size + u64::from(header_bytes);
            return None;
        }
        let (src, dst) = tagged(way.ends, tag);
        let at = at.max(way.network.now());
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
        way.network.send(at, packet);
        Some(at)
    }

    /// When something happens next: poll then. `None` while no packet is on its way.
    pub fn next_event(&self) -> Option<Time> {
        self.ways.iter().filter_map(|w| w.network.next_event()).min()
    }

    /// The next packet that came out at or before `now`; `None` when there is no more. Those of
    /// one direction come in the order of their times.
    pub fn poll(&mut self, now: Time) -> Option<Delivery> {
        DIRECTIONS.into_iter().find_map(|direction| {
            let delivered = self.ways[place(direction)].network.poll(now)?;
            let tag = tag_of(&delivered.packet);
            Some(Delivery { direction, at: delivered.at, tag, packet: delivered.packet })
        })
    }

    /// Takes back a packet that is done with.
    pub fn recycle(&mut self, packet: Box<Packet>) {
        if self.spare.len() < MAX_SPARE && packet.payload.capacity() <= MAX_SPARE_BYTES {
            self.spare.push(packet);
        }
    }

    /// What went through a direction so far: all that was pushed and found memory, by its fate.
    pub fn tally(&self, direction: Direction) -> Counters {
        self.ways[place(direction)].network.tally()
    }

    /// Packets and bytes (with headers) of a direction that found no memory.
    pub fn refused(&self, direction: Direction) -> (u64, u64) {
        self.ways[place(direction)].refused
    }

    /// What waits in or is being served by the link of a direction: packets, bytes.
    pub fn in_link(&self, direction: Direction) -> (u64, u64) {
        let way = &self.ways[place(direction)];
        way.network.node_counters(way.link, Port::ONLY).held
    }

    /// What the link of a direction measured until `now`.
    ///
    /// # Panics
    /// Never: the node asked is a link.
    pub fn link_stats(&self, direction: Direction, now: Time) -> LinkStats {
        let way = &self.ways[place(direction)];
        match way.network.link_stats(way.link, Port::ONLY, now) {
            Some(stats) => stats,
            None => unreachable!("a dumbbell's bottleneck is a link"),
        }
    }
}
