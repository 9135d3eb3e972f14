//! Bulk data as datagrams, each acknowledged by itself: a sender without end under any controller.
//!
//! A controller that reads the mark (ECN) of each packet, as ABC does, needs a transport that tells each:
//! QUIC acknowledges several at a time. Nothing is sent again: there is always newer data. A packet
//! counts as lost by RFC 9002, section 6.1, and where nothing comes back a probe leaves after that RFC's
//! time-out; long losses are no persistent congestion here.
//!
//! A datagram is `1`, its number (8 bytes, network byte order), data and the 16 bytes of a seal, zero;
//! an acknowledgement is `2`, the number, `1` if the packet came marked (ECN-CE) else `0`, and a seal.

mod roles;
mod sender;
mod wire;

use airlane_base::Time;
use airlane_congestion::Controller;

pub use roles::{receive, send};
pub use sender::{Handle, Sent};

/// Configuration of a sender.
pub struct Config {
    /// UDP payload of a packet, bytes.
    pub payload_bytes: u16,
    /// Congestion controller, which decides when packets leave.
    pub controller: Box<dyn Controller>,
    /// Packets leave with ECT(0): queues may mark them. Those of a controller that asks for each mark leave with ECT(1)
    /// in any case.
    pub ecn: bool,
}

/// Source of packets: it decides when they are there to be sent.
pub trait Source: Send {
    /// Time of the next packet; `None` if there will be none.
    fn due(&self) -> Option<Time>;
    /// It left.
    fn left(&mut self);
}

/// There is always another one.
#[derive(Clone, Copy, Debug)]
pub struct Backlog;

impl Source for Backlog {
    fn due(&self) -> Option<Time> {
        Some(Time::ZERO)
    }

    fn left(&mut self) {}
}
