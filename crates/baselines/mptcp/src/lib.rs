//! What MPTCP does above its subflows, as a rival for FBDT: one stream of bytes over several paths,
//! with the schedulers of Linux and of the papers. `docs/design/mptcp.md` says from which source
//! each part is, and what is left out.
//!
//! # Model
//!
//! - A **path** is any reliable, ordered stream of bytes between the two ends, with congestion
//!   control of its own: a subflow. A TCP connection or a QUIC stream per radio.
//! - The stream is cut into **segments**, named by the data sequence number (DSN) of their first
//!   byte, when a path takes them.
//! - A **scheduler** says which path takes the next segment. It knows of each path what a kernel
//!   knows of a TCP connection ([`PathState`]); the driver keeps that current.
//! - The **window** of the receiver and the memory of the sender are shared by all paths. A segment
//!   that is late on one path blocks what came on others.
//! - **Reinjection** sends a segment again on another path: after its path ended or fell silent,
//!   when nothing was acknowledged for a timeout, or when it alone holds the window up.
//!
//! # Data flow
//!
//! ```text
//! application --push--> Sender --chosen, next(path)--> frames on that path --> Receiver --read--> application
//!                       ^  ^-- update(path, state)                                 |
//!                       '------------------------- on_ack <-- ack() on every path -'
//! ```
//!
//! [`Sender`] and [`Receiver`] do no I/O and know no clock: time is an argument. [`wire`] has the
//! frames. [`MptcpEngines`] has them in the place of FBDT in a multipath session.
//!
//! # Invariants
//!
//! - A byte is delivered once and in order, whatever paths do and in whatever order they do it.
//! - Nothing is sent beyond the window; a peer that does so is refused.
//! - A path sends a segment once at most.

mod engine;
mod flight;
mod kernel_memory;
mod path;
mod receiver;
mod recovery;
mod scheduler;
mod sender;
pub mod wire;

pub use engine::MptcpEngines;
pub use kernel_memory::KERNEL_PACKET_BYTES;
pub use path::PathState;
pub use receiver::{Receiver, ReceiverError};
pub use scheduler::SchedulerKind;
pub use sender::{AckError, Sender, SenderCounts};

/// Paths of a stream at most.
pub const MAX_PATHS: usize = 16;

/// A path of a stream, by the number that its end of the stream gave it. Numbers of paths that
/// ended are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(pub(crate) usize);

impl PathId {
    /// Its number, below [`MAX_PATHS`].
    pub fn index(self) -> usize {
        self.0
    }
}

/// Parameters that both ends agree on before they begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Bytes of a segment at most; above 0.
    pub segment_bytes: u32,
    /// Bytes of the stream that the receiver holds for the application at most, from the first that
    /// it has not taken on. Its tables come on top.
    pub receive_memory: u64,
}

impl Default for Config {
    /// Segments as FBDT has them, so that both pay the same for headers and decide as often. A
    /// kernel decides for up to 64 KiB, and hands over 1448 bytes to 64 KiB at once.
    fn default() -> Self {
        Self { segment_bytes: 4096, receive_memory: 6 << 20 }
    }
}

/// Parameters that a sender decides by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Scheduler that assigns segments to paths.
    pub scheduler: SchedulerKind,
    /// True if the first segment is sent again on a path that is much faster than its own, when it
    /// alone holds the window up.
    pub retransmits_early: bool,
    /// True if a path that holds the window up is then held to half of what it has on its way.
    pub penalises: bool,
    /// Bytes that the kernel reckons for each packet of a subflow's window, where the scheduler is Linux's.
    pub kernel_packet_bytes: u64,
}

impl Options {
    /// A scheduler as its authors run it.
    pub fn of(scheduler: SchedulerKind) -> Self {
        let (retransmits_early, penalises) = match scheduler {
            SchedulerKind::MinRtt | SchedulerKind::Ecf => (true, true),
            // Instead of punishing a slow path BLEST does not use it in vain.
            SchedulerKind::Blest => (true, false),
            SchedulerKind::Linux
            | SchedulerKind::Linux518
            | SchedulerKind::RoundRobin
            | SchedulerKind::Redundant
            | SchedulerKind::Musher => (false, false),
        };
        Self { scheduler, retransmits_early, penalises, kernel_packet_bytes: KERNEL_PACKET_BYTES }
    }
}
