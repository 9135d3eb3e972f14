//! One stream of bytes in each direction over several paths, with FBDT (`airlane_fbdt`) or, to
//! compare with, MPTCP's meta level (`airlane_mptcp`).
//!
//! A path is a QUIC connection, with congestion control of its own. The end that opens the stream
//! has the radios: it connects from each of them, and again when a connection ends. The other end
//! accepts connections and joins those of one stream by its id, a random number of 128 bits that
//! only the two ends know.
//!
//! ```text
//! application --write--> Halves --next(path)--> lane of the path ====> Halves --read--> application
//!                          ^-------- acknowledgements on every path's control stream <--'
//! ```
//!
//! On a connection each direction has a **lane** for segments, which is a long stream made of many
//! (`lane.rs`), and both share a **control stream**, so that no acknowledgement waits behind data.
//! `docs/wire/multipath.md` has what is on them.

mod acceptor;
mod control;
mod dialer;
mod error;
mod halves;
mod hello;
mod lane;
mod path;
mod shared;
mod stream;
pub mod transfer;
pub mod trunk;

pub use acceptor::serve;
pub use dialer::{Dial, open};
pub use error::MultipathError;
pub use halves::SentCounts;
pub use hello::{Hello, Protocol, StreamId, Terms};
pub use shared::{PathCounts, StreamCounts};
pub use stream::MultipathStream;

pub use airlane_fbdt::Options as FbdtOptions;
pub use airlane_mptcp::{Options as MptcpOptions, SchedulerKind};
use airlane_quic::TransportConfig;

/// Bytes that lie in a connection beyond its congestion window: enough to fill the pauses between
/// two turns of the task that writes, and no more, since no other path can take them.
const UNSENT_BYTES: u64 = 64 << 10;
/// Streams of a connection at once: of each direction's lane those that are not read yet, and the
/// control stream.
const MAX_STREAMS: u32 = 256;

/// Which path sends what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// FBDT, with the parts that it has.
    Fbdt(FbdtOptions),
    /// MPTCP, with a scheduler and its options.
    Mptcp(MptcpOptions),
}

/// What one end offers. Sizes are as the end that opens the stream wants them; the other takes the
/// smaller memory.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Which path sends what; the same at both ends.
    pub scheme: Scheme,
    /// Bytes of a segment at most.
    pub segment_bytes: u32,
    /// Bytes of an FBDT window at most.
    pub window_bytes: u32,
    /// Bytes at most that have come and were not read.
    pub receive_memory: u64,
    /// Bytes at most that the application has written and that have not arrived.
    pub send_memory: u64,
}

impl Default for Settings {
    fn default() -> Self {
        let airlane_fbdt::Config { segment_bytes, window_bytes, receive_memory } =
            airlane_fbdt::Config::default();
        Self {
            scheme: Scheme::Fbdt(FbdtOptions::default()),
            segment_bytes,
            window_bytes,
            receive_memory,
            send_memory: receive_memory,
        }
    }
}

/// `config` with the windows and streams that a path needs at either end.
pub fn path_transport(config: TransportConfig) -> TransportConfig {
    TransportConfig {
        unsent_bytes: Some(UNSENT_BYTES),
        max_streams: MAX_STREAMS,
        // A radio may have a second connection beside one that fell silent.
        empty_client_ids: false,
        // What is ahead of the reader is bounded by the stream's own memory.
        receive_window_bytes: 48 << 20,
        ..config
    }
}
