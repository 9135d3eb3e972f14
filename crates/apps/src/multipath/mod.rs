//! One stream of bytes in each direction over several paths, with FBDT (`airlane_fbdt`).
//!
//! A path is a QUIC connection, with congestion control of its own. The end that opens the stream
//! has the radios: it connects from each of them, and again when a connection ends. The other end
//! accepts connections and joins those of one stream by its id, a random number of 128 bits that
//! only the two ends know.
//!
//! ```text
//! application --write--> fbdt::Sender --next(path)--> lane of the path ====> fbdt::Receiver --read-->
//!                             ^------------- acknowledgements on every path's control stream <--'
//! ```
//!
//! On a connection each direction has a **lane** for segments, which is a long stream made of many
//! (`lane.rs`), and both share a **control stream**, so that no acknowledgement waits behind data.
//! `docs/wire/multipath.md` has what is on them.

mod acceptor;
mod control;
mod dialer;
mod error;
mod hello;
mod lane;
mod path;
mod shared;
mod stream;
pub mod transfer;

pub use acceptor::serve;
pub use dialer::{Dial, open};
pub use error::MultipathError;
pub use hello::{Hello, StreamId};
pub use shared::{PathCounts, StreamCounts};
pub use stream::MultipathStream;

use airlane_fbdt::Config;
use airlane_quic::TransportConfig;

/// Bytes that lie in a connection beyond its congestion window: enough to fill the pauses between
/// two turns of the task that writes, and no more, since no other path can take them.
const UNSENT_BYTES: u64 = 64 << 10;
/// Streams of a connection at once: of each direction's lane those that are not read yet, and the
/// control stream.
const MAX_STREAMS: u32 = 64;

/// What one end offers.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Sizes, as the end that opens the stream wants them; the other takes the smaller memory.
    pub config: Config,
    /// Bytes at most that the application has written and that have not arrived.
    pub send_memory: u64,
}

impl Default for Settings {
    fn default() -> Self {
        let config = Config::default();
        Self { send_memory: config.receive_memory, config }
    }
}

/// `config` with the windows and streams that a path needs at either end.
pub fn path_transport(config: TransportConfig) -> TransportConfig {
    TransportConfig {
        unsent_bytes: Some(UNSENT_BYTES),
        max_streams: MAX_STREAMS,
        // What is ahead of the reader is bounded by the stream's own memory.
        receive_window_bytes: 48 << 20,
        ..config
    }
}
