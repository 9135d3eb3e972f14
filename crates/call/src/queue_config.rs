//! Bounds of queues of frames, and by which rules they drop.

use std::time::Duration;

/// Rules by which frames of video are dropped that wait in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dropping {
    /// Those that waited too long, with all that need them.
    #[default]
    Age,
    /// Also those that newer ones make worthless, as in a queue of Octopus.
    Octopus,
}

/// Bounds of a [`FrameQueue`](crate::FrameQueue).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueConfig {
    /// Time that a frame of video may wait.
    pub max_wait: Duration,
    /// Bytes of memory that frames which wait take; by Octopus's rules screens and cameras have as many each.
    pub max_bytes: u64,
    /// Rules by which frames of video are dropped.
    pub dropping: Dropping,
}

impl Default for QueueConfig {
    fn default() -> Self {
        let dropping = Dropping::default();
        Self { max_wait: Duration::from_millis(500), max_bytes: 4 << 20, dropping }
    }
}
