//! The gaps between frames, and how access categories contend.

use serde::Serialize;
use std::time::Duration;

/// The band that a channel is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Band {
    /// 2.4 GHz.
    Ghz2,
    /// 5 or 6 GHz.
    Ghz5,
}

/// The gaps of a band (802.11-2020, tables 17-21, 18-5 and 19-25).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Between a frame and its response.
    pub sifs: Duration,
    /// Slot of the backoff.
    pub slot: Duration,
    /// Time from a frame until a preamble behind it is noticed: how much longer than SIFS and
    /// a slot one waits for a response.
    pub detection: Duration,
}

impl Timing {
    /// The gaps of a band. At 2.4 GHz with the short slot; its SIFS of 10 us is counted with the silence of
    /// 6 us that ends each OFDM frame there.
    pub const fn of(_band: Band) -> Self {
        Self {
            sifs: Duration::from_micros(16),
            slot: Duration::from_micros(9),
            detection: Duration::from_micros(20),
        }
    }

    /// AIFS of a category: SIFS and its slots.
    pub fn aifs(&self, access: &Access) -> Duration {
        self.sifs + self.slot * u32::from(access.aifsn)
    }
}

/// EDCA parameters: how an access category contends (802.11-2020, table 9-155). The limits of transmit
/// opportunities are those that access points ship with, which were the standard's until 2012; since 2016 it
/// has 2.080 ms for voice, 4.096 for video, and some for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Access {
    /// Slots of silence, behind SIFS, before the backoff goes on.
    pub aifsn: u8,
    /// The first contention window: slots are drawn from 0 to this.
    pub cw_min: u16,
    /// The last.
    pub cw_max: u16,
    /// The longest transmit opportunity; zero is one exchange.
    pub txop: Duration,
}

impl Access {
    /// Voice.
    pub const VOICE: Self = Self::new(2, 3, 7, 1_504);
    /// Video.
    pub const VIDEO: Self = Self::new(2, 7, 15, 3_008);
    /// Best effort.
    pub const BEST_EFFORT: Self = Self::new(3, 15, 1_023, 0);
    /// Background.
    pub const BACKGROUND: Self = Self::new(7, 15, 1_023, 0);
    /// The distributed coordination function of before 802.11e.
    pub const DCF: Self = Self::new(2, 15, 1_023, 0);

    const fn new(aifsn: u8, cw_min: u16, cw_max: u16, txop_us: u64) -> Self {
        Self { aifsn, cw_min, cw_max, txop: Duration::from_micros(txop_us) }
    }
}
