//! A WiFi: an access point, and stations on its channel.

use std::time::Duration;

use airlane_base::Rate;
use airlane_net::air::{
    ChannelConfig, Descriptors, InterfererConfig, Protection, RateControl, SchedulerKind, Signal,
};
use airlane_wifi::{Access as EdcaParams, Format, Guard, Position, Width};
use serde::Serialize;

use super::Link;

/// An access point of 802.11 and its stations. What its link carries is the air; the queues of the link
/// are those of each station, at the access point and at the station.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
    pub max_air: Duration,
    /// The longest A-MSDU, bytes; 0: none.
    pub max_amsdu: u32,
    /// Attempts for a frame after the first.
    pub retries: u8,
    /// RTS and CTS.
    pub protection: Protection,
    /// True if frames are encrypted.
    pub is_encrypted: bool,
    /// True if the DSCP chooses the access category.
    pub has_categories: bool,
    /// EDCA parameters of the access point's best effort frames, in place of the standard's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contention: Option<EdcaParams>,
    /// Rule that chooses the station to serve next.
    pub scheduler: SchedulerKind,
    /// Packets at most in all queues of the access point; `None`: each has its own limit alone.
    pub pool_packets: Option<usize>,
    /// Rule that chooses the MCS where a station does not fix it.
    pub rate_control: RateControl,
    /// The name of its channel, where it shares one with others.
    pub shares: Option<String>,
    /// Its channel.
    pub channel: ChannelConfig,
    /// Transmitters that are no 802.11.
    pub interferers: Vec<InterfererConfig>,
    /// CoDel allows more delay in front of stations with a rate below this.
    pub slow_below: Rate,
    /// Limit on the packets handed to the hardware.
    pub descriptors: Descriptors,
    /// True if it sends beacons.
    pub has_beacons: bool,
    /// Position of the access point.
    pub position: Option<Position>,
    /// Transmit power of the access point, dBm.
    pub power_dbm: f64,
    /// SNR between it and radios of other networks, dB.
    pub snr_to_others_db: f64,
    /// A host on the access itself.
    pub station: Station,
}

/// A station.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Station {
    /// Source of the SNR between it and its access point.
    pub signal: Signal,
    /// Transmit power beyond that of its access point, dB; negative if it is lower.
    pub up_db: f64,
    /// SNR between it and other stations, dB.
    pub snr_to_others_db: f64,
    /// It sleeps after so long without frames.
    pub power_save: Option<Duration>,
    /// EDCA parameters of its best effort frames, in place of the standard's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contention: Option<EdcaParams>,
    /// The MCS and the streams, both ways. `None`: as its access point says.
    pub mcs: Option<(u8, u8)>,
}
