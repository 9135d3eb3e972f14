//! The bottleneck: the laboratory's own link and queues, or losses by number.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use airlane_base::{Dscp, Ecn, FlowId, IP_UDP_HEADER_BYTES, Packet, Progress, Rate, Seed, Time};
use airlane_net::{
    Abc, AbcConfig, Capacity, DropTail, Dropped, DualPi2, DualPi2Config, LinkReport, LinkStats,
    Node, Pie, PieConfig, Port, Queue, SerialLink,
};

use super::PACKET_BYTES;

/// The discipline in front of the server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Discipline {
    /// So many packets wait at most.
    DropTail(usize),
    /// PIE with RFC 8033's settings; so many packets wait at most.
    Pie(usize),
    /// ABC with its default settings; so many packets wait at most.
    Abc(usize),
    /// DualPI2 with its default settings; so many packets wait at most.
    DualPi2(usize),
    /// No queue at all: every n-th packet of a flow is lost, the first of them given apart.
    EveryNth {
        /// Packets per loss.
        n: u64,
        /// Number of the first packet lost.
        first: u64,
    },
}

/// What becomes of a packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It leaves at once.
    Leaves,
    /// It leaves when the link lets it go.
    Waits,
    /// It is dropped.
    Dropped,
}

/// A packet that leaves.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// Its flow.
    pub flow: usize,
    /// Its number.
    pub pn: u64,
    /// It was marked.
    pub marked: bool,
    /// Time since it arrived, its own service included.
    pub waited: Duration,
}

/// The server and its queue.
pub struct Bottleneck {
    discipline: Discipline,
    link: SerialLink,
    drops: Vec<Dropped>,
    #[expect(clippy::vec_box, reason = "the link takes boxes and gives them back")]
    spare: Vec<Box<Packet>>,
    /// As of when it measures.
    start: LinkStats,
}

impl Bottleneck {
    /// `service`: time per packet.
    pub fn new(discipline: Discipline, service: Duration, seed: Seed) -> Self {
        let ip_bytes = PACKET_BYTES + u64::from(IP_UDP_HEADER_BYTES);
        let queue: Box<dyn Queue> = match discipline {
            Discipline::DropTail(n) => Box::new(DropTail::new(Capacity::Packets(n))),
            Discipline::Pie(n) => {
                Box::new(Pie::new(PieConfig::default(), Capacity::Packets(n), seed.rng()))
            }
            Discipline::Abc(n) => Box::new(Abc::new(AbcConfig::default(), Capacity::Packets(n))),
            Discipline::DualPi2(n) => {
                let config = DualPi2Config::default();
                Box::new(DualPi2::new(config, Capacity::Packets(n), seed.rng()))
            }
            Discipline::EveryNth { .. } => Box::new(DropTail::new(Capacity::Unlimited)),
        };
        let rate = if service.is_zero() { Rate::default() } else { Rate::of(ip_bytes, service) };
        let link = SerialLink::constant(rate, queue);
        let start = stats(&link, Time::ZERO);
        Self { discipline, link, drops: Vec::new(), spare: Vec::new(), start }
    }

    /// Measures from here on.
    pub fn reset(&mut self, now: Time) {
        self.start = stats(&self.link, now);
    }

    /// What the link did since `reset`.
    pub fn measured(&self, now: Time) -> LinkReport {
        stats(&self.link, now).since(&self.start)
    }

    /// The `pn`-th packet of `flow` arrives, with this code point.
    pub fn arrive(&mut self, now: Time, flow: usize, pn: u64, ecn: Ecn) -> Fate {
        if let Discipline::EveryNth { n, first } = self.discipline {
            let lost = pn >= first && (pn - first).is_multiple_of(n);
            return if lost { Fate::Dropped } else { Fate::Leaves };
        }
        let mut packet = self.spare.pop().unwrap_or_else(blank);
        (packet.flow, packet.id, packet.ecn) = (FlowId(flow as u32), pn, ecn);
        self.link.push(now, Port::ONLY, packet, &mut self.drops);
        let dropped = !self.drops.is_empty();
        self.spare.extend(self.drops.drain(..).map(|d| d.packet));
        if dropped { Fate::Dropped } else { Fate::Waits }
    }

    /// When a packet leaves next.
    pub fn next(&self) -> Option<Time> {
        self.link.next_event()
    }

    /// The packet that leaves now, if not all that waited is dropped.
    pub fn leave(&mut self, now: Time) -> Option<Departure> {
        let packet = self.link.poll(now, &mut self.drops);
        self.spare.extend(self.drops.drain(..).map(|d| d.packet));
        let packet = packet?;
        let departure = Departure {
            flow: packet.flow.0 as usize,
            pn: packet.id,
            marked: packet.ecn == Ecn::Ce,
            waited: now.since(packet.enqueued),
        };
        self.spare.push(packet);
        Some(departure)
    }
}

fn stats(link: &SerialLink, now: Time) -> LinkStats {
    link.link_stats(Port::ONLY, now).expect("a serial link measures")
}

fn blank() -> Box<Packet> {
    let nowhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    Box::new(Packet {
        id: 0,
        flow: FlowId::default(),
        src: nowhere,
        dst: nowhere,
        ecn: Ecn::NotEct,
        dscp: Dscp::DEFAULT,
        sent: Time::ZERO,
        enqueued: Time::ZERO,
        progress: Progress::default(),
        header_bytes: IP_UDP_HEADER_BYTES,
        payload: vec![0; PACKET_BYTES as usize],
    })
}
