//! What both ends are told.

use std::time::Duration;

use airlane_base::IP_UDP_HEADER_BYTES;

use crate::sprout::SproutConfig;
use crate::stats::SenderStats;
use crate::wire::{DATA_HEADER_BYTES, TAG_BYTES};

/// Estimator of the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Estimator {
    /// By Salsify's mean gap between packets.
    Own,
    /// By Sprout's forecast.
    Sprout(SproutConfig),
}

/// Quantity that is adapted to the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The size of frames: one that does not fit is never sent.
    #[default]
    Quality,
    /// Their rate alone, at sizes that are what they are (Salsify* of the Octopus paper): one that
    /// does not fit is not sent, unless nothing is in flight. Otherwise a frame of more than the path
    /// carries in the allowed delay would never be.
    FrameRate,
}

/// Parameters of a call. Both ends get the same.
#[derive(Clone, Debug)]
pub struct Config {
    /// Estimator of the path.
    pub estimator: Estimator,
    /// Quantity that is adapted.
    pub mode: Mode,
    /// IP bytes of a full packet.
    pub packet_bytes: usize,
    /// Longest time that a packet may be on its way: what is in flight is what the path carries in
    /// it. For Salsify's own estimator; Sprout's is [`SproutConfig::ahead`].
    pub delay: Duration,
    /// The gap that is assumed before there is an estimate, by either estimator.
    pub start_gap: Duration,
    /// Time after a loss for which only acknowledged frames are references.
    pub cautious: Duration,
    /// True if padding is sent where the source has nothing that fits and nothing is in flight, so that
    /// the estimate can rise. A source that forces frames needs none.
    pub padding: bool,
    /// Statistics that the sender counts in.
    pub stats: SenderStats,
}

impl Config {
    /// The published parameters.
    pub fn new(estimator: Estimator) -> Self {
        Self {
            estimator,
            mode: Mode::default(),
            packet_bytes: 1_400,
            delay: Duration::from_millis(100),
            start_gap: Duration::from_millis(10),
            cautious: Duration::from_secs(5),
            padding: true,
            stats: SenderStats::default(),
        }
    }

    /// Bytes of a frame in a full packet.
    pub(crate) fn fragment_bytes(&self) -> usize {
        let around = usize::from(IP_UDP_HEADER_BYTES) + DATA_HEADER_BYTES + TAG_BYTES;
        // Packets of other sizes than these do not exist.
        self.packet_bytes.clamp(around + 64, 65_535) - around
    }

    /// UDP payload bytes of a full packet.
    pub(crate) fn payload_bytes(&self) -> usize {
        self.fragment_bytes() + DATA_HEADER_BYTES + TAG_BYTES
    }
}
