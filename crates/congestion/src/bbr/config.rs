//! Options of BBR version 1.

use std::time::Duration;

use serde::Serialize;

/// Windows and a gain of [`Bbr`](super::Bbr). The default is the draft's, with Octopus's gain after drops.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BbrConfig {
    /// Life of a minimum round-trip time (section 4.1.2.3). At its end ProbeRTT holds the flight at four packets
    /// for 200 ms.
    pub rtprop_window: Duration,
    /// Least time that the bandwidth filter looks back, however many of its ten rounds that is
    /// (section 4.1.1.3).
    pub min_bandwidth_window: Duration,
    /// Least pacing gain for five seconds after the network dropped a packet on purpose; 0 leaves the gains of
    /// the draft.
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
