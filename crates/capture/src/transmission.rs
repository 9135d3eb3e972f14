//! A transmission of a capture.

use airlane_base::Time;
use airlane_wifi::{Heard, Precision};

/// A transmission of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// The transmission as it was heard.
    pub heard: Heard,
    /// Precision of its time.
    pub timing: Precision,
    /// Interface of the capture that heard it: 0 where there is one.
    pub interface: u32,
    /// True if the capture does not say at which rate it was sent: the lowest is taken then.
    pub is_rate_assumed: bool,
    /// Frames of it that came damaged. They are not among those heard; their air is counted.
    pub damaged: u16,
    /// Signal strength, dBm.
    pub signal_dbm: Option<i8>,
}

impl Transmission {
    /// A transmission that is known exactly.
    pub const fn exact(heard: Heard) -> Self {
        Self {
            heard,
            timing: Precision::Exact,
            interface: 0,
            is_rate_assumed: false,
            damaged: 0,
            signal_dbm: None,
        }
    }

    /// Time at which it ended.
    pub fn end(&self) -> Time {
        self.heard.at + self.heard.duration
    }
}
