//! Octopus: whole messages of real-time streams are dropped as their application says. The rules are
//! those of the crate `octopus`; here they meet packets.

use std::net::{IpAddr, SocketAddr};

use airlane_base::{DropReason, Fnv64, Packet, Seed, Time};
use airlane_octopus::{Header, Options, Queue as Messages, Reason};

use crate::node::{Dequeued, Dropped, Queue};
use crate::queue::Capacity;

/// What an Octopus queue does beside the paper's rules; nothing by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OctopusConfig {
    /// [`Options::slack`].
    pub slack: bool,
    /// [`Options::headless`].
    pub headless: bool,
}

/// Streams that a queue tells apart at once.
const STREAMS: usize = 1_024;

/// A FIFO that drops messages. Packets without a header of Octopus are dropped where they do not
/// fit, and otherwise never.
#[derive(Debug)]
pub struct Octopus(Messages<Box<Packet>>);

impl Octopus {
    /// An empty queue, whose table of streams nobody can fill on purpose who does not know `seed`.
    pub fn new(config: OctopusConfig, capacity: Capacity, seed: Seed) -> Self {
        let unlimited = airlane_octopus::Capacity { packets: usize::MAX, ip_bytes: u64::MAX };
        let capacity = match capacity {
            Capacity::Packets(packets) => airlane_octopus::Capacity { packets, ..unlimited },
            Capacity::Bytes(ip_bytes) => airlane_octopus::Capacity { ip_bytes, ..unlimited },
            Capacity::Unlimited => unlimited,
        };
        let OctopusConfig { slack, headless } = config;
        Self(Messages::new(capacity, Options { streams: STREAMS, slack, headless, seed }))
    }
}

impl Queue for Octopus {
    fn enqueue(&mut self, now: Time, packet: Box<Packet>, drops: &mut Vec<Dropped>) {
        let (flow, header) = match datagram(&packet) {
            Some((src, dst, payload)) => (flow(src, dst), Header::decode(payload).ok()),
            None => (0, None),
        };
        let bytes = packet.ip_bytes();
        self.0.enqueue(now, flow, header.as_ref(), bytes, packet, |d| drops.push(dropped(d)));
    }

    fn dequeue(&mut self, now: Time, drops: &mut Vec<Dropped>) -> Dequeued {
        self.0.dequeue(now, |d| drops.push(dropped(d))).into()
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn bytes(&self) -> u64 {
        self.0.ip_bytes()
    }

    fn name(&self) -> &'static str {
        "octopus"
    }
}

fn dropped(dropped: airlane_octopus::Dropped<Box<Packet>>) -> Dropped {
    let reason = match dropped.reason {
        Reason::Newer => DropReason::Newer,
        Reason::Bitrate => DropReason::Bitrate,
        Reason::Headless => DropReason::Headless,
        Reason::Overflow => DropReason::Overflow,
    };
    Dropped { packet: dropped.packet, reason }
}

/// A number for a connection.
pub(super) fn flow(src: SocketAddr, dst: SocketAddr) -> u64 {
    let words = |ip: IpAddr| match ip {
        // As it would be mapped into IPv6.
        IpAddr::V4(ip) => [0, 0xffff << 32 | u64::from(ip.to_bits())],
        IpAddr::V6(ip) => [(ip.to_bits() >> 64) as u64, ip.to_bits() as u64],
    };
    let ([a, b], [c, d]) = (words(src.ip()), words(dst.ip()));
    let ports = u64::from(src.port()) << 16 | u64::from(dst.port());
    let mut hash = Fnv64::new();
    hash.write_record([a, b, c, d, ports]);
    hash.finish()
}

/// Source, destination and UDP payload; `None` of an IP packet that is not a whole datagram.
pub(super) fn datagram(packet: &Packet) -> Option<(SocketAddr, SocketAddr, &[u8])> {
    if packet.header_bytes > 0 {
        return Some((packet.src, packet.dst, &packet.payload));
    }
    const UDP: u8 = 17;
    let ip = &packet.payload;
    let (src, dst, rest): (IpAddr, IpAddr, &[u8]) = match ip.first()? >> 4 {
        4 => {
            let head: &[u8; 20] = ip.first_chunk()?;
            let is_fragment = u16::from_be_bytes([head[6], head[7]]) & 0x3fff != 0;
            if head[9] != UDP || is_fragment {
                return None;
            }
            let [a, b, c, d, e, f, g, h] = *head.last_chunk()?;
            let length = usize::from(head[0] & 15) * 4;
            ([a, b, c, d].into(), [e, f, g, h].into(), ip.get(length.max(20)..)?)
        }
        6 => {
            let (head, rest) = ip.split_at_checked(40)?;
            let address = |bytes: &[u8]| <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from);
            if head[6] != UDP {
                return None;
            }
            (address(&head[8..24])?, address(&head[24..])?, rest)
        }
        _ => return None,
    };
    let (head, payload) = rest.split_at_checked(8)?;
    let port = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    Some((SocketAddr::new(src, port(0)), SocketAddr::new(dst, port(2)), payload))
}
