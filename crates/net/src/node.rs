//! What a network is made of: small nodes, each of which takes packets, holds them, lets them go.

use airlane_base::{DropReason, Packet, Time};

use crate::meter::LinkStats;

/// A packet that a node or queue gave up, and why.
#[derive(Debug)]
pub struct Dropped {
    /// The packet.
    pub packet: Box<Packet>,
    /// Reason for the drop.
    pub reason: DropReason,
}

/// Packets and bytes (IP) that went through a node. At any time
/// `pushed == polled + dropped + held`, in packets and in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Handed to the node: packets, IP bytes.
    pub pushed: (u64, u64),
    /// Let go by the node: packets, IP bytes.
    pub polled: (u64, u64),
    /// Dropped: packets, IP bytes, by [`DropReason::index`].
    pub dropped: [(u64, u64); DropReason::ALL.len()],
    /// Still inside: packets, IP bytes.
    pub held: (u64, u64),
}

impl Counters {
    /// All drops, whatever the reason: packets, IP bytes.
    pub fn dropped_total(&self) -> (u64, u64) {
        self.dropped.iter().fold((0, 0), |(p, b), &(dp, db)| (p + dp, b + db))
    }

    /// True if everything that came in went out, was dropped or is still there.
    pub fn conserves(&self) -> bool {
        let (packets, bytes) = self.dropped_total();
        self.pushed.0 == self.polled.0 + packets + self.held.0
            && self.pushed.1 == self.polled.1 + bytes + self.held.1
    }

    /// Counts one packet in.
    #[inline]
    pub fn count_push(&mut self, packet: &Packet) {
        self.pushed.0 += 1;
        self.pushed.1 += u64::from(packet.ip_bytes());
    }

    /// Counts one packet out.
    #[inline]
    pub fn count_poll(&mut self, packet: &Packet) {
        self.polled.0 += 1;
        self.polled.1 += u64::from(packet.ip_bytes());
    }

    /// Counts what was added to a list of drops.
    #[inline]
    pub fn count_drops(&mut self, drops: &[Dropped]) {
        for d in drops {
            let n = &mut self.dropped[d.reason.index()];
            n.0 += 1;
            n.1 += u64::from(d.packet.ip_bytes());
        }
    }
}

/// One of the ways through a node, numbered from 0.
///
/// A link has one. An element that several ways share, such as a medium that carries both
/// directions, has one port per way: a packet is pushed into a port and leaves through it, and a
/// route may cross the node once per port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub u16);

impl Port {
    /// The only port of a node that has one.
    pub const ONLY: Self = Self(0);
}

/// One element of a network. Pure: time is an argument and never goes back.
///
/// Drive contract: call [`push`](Self::push) at the time of arrival; then
/// [`poll`](Self::poll) until it returns `None`, and again at each
/// [`next_event`](Self::next_event). A `poll` at its `next_event` that returns `None` must move
/// `next_event` on.
pub trait Node: Send {
    /// Number of its ports.
    fn ports(&self) -> u16 {
        1
    }
    /// Takes a packet into a port at `now`. What it drops, of this port or another, goes into
    /// `drops`.
    fn push(&mut self, now: Time, port: Port, packet: Box<Packet>, drops: &mut Vec<Dropped>);
    /// Gives up the next packet that is due at or before `now`.
    fn poll(&mut self, now: Time, drops: &mut Vec<Dropped>) -> Option<Box<Packet>>;
    /// Time at which to poll next; `None` while nothing is pending.
    fn next_event(&self) -> Option<Time>;
    /// Counters of a port.
    fn counters(&self, port: Port) -> Counters;
    /// Statistics of a link for a port, from the start until `now`; `None` for nodes that are no
    /// links.
    fn link_stats(&self, port: Port, now: Time) -> Option<LinkStats> {
        let _ = (port, now);
        None
    }
}

/// Answer of a queue to its link, which asks for the next packet.
#[derive(Debug)]
pub enum Dequeued {
    /// The packet to serve.
    Packet(Box<Packet>),
    /// Nothing waits that will ever be served: the link asks again after the next
    /// [`Queue::enqueue`].
    Empty,
    /// Packets wait, and none may be served before this time, which lies after the call's `now`:
    /// the link asks again then, or after the next [`Queue::enqueue`].
    NotBefore(Time),
}

impl Dequeued {
    /// The packet, if there is one.
    pub fn packet(self) -> Option<Box<Packet>> {
        match self {
            Self::Packet(packet) => Some(packet),
            Self::Empty | Self::NotBefore(_) => None,
        }
    }
}

impl From<Option<Box<Packet>>> for Dequeued {
    fn from(packet: Option<Box<Packet>>) -> Self {
        packet.map_or(Self::Empty, Self::Packet)
    }
}

/// A queueing discipline: what waits in front of a link.
pub trait Queue: Send {
    /// Takes a packet at `now`, whose `enqueued` is `now`; what it drops (this one or another)
    /// goes into `drops`.
    fn enqueue(&mut self, now: Time, packet: Box<Packet>, drops: &mut Vec<Dropped>);
    /// The next packet to serve; what it drops on the way goes into `drops`.
    fn dequeue(&mut self, now: Time, drops: &mut Vec<Dropped>) -> Dequeued;
    /// True if it wants to be told what its link can carry: what the scheduler of a base station or
    /// of an access point knows of its own.
    fn follows_capacity(&self) -> bool {
        false
    }
    /// The link could have carried so many IP bytes from the start until `now`. Links call it before
    /// each [`dequeue`](Self::dequeue) of a queue that follows its capacity.
    fn capacity(&mut self, now: Time, bytes: f64) {
        let _ = (now, bytes);
    }
    /// Sets whether its link is a radio that sends slowly from now on: queues that judge delays
    /// allow for it.
    fn set_slow(&mut self, is_slow: bool) {
        let _ = is_slow;
    }
    /// Packets waiting.
    fn len(&self) -> usize;
    /// True if none waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// IP bytes waiting.
    fn bytes(&self) -> u64;
    /// The name in tables: `droptail`, `pie`, ...
    fn name(&self) -> &'static str;
}
