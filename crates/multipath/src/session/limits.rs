//! The limits of an end of sessions, and what a stream may have within them.

use std::time::Duration;

use super::memory::MemoryPool;
use crate::config::StreamConfig;
use crate::terms::Terms;

/// Windows that a stream's memory holds at least, where that is a share of what there is.
const MIN_WINDOWS: u64 = 4;

/// The limits of an end: of all its sessions, and of each.
#[derive(Clone, Debug)]
pub struct SessionLimits {
    /// Sessions at once.
    pub max_sessions: usize,
    /// Subflows of a session at once.
    pub max_subflows_per_session: usize,
    /// Streams of a session.
    pub max_streams_per_session: usize,
    /// Streams of all sessions.
    pub max_streams: usize,
    /// Bytes that the streams of a session may hold in each direction together, beyond 256 KiB of each.
    pub max_memory_per_session: u64,
    /// Bytes that the streams of all sessions may hold in each direction together, beyond 256 KiB of
    /// each.
    pub max_memory: u64,
    /// Number of descriptors that the process may have open; `None`: as many as the system grants it.
    pub max_descriptors: Option<usize>,
    /// The streams that this end opens or accepts.
    pub stream: StreamConfig,
    /// Time in which a target is to be reached: its name, and the client's turn, included.
    pub reach_timeout: Duration,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            max_sessions: 256,
            max_subflows_per_session: 16,
            max_streams_per_session: 1024,
            max_streams: 4096,
            max_memory_per_session: 256 << 20,
            max_memory: 512 << 20,
            max_descriptors: None,
            stream: StreamConfig::default(),
            reach_timeout: Duration::from_secs(15),
        }
    }
}

/// Limits of one session.
pub(crate) struct StreamLimits {
    /// Memory and number of its streams.
    pub(crate) memory_pool: MemoryPool,
    pub(crate) max_subflows: usize,
    pub(crate) stream: StreamConfig,
}

impl StreamLimits {
    /// Those of one more session, of whose memory all take a part of `all`.
    pub(crate) fn of(all: &MemoryPool, bounds: &SessionLimits) -> Self {
        Self {
            memory_pool: all.part(bounds.max_streams_per_session, bounds.max_memory_per_session),
            max_subflows: bounds.max_subflows_per_session,
            stream: bounds.stream.clone(),
        }
    }
}

/// The terms that a stream with so much memory asks for.
pub(crate) fn terms(config: &StreamConfig, receive_memory: u64) -> Terms {
    let window_bytes = window(config, receive_memory);
    let segment_bytes = config.max_segment_bytes.min(window_bytes);
    Terms { protocol: config.scheme.protocol(), segment_bytes, window_bytes, receive_memory }
}

/// The length of a window that fits a memory, bytes.
pub(crate) fn window(config: &StreamConfig, receive_memory: u64) -> u32 {
    let windows = if config.memory.is_some() { 1 } else { MIN_WINDOWS };
    u32::try_from(receive_memory / windows).unwrap_or(u32::MAX).min(config.max_window_bytes)
}
