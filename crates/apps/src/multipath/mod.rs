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

mod control;
mod engine;
mod error;
mod lane;
mod shared;
mod stream;
mod terms;
pub mod transfer;
pub mod trunk;

pub use engine::SentCounts;
pub use error::MultipathError;
pub use shared::{PathCounts, StreamCounts};
pub use stream::MultipathStream;
pub use terms::{Protocol, Terms};

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

/// The scheme and the sizes of a session's streams, as one end wants them. The end that accepts a
/// stream lowers sizes to its own.
#[derive(Clone, Copy, Debug)]
pub struct StreamConfig {
    /// Which path sends what; the same at both ends.
    pub scheme: Scheme,
    /// Payload of a segment, bytes: what a stream can hold a channel up for.
    pub max_segment_bytes: u32,
    /// Length of an FBDT window, bytes. A stream whose memory is a share of the session's has at least
    /// four windows of memory.
    pub max_window_bytes: u32,
    /// Memory of each stream in each direction, bytes. `None`: a share of what the session has left.
    pub memory: Option<u64>,
}

impl Default for StreamConfig {
    /// What the tunnel runs with: section 3.2 of FBDT's paper, and small messages on all paths.
    fn default() -> Self {
        let fbdt = FbdtOptions { copied_bytes: 2 << 10, ..FbdtOptions::default() };
        Self {
            scheme: Scheme::Fbdt(fbdt),
            max_segment_bytes: 16 << 10,
            max_window_bytes: 1 << 20,
            memory: None,
        }
    }
}

impl Scheme {
    /// Bytes under way up to which a stream uses the express channel: a keystroke then waits for no
    /// bulk transfer. MPTCP has one connection on each path.
    fn max_express_bytes(&self) -> u64 {
        match self {
            Self::Fbdt(_) => 4 << 10,
            Self::Mptcp(_) => 0,
        }
    }

    /// The frames of its streams.
    fn protocol(&self) -> Protocol {
        match self {
            Self::Fbdt(_) => Protocol::Fbdt,
            Self::Mptcp(_) => Protocol::Mptcp,
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
