//! What a channel, an access point and a station are.

use std::time::Duration;

use airlane_wifi::{Band, Format, Guard, Vector, Width};

use crate::queue::{Capacity, QueueSpec};

/// A channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChannelConfig {
    /// Its band.
    pub band: Band,
    /// A radio takes the channel for busy above this power, dBm, where it can make out the preamble.
    pub sense_dbm: f64,
    /// And above this where it cannot.
    pub energy_dbm: f64,
    /// By how much a later PPDU has to be stronger than that which is being received to be received in
    /// its stead, dB.
    pub capture_db: f64,
    /// Noise figure of the receivers, dB.
    pub noise_figure_db: f64,
}

impl Default for ChannelConfig {
    /// 5 GHz, with the thresholds of the standard (802.11-2020, 17.3.10.6) and common values.
    fn default() -> Self {
        Self {
            band: Band::Ghz5,
            sense_dbm: -82.0,
            energy_dbm: -62.0,
            capture_db: 10.0,
            noise_figure_db: 7.0,
        }
    }
}

/// Which exchanges begin with RTS and CTS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// None.
    Never,
    /// Those with a PSDU of at least so many bytes.
    From(u32),
}

/// How the MCS is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateControl {
    /// Always this MCS and so many streams.
    Fixed {
        /// The MCS.
        mcs: u8,
        /// Spatial streams.
        streams: u8,
    },
    /// The one with the highest expected rate at the receiver's SNR of the moment: an oracle's.
    Ideal,
}

/// Which station an access point serves next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SchedulerKind {
    /// One transmit opportunity after the other.
    RoundRobin,
    /// The same number of bytes for each (deficit round robin).
    PacketDeficit,
    /// The same airtime for each; that of frames from the station counts as well where `both`.
    AirtimeDeficit {
        /// Count both directions.
        both: bool,
    },
    /// In the order in which packets came.
    Fifo,
    /// Whoever has most bytes waiting.
    LongestQueue,
    /// Whoever has a full aggregate, or whose first packet has waited for so long.
    FullAggregate {
        /// The longest wait.
        hold: Duration,
    },
    /// Whoever would be served fastest.
    MaximumRate,
}

/// An access point and what holds in its network.
#[derive(Clone, Debug, PartialEq)]
pub struct ApConfig {
    /// Format of data frames.
    pub format: Format,
    /// Width of data frames.
    pub width: Width,
    /// Guard interval of data frames.
    pub guard: Guard,
    /// Spatial streams at most.
    pub streams: u8,
    /// Frames in a block-ack window, and in an aggregate: 1 to 256. One is no aggregation.
    pub window: usize,
    /// A PPDU is in the air for at most so long.
    pub most_air: Duration,
    /// IP packets are put together to MSDUs of at most so many bytes; 0 of one packet each.
    pub most_amsdu: u32,
    /// Attempts for a frame after the first.
    pub retries: u8,
    /// RTS and CTS.
    pub protection: Protection,
    /// Whether frames are sealed, which makes them longer.
    pub is_sealed: bool,
    /// Whether DSCP chooses the category; otherwise all is best effort.
    pub has_categories: bool,
    /// Which station is served next.
    pub scheduler: SchedulerKind,
    /// The queue of each station.
    pub queue: QueueSpec,
    /// All queues of the access point together hold at most so much.
    pub pool: Capacity,
    /// How the MCS is chosen, both ways.
    pub rate_control: RateControl,
}

impl ApConfig {
    /// How data is sent at an MCS.
    pub fn vector(&self, mcs: u8, streams: u8) -> Vector {
        let (format, width, guard) = (self.format, self.width, self.guard);
        Vector { format, mcs, streams, width, guard }
    }
}

/// A station.
#[derive(Clone, Debug, PartialEq)]
pub struct StationConfig {
    /// SNR of what the access point sends over the whole width at the station, and the other way, dB.
    pub snr_db: f64,
    /// The station sends with so much more power than the access point; less where negative, dB.
    pub up_db: f64,
    /// SNR between it and other stations, dB.
    pub others_db: f64,
    /// Its queue.
    pub queue: QueueSpec,
    /// How the MCS is chosen from and to it, in place of the access point's way.
    pub rate_control: Option<RateControl>,
}
