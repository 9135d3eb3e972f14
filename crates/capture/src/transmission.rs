//! A transmission, as a capture knows it.

use airlane_base::Time;
use airlane_wifi::Heard;

/// A transmission, and how it came to be known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// What was heard.
    pub heard: Heard,
    /// How exactly its time is known.
    pub timing: Precision,
    /// Interface of the capture that heard it: 0 where there is one.
    pub interface: u32,
    /// Whether the capture does not say at which rate it was sent: the lowest is taken then.
    pub is_rate_assumed: bool,
    /// Frames of it that came damaged. They are not among those heard; their air is counted.
    pub damaged: u16,
    /// How strong it was, dBm.
    pub signal_dbm: Option<i8>,
}

/// How exactly times are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precision {
    /// To the nanosecond: Airlane wrote it.
    Exact,
    /// To some microseconds: by the receiver's clock.
    Receiver,
    /// To some milliseconds: by the clock of the machine that captured.
    Machine,
}

impl Transmission {
    /// Of a record that is known exactly.
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

    /// When it ended.
    pub fn end(&self) -> Time {
        self.heard.at + self.heard.duration
    }
}
