//! The configuration of a session's streams and of its connections.

use airlane_fbdt::Options as FbdtOptions;
use airlane_quic::TransportConfig;

use crate::engine::Scheme;

/// Bytes that lie in a connection beyond its congestion window: enough to fill the pauses between
/// two turns of the task that writes, and no more, since no other path can take them.
const UNSENT_BYTES: u64 = 64 << 10;
/// Streams of a connection at once: of each direction's data stream those that are not read yet, and the
/// control stream.
const MAX_STREAMS: u32 = 256;

/// The scheme and the sizes of a session's streams, as one end wants them. The end that accepts a
/// stream lowers sizes to its own.
#[derive(Clone, Debug)]
pub struct StreamConfig {
    /// Scheme by which paths share the stream; the same at both ends.
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
    /// Configuration of the tunnel's streams: section 3.2 of FBDT's paper, and small messages on
    /// all paths.
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

/// `config` with the windows and streams that a path needs at either end.
pub fn path_transport(mut config: TransportConfig) -> TransportConfig {
    config.flow.unsent_bytes = Some(UNSENT_BYTES);
    config.flow.max_streams = MAX_STREAMS;
    // What is ahead of the reader is bounded by the stream's own memory.
    config.flow.receive_window_bytes = 48 << 20;
    // An interface may have a second connection beside one that fell silent.
    config.packets.empty_client_ids = false;
    config
}
