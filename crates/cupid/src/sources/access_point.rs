//! Counts that an access point keeps of its stations.

use std::time::Duration;

use super::Reading;

/// Airtime of one station since the last look, as mac80211 counts it (`airtime` in debugfs, `tx duration`
/// and `rx duration` of `iw station dump`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StationAirtime {
    /// Airtime of frames to it.
    pub transmit: Duration,
    /// Airtime of frames from it.
    pub receive: Duration,
    /// True if the station sent or got a frame above 200 bytes in the last second.
    pub is_active: bool,
}

/// Reading of an access point's counts over `window`. Its own network alone is in them.
pub fn of_access_point(stations: &[StationAirtime], window: Duration) -> Reading {
    if window.is_zero() {
        return Reading::default();
    }
    let share = |station: &StationAirtime| {
        let time = station.transmit.saturating_add(station.receive);
        time.div_duration_f64(window).min(1.0)
    };
    let active = stations.iter().filter(|station| station.is_active);
    Reading {
        without_contention: Some(stations.iter().map(share).sum::<f64>().min(1.0)),
        stations: Some(u32::try_from(active.clone().count()).unwrap_or(u32::MAX)),
        shares: active.map(share).collect(),
    }
}
