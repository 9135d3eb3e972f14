//! Octopus: whole messages of real-time streams are dropped as their application says. The rules are
//! those of the crate `octopus`; here they meet packets.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use airlane_base::{DropReason, Packet, Seed, Time, folded};
use airlane_octopus::{Header, Options, Queue as Messages, Reason};

use super::pdu_sets;
use crate::node::{Dequeued, Dropped, Queue};
use crate::queue::Capacity;

/// Extensions of the Octopus paper's rules of dropping; none by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OctopusConfig {
    /// [`Options::slack`].
    pub slack: bool,
    /// [`Options::headless`].
    pub headless: bool,
    /// [`Options::per_packet`].
    pub per_packet: bool,
    /// Identifier of the RTP header extension by which PDU Sets are marked; `None`: it is not looked for.
    pub pdu_set_id: Option<u8>,
    /// Time that a PDU Set waits before it is dropped for a newer one, at most 511 ms.
    pub pdu_set_slack: Duration,
}

/// Streams that a queue tells apart at once.
const STREAMS: usize = 1_024;

/// A FIFO that drops messages. Packets without a header of Octopus, or a mark of a PDU Set where that is looked for,
/// are dropped where they do not fit, and otherwise never.
#[derive(Debug)]
pub struct Octopus {
    messages: Messages<Box<Packet>>,
    flows: Flows,
    config: OctopusConfig,
}

impl Octopus {
    /// An empty queue, whose table of streams nobody can fill on purpose who does not know `seed`.
    pub fn new(config: OctopusConfig, capacity: Capacity, seed: Seed) -> Self {
        let unlimited = airlane_octopus::Capacity { packets: usize::MAX, ip_bytes: u64::MAX };
        let capacity = match capacity {
            Capacity::Packets(packets) => airlane_octopus::Capacity { packets, ..unlimited },
            Capacity::Bytes(ip_bytes) => airlane_octopus::Capacity { ip_bytes, ..unlimited },
            Capacity::Unlimited => unlimited,
        };
        let OctopusConfig { headless, per_packet, .. } = config;
        let slack = config.slack || !config.pdu_set_slack.is_zero();
        let options = Options { streams: STREAMS, slack, headless, per_packet, seed };
        Self { messages: Messages::new(capacity, options), flows: Flows::new(seed), config }
    }

    /// The number of a packet's stream, and its place in a message if it has one.
    fn message(&self, packet: &Packet) -> (u64, Option<Header>) {
        let Some((flow, payload)) = self.flows.of(packet) else { return (0, None) };
        if let Ok(mut header) = Header::decode(payload) {
            if !self.config.slack {
                header.marking.slack_ms = 0;
            }
            return (flow, Some(header));
        }
        let Some(id) = self.config.pdu_set_id else { return (flow, None) };
        match pdu_sets::message(flow, payload, id, self.config.pdu_set_slack) {
            Some((flow, header)) => (flow, Some(header)),
            None => (flow, None),
        }
    }

    /// The next packet, if one waits that is not dropped.
    #[inline(never)]
    fn next(&mut self, now: Time, drops: &mut Vec<Dropped>) -> Dequeued {
        self.messages.dequeue(now, |d| note(d, drops)).into()
    }
}

impl Queue for Octopus {
    fn enqueue(&mut self, now: Time, packet: Box<Packet>, drops: &mut Vec<Dropped>) {
        let (flow, header) = self.message(&packet);
        let bytes = packet.ip_bytes();
        let dropped = |d| note(d, drops);
        self.messages.enqueue(now, flow, header.as_ref(), bytes, packet, dropped);
    }

    fn dequeue(&mut self, now: Time, drops: &mut Vec<Dropped>) -> Dequeued {
        // A link that is not full asks after every packet whether there is another: that there is
        // none should cost nothing.
        if self.messages.is_empty() {
            return Dequeued::Empty;
        }
        self.next(now, drops)
    }

    fn len(&self) -> usize {
        self.messages.len()
    }

