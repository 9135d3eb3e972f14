//! Options of a session that sends, and what is refused.

use airlane_octopus::{Capacity, HeaderError, Options};

use crate::wire::CONTROL_STREAM;

/// Options of a session that sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendOptions {
    /// Capacity of the buffer for what waits until window and pacer let it leave.
    pub buffer: Capacity,
    /// Options by which the buffer drops messages. A session has all its streams in it.
    pub dropping: Options,
}

impl Default for SendOptions {
    /// 4096 packets, 4 MiB.
    fn default() -> Self {
        Self {
            buffer: Capacity { packets: 4096, ip_bytes: 4 << 20 },
            dropping: Options { streams: 16, ..Options::default() },
        }
    }
}

/// Error of a message that cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The stream is the protocol's own.
    #[error("found stream {CONTROL_STREAM}; expected one below")]
    Stream,
    /// It has no bytes, or too many.
    #[error("found a message of {found} bytes; expected 1 to {most}")]
    Size {
        /// Its bytes.
        found: usize,
        /// The most that may be.
        most: usize,
    },
    /// Its marking does not fit the header.
    #[error(transparent)]
    Marking(#[from] HeaderError),
}
