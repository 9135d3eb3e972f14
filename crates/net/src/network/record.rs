//! Events of packets for observers, and the packet hash over all of them.

use std::net::SocketAddr;

use airlane_base::{DropReason, Fnv64, Packet, Time};

use super::{HostId, NodeId};
use crate::node::Port;

/// Place in a network: a host or a port of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hop {
    /// At a host: where packets start and end.
    Host(HostId),
    /// At a port of a node.
    Node(NodeId, Port),
}

impl Hop {
    /// A number of its own for each hop of a network with fewer than 2^20 nodes of at most 2^11
    /// ports, for hashes and tables.
    #[inline]
    pub const fn code(self) -> u32 {
        match self {
            Self::Host(h) => h.0 | 1 << 31,
            Self::Node(n, port) => n.0 ^ (port.0 as u32) << 20,
        }
    }
}

/// Event of a packet at a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its host sent it.
    Sent,
    /// It arrived at a node (which may drop it in the same instant).
    Entered,
    /// It left a node.
    Left,
    /// It was dropped.
    Dropped(DropReason),
    /// It reached its host.
    Delivered,
}

impl Fate {
    /// A number of its own for each fate, for hashes.
    #[inline]
    pub const fn code(self) -> u8 {
        match self {
            Self::Sent => 1,
            Self::Entered => 2,
            Self::Left => 3,
            Self::Delivered => 4,
            Self::Dropped(reason) => 16 + reason as u8,
        }
    }
}

/// Something that happened to a packet.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Time of the event.
    pub at: Time,
    /// Place of the event.
    pub hop: Hop,
    /// Kind of the event.
    pub fate: Fate,
    /// The packet. A node that marks ECN has done so when the packet leaves it.
    pub packet: &'a Packet,
    /// Packets and IP bytes inside the node that came by this port, after the event (a link's
    /// include the packet in service); zero at hosts.
    pub held: (u64, u64),
}

/// Takes records of every hop of every packet, in the order of their happening.
pub trait Observer: Send {
    /// Takes one.
    fn record(&mut self, record: &Record<'_>);
}

/// A hash over every (time, hop, flow, addresses, size, ECN, fate): equal hashes mean that the
/// same packets took the same ways at the same times. Payloads and DSCPs do not enter.
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketHash(Fnv64);

impl PacketHash {
    /// Adds one event.
    #[inline]
    pub fn add(&mut self, at: Time, hop: Hop, fate: Fate, packet: &Packet) {
        let size = u64::from(packet.ip_bytes()) << 16;
        let ecn = (packet.ecn as u64) << 8;
        self.0.write_record([
            at.as_nanos(),
            u64::from(hop.code()) << 32 | u64::from(packet.flow.0),
            size | ecn | u64::from(fate.code()),
            address_word(&packet.src),
            address_word(&packet.dst),
        ]);
    }

    /// The hash of what was added.
    pub const fn finish(&self) -> u64 {
        self.0.finish()
    }
}

#[inline]
fn address_word(address: &SocketAddr) -> u64 {
    let port = u64::from(address.port());
    match address {
        SocketAddr::V4(a) => u64::from(a.ip().to_bits()) << 16 | port,
        SocketAddr::V6(a) => {
            let bits = a.ip().to_bits();
            ((bits >> 64) as u64).rotate_left(23) ^ bits as u64 ^ port << 48
        }
    }
}
