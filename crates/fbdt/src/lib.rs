#![doc = include_str!("../README.md")]
//!
//! ## Model
//!
//! - A **path** is any reliable, ordered stream of bytes between the two ends: a TCP connection or
//!   a QUIC stream per radio, each with congestion control of its own.
//! - The stream is cut into **windows** of numbered **segments**. Of two paths one takes a window's
//!   segments from the first on (forward), the other from the last on (backward). Where they meet
//!   depends on their rates alone, so nobody has to estimate these to split the data well. More
//!   than two paths face each other in pairs.
//! - A path that finds nothing left in a window goes on with the next. If, one round trip of the
//!   other path after they met, segments of that path have not arrived, it sends them **again**. So
//!   a path that stalls holds nothing up for longer than that.
//! - **Acknowledgements** are sent on every path and tell of all of them. A window's memory is
//!   released when all of it has arrived.
//! - Paths may differ in how gladly they are used ([`Preference`]): a dear one only while cheaper ones
//!   do not keep up, a backup only while nothing else is left.
//!
//! ## Data flow
//!
//! ```text
//! application --push--> Sender --next(path)--> frames on that path --> Receiver --read--> application
//!                         ^------------------- on_ack <-- ack() on every path ------'
//! ```
//!
//! [`Sender`] and [`Receiver`] do no I/O and know no clock: time is an argument. [`wire`] has the
//! frames.
//!
//! ## Invariants
//!
//! - A byte is delivered once and in order, whatever paths do and in whatever order they do it.
//! - Neither end holds more than the memory that was agreed on; a peer that sends more is refused.
//! - A path sends a segment once at most, unless the path that took it first has ended.

mod memory;
mod options;
mod path;
mod preference;
mod receiver;
mod reliability;
mod sender;
mod window;
pub mod wire;

pub use options::{Options, Redundancy};
pub use path::Preference;
pub use receiver::{Receiver, ReceiverError};
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

/// Parameters that must be the same at sender and receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Bytes of a segment, but for a window's last; above 0.
    pub segment_bytes: u32,
    /// Bytes of a window at most. The paper's is 1 MB (section 3.2).
    pub window_bytes: u32,
    /// Bytes of the stream that the receiver holds for the application at most, from the first that
    /// it has not taken on. Its tables of windows come on top: they have places for no more segments
    /// than these bytes and one window are cut into, and one more for each window.
    pub receive_memory: u64,
}

impl Config {
    /// Number of segments that windows have which a sender may have begun and the application at the
    /// other end has not taken whole.
    ///
    /// All begin behind the first such window's first byte, and a sender is at most
    /// [`Self::receive_memory`] ahead of what was taken of it. Each may end with a short segment.
    pub(crate) fn max_slots(&self) -> u64 {
        let bytes = self.receive_memory.saturating_add(self.window_bytes.into());
        bytes / u64::from(self.segment_bytes) + wire::MAX_WINDOWS as u64
    }
}

impl Default for Config {
    fn default() -> Self {
        Self { segment_bytes: 4096, window_bytes: 1 << 20, receive_memory: 6 << 20 }
    }
}