    fn bytes(&self) -> u64 {
        self.messages.ip_bytes()
    }

    fn name(&self) -> &'static str {
        "octopus"
    }
}

#[inline(never)]
fn note(dropped: airlane_octopus::Dropped<Box<Packet>>, drops: &mut Vec<Dropped>) {
    let reason = match dropped.reason {
        Reason::Newer => DropReason::Newer,
        Reason::Bitrate => DropReason::Bitrate,
        Reason::Headless => DropReason::Headless,
        Reason::Overflow => DropReason::Overflow,
    };
    drops.push(Dropped { packet: dropped.packet, reason });
}

/// Tells connections apart by numbers that nobody can make alike on purpose who does not know its seed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flows {
    seeds: (u64, u64),
}

impl Flows {
    pub(super) fn new(seed: Seed) -> Self {
        Self { seeds: (seed.split("addresses").0, seed.split("ports").0) }
    }

    /// The number of a packet's connection, and its UDP payload; `None` of an IP packet that is not a
    /// whole datagram.
    // Otherwise a call for every packet, which a release build left in place.
    #[inline(always)]
    pub(super) fn of<'a>(&self, packet: &'a Packet) -> Option<(u64, &'a [u8])> {
        if packet.header_bytes > 0 {
            return Some((self.number(&packet.src, &packet.dst), &packet.payload));
        }
        let (src, dst, payload) = datagram(&packet.payload)?;
        Some((self.number(&src, &dst), payload))
    }

    #[inline(always)]
    fn number(&self, src: &SocketAddr, dst: &SocketAddr) -> u64 {
        let (SocketAddr::V4(a), SocketAddr::V4(b)) = (src, dst) else {
            return self.number_of_long(*src, *dst);
        };
        let addresses = u64::from(a.ip().to_bits()) << 32 | u64::from(b.ip().to_bits());
        self.mixed(addresses, a.port(), b.port())
    }

    /// That of a connection of which at least one address is of IPv6.
    #[inline(never)]
    fn number_of_long(&self, src: SocketAddr, dst: SocketAddr) -> u64 {
        let addresses = self.short(src.ip()) ^ self.short(dst.ip()).rotate_left(32);
        self.mixed(addresses, src.port(), dst.port())
    }

    #[inline]
    fn mixed(&self, addresses: u64, src: u16, dst: u16) -> u64 {
        let ports = u64::from(src) << 16 | u64::from(dst);
        folded(addresses ^ self.seeds.0, ports ^ self.seeds.1)
    }

    /// An address of either kind in 64 bits.
    fn short(&self, address: IpAddr) -> u64 {
        let bits = match address {
            IpAddr::V4(ip) => ip.to_ipv6_mapped().to_bits(),
            IpAddr::V6(ip) => ip.to_bits(),
        };
        folded(bits as u64 ^ self.seeds.0, (bits >> 64) as u64 ^ self.seeds.1)
    }
}

/// Source, destination and UDP payload of an IP packet; `None` if it is not a whole datagram.
#[inline(never)]
fn datagram(ip: &[u8]) -> Option<(SocketAddr, SocketAddr, &[u8])> {
    const UDP: u8 = 17;
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn connections_have_numbers_of_their_own() {
        let flows = Flows::new(Seed(7));
        let other = Flows::new(Seed(8));
        let mut numbers = BTreeSet::new();
        let addresses = ["10.0.0.1", "10.0.0.2", "2001:db8::1", "2001:db8::2", "2001:db8:0:1::1"];
        let ends = addresses.map(|ip| ip.parse::<IpAddr>().unwrap());
        for (src, dst) in ends.iter().flat_map(|src| ends.iter().map(move |dst| (*src, *dst))) {
            for port in 1..200 {
                let (src, dst) = (SocketAddr::new(src, 443), SocketAddr::new(dst, port));
                assert!(numbers.insert(flows.number(&src, &dst)), "{src} {dst}");
                assert_ne!(flows.number(&src, &dst), other.number(&src, &dst));
            }
        }
    }
}
