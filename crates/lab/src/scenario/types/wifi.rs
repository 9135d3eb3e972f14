//! A WiFi: an access point, and stations on its channel.

use std::time::Duration;

use airlane_net::air::{Protection, SchedulerKind};
use airlane_wifi::{Format, Guard, Width};

use super::Link;

/// An access point of 802.11 and its stations. What its link carries is the air; the queues of the link
/// are those of each station, at the access point and at the station.
#[derive(Clone, Debug, PartialEq)]
pub struct Wifi {
    /// Queues.
    pub link: Link,
    /// Format of data frames.
    pub format: Format,
    /// Width of the channel.
    pub width: Width,
    /// Spatial streams at most.
    pub streams: u8,
    /// Guard interval.
    pub guard: Guard,
    /// Frames in a block-ack window.
    pub window: usize,
    /// The longest PPDU.
    pub most_air: Duration,
    /// The longest A-MSDU, bytes; 0: none.
    pub most_amsdu: u32,
    /// Attempts for a frame after the first.
    pub retries: u8,
    /// RTS and CTS.
    pub protection: Protection,
    /// Whether frames are sealed.
    pub is_sealed: bool,
    /// Whether DSCP chooses the category.
    pub has_categories: bool,
    /// Which station is served next.
    pub scheduler: SchedulerKind,
    /// Packets at most in all queues of the access point; `None`: each has its own limit alone.
    pub pool_packets: Option<usize>,
    /// A host on the access itself.
    pub station: Station,
}

/// A station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Station {
    /// SNR between it and its access point, dB.
    pub snr_db: f64,
    /// SNR between it and other stations, dB.
    pub others_db: f64,
    /// The MCS and the streams, both ways. `None`: the best for the SNR.
    pub mcs: Option<(u8, u8)>,
}
