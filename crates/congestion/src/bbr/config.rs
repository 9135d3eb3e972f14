//! Options of BBR version 1.

use std::time::Duration;

use serde::Serialize;

/// Options of [`Bbr`](super::Bbr). The windows' defaults are the draft's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BbrConfig {
    /// Lifetime of the minimum round-trip time (section 4.1.2.3). When it expires, ProbeRTT holds the flight at four packets
    /// for 200 ms.
    pub rtprop_window: Duration,
    /// Minimum length of the bandwidth filter's window, which has at least ten rounds (section 4.1.1.3).
    pub min_bandwidth_window: Duration,
    /// Minimum pacing gain for five seconds after the network dropped a packet on purpose; 0 keeps the draft's
    /// gains.
    pub drop_pacing_gain: f64,
}

impl Default for BbrConfig {
    fn default() -> Self {
        Self {
            rtprop_window: Duration::from_secs(10),
            min_bandwidth_window: Duration::ZERO,
            drop_pacing_gain: super::CWND_GAIN,
        }
    }
}
