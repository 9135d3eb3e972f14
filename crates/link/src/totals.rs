//! What a link counted since its start.

use std::time::Duration;

use airlane_base::{DropReason, Histogram, Time};
use airlane_net::{Direction, LinkStats};

/// Reason for which a packet that the link took did not come out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// One of the laboratory's: queue full, chosen by its discipline, lost on the way; also
    /// `unreachable` (nobody there to send it to) and `too_large` (larger than the machine's
    /// network carries).
    Link(DropReason),
    /// The packets on the way would have occupied too much memory.
    Memory,
    /// The link let it go, but the machine would not send it.
    Unsent,
}

impl Reason {
    /// Number of reasons.
    pub const COUNT: usize = DropReason::ALL.len() + 2;

    /// All reasons, in the order of their indices.
    pub fn all() -> impl Iterator<Item = Self> {
        DropReason::ALL.into_iter().map(Self::Link).chain([Self::Memory, Self::Unsent])
    }

    /// Position in [`Reason::all`].
    pub const fn index(self) -> usize {
        match self {
            Self::Link(reason) => reason.index(),
            Self::Memory => DropReason::ALL.len(),
            Self::Unsent => DropReason::ALL.len() + 1,
        }
    }

    /// The name in figures.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Link(reason) => reason.name(),
            Self::Memory => "memory",
            Self::Unsent => "unsent",
        }
    }
}

/// Packets and IP bytes that were dropped, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops([(u64, u64); Reason::COUNT]);

impl Drops {
    /// Packets and IP bytes dropped for a reason.
    pub fn of(&self, reason: Reason) -> (u64, u64) {
        self.0[reason.index()]
    }

    /// Packets and IP bytes dropped for whatever reason.
    pub fn total(&self) -> (u64, u64) {
        self.0.iter().fold((0, 0), |(p, b), (dp, db)| (p + dp, b + db))
    }

    /// Adds packets and bytes.
    pub(crate) fn add(&mut self, reason: Reason, (packets, bytes): (u64, u64)) {
        let entry = &mut self.0[reason.index()];
        *entry = (entry.0 + packets, entry.1 + bytes);
    }

    /// Packets dropped after `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        let mut later = *self;
        for (entry, old) in later.0.iter_mut().zip(&earlier.0) {
            *entry = (entry.0 - old.0, entry.1 - old.1);
        }
        later
    }
}

/// Totals of one direction since the start. At any time
/// `received == delivered + dropped + held`, in packets and in bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct WayTotals {
    /// Packets and IP bytes that arrived at the link.
    pub received: (u64, u64),
    /// Packets and IP bytes that were sent on.
    pub delivered: (u64, u64),
    /// Dropped packets, by reason.
    pub dropped: Drops,
    /// Packets and IP bytes on the way.
    pub held: (u64, u64),
    /// Of these, packets and IP bytes in the queue or being served.
    pub in_link: (u64, u64),
    /// Packets that the machine dropped before the link could read them, because it was late or
    /// the buffer of a socket or device full: not part of `received`.
    pub missed: u64,
    /// Measurements of the link itself: utilisation, queue, sojourn.
    pub link: LinkStats,
    /// Delays between the time at which packets were due and the time at which they were handed to
    /// the machine.
    pub lateness: Histogram,
}

/// Clients of the UDP forwarder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientTotals {
    /// Known now.
    pub now: usize,
    /// Seen since the start; who comes back after being forgotten counts again.
    pub seen: u64,
    /// Forgotten because another came and the table was full.
    pub evicted: u64,
    /// Forgotten because nothing was heard of them.
    pub expired: u64,
}

/// Totals of a link since its start. The difference of two is an interval:
/// [`Figures`](crate::Figures).
#[derive(Clone, Debug, PartialEq)]
pub struct Totals {
    /// Until when, by the link's clock.
    pub at: Time,
    /// From the clients to the target.
    pub up: WayTotals,
    /// Back.
    pub down: WayTotals,
    /// Clients; none between devices.
    pub clients: ClientTotals,
    /// Processor time that the link's thread has used.
    pub cpu: Duration,
    /// True if the link's thread runs with a real-time priority.
    pub realtime: bool,
}

impl Totals {
    /// Totals of `direction`.
    pub fn way(&self, direction: Direction) -> &WayTotals {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }

    /// One direction, to be completed.
    pub(crate) fn way_mut(&mut self, direction: Direction) -> &mut WayTotals {
        match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        }
    }
}
