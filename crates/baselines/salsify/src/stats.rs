//! What a sender counts.

use std::sync::Arc;
use std::time::Duration;

use airlane_base::Time;
use parking_lot::Mutex;

/// UDP payload bytes and datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Datagrams.
    pub packets: u64,
    /// Their UDP payload, bytes.
    pub bytes: u64,
}

/// Statistics of a sender.
#[derive(Clone, Debug, Default)]
pub struct SenderReport {
    /// The budget of each frame that was asked for, bytes, and when.
    pub budgets: Vec<(Time, usize)>,
    /// The round-trip time of the packet that was acknowledged last.
    pub rtt: Option<Duration>,
    /// Packets of frames.
    pub media: Count,
    /// Heartbeats and padding.
    pub other: Count,
    /// Frames sent.
    pub frames: u64,
    /// Frames sent that stand alone.
    pub key_frames: u64,
    /// Frames sent that build on an acknowledged one because of loss.
    pub cautious_frames: u64,
    /// Frames that were not sent: the source had none that fitted.
    pub skipped: u64,
    /// Packets that were found lost.
    pub lost_packets: u64,
    /// Times that nothing came back for so long that what was in flight was given up.
    pub silences: u64,
}

/// A sender's report while it sends.
#[derive(Clone, Debug, Default)]
pub struct SenderStats(Arc<Mutex<SenderReport>>);

impl SenderStats {
    /// The report as of now.
    pub fn read(&self) -> SenderReport {
        self.0.lock().clone()
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut SenderReport)) {
        change(&mut self.0.lock());
    }
}
