//! What travels over an emulated network, and why some of it does not arrive.

use std::fmt;
use std::net::SocketAddr;

use crate::time::Time;
use crate::traffic_class::{Dscp, Ecn, TrafficClass};

/// Bytes of an IPv4 and a UDP header: links and queues count IP bytes.
pub const IP_UDP_HEADER_BYTES: u8 = 28;

/// A flow as the laboratory numbers it. Both directions of a connection share a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FlowId(pub u32);

impl fmt::Display for FlowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Position of a packet on its route: its network's own note, which nodes pass on as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Progress {
    /// The route, by its number in the network.
    pub route: u32,
    /// The next step of it.
    pub step: u32,
}

/// A packet on its way: in the laboratory a UDP datagram, in a link between two machines also an IP
/// packet as it is. It changes hands a dozen times: networks pass it on boxed.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Number of the packet in its world, in the order of sending.
    pub id: u64,
    /// The flow it belongs to.
    pub flow: FlowId,
    /// Source address.
    pub src: SocketAddr,
    /// Destination address.
    pub dst: SocketAddr,
    /// Its ECN field, which queues may change.
    pub ecn: Ecn,
    /// Its DSCP, which nodes pass on as it is.
    pub dscp: Dscp,
    /// Time at which its sender handed it to the network.
    pub sent: Time,
    /// Time at which it entered the queue that it is in or was in last.
    pub enqueued: Time,
    /// Position on its route.
    pub progress: Progress,
    /// Bytes of headers on the wire that the payload does not include: [`IP_UDP_HEADER_BYTES`] if it is a
    /// UDP payload, 0 if it is a whole IP packet.
    pub header_bytes: u8,
    /// The UDP payload; of a packet without headers the packet itself.
    pub payload: Vec<u8>,
}

// Two cache lines: a field that costs another one slows every node down.
const _: () = assert!(size_of::<Packet>() <= 128);

impl Packet {
    /// Size on the wire in bytes: payload and headers.
    pub fn ip_bytes(&self) -> u32 {
        self.payload.len() as u32 + u32::from(self.header_bytes)
    }

    /// The octet of its IP header that holds DSCP and ECN.
    pub const fn traffic_class(&self) -> TrafficClass {
        TrafficClass { dscp: self.dscp, ecn: self.ecn }
    }
}

/// Reason for which a packet did not leave a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DropReason {
    /// The queue was full.
    Overflow = 1,
    /// An active queue management algorithm chose it.
    Aqm = 2,
    /// The link lost it, at random or in a handover.
    Loss = 3,
    /// No route, host or socket wanted it.
    Unreachable = 4,
    /// The packet is larger than the link carries.
    TooLarge = 5,
    /// Its message gave way to a newer one, as its application had said.
    Newer = 6,
    /// Its message asks for a higher rate than its stream is served with.
    Bitrate = 7,
    /// The first packet of its message never came.
    Headless = 8,
}

impl DropReason {
    /// All reasons, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Overflow,
        Self::Aqm,
        Self::Loss,
        Self::Unreachable,
        Self::TooLarge,
        Self::Newer,
        Self::Bitrate,
        Self::Headless,
    ];

    /// The name in tables and records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Overflow => "overflow",
            Self::Aqm => "aqm",
            Self::Loss => "loss",
            Self::Unreachable => "unreachable",
            Self::TooLarge => "too_large",
            Self::Newer => "newer",
            Self::Bitrate => "bitrate",
            Self::Headless => "headless",
        }
    }

    /// Position in [`DropReason::ALL`].
    pub const fn index(self) -> usize {
        self as usize - 1
    }
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
