//! Bitrate of media that follows a congestion controller.

use airlane_base::Rate;
use airlane_quic::ControlStats;

/// Settings of a bitrate that follows a controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateConfig {
    /// Share of the bytes of IP packets that is media: the rest is headers and acknowledgements.
    pub media_share: f64,
    /// Bytes that wait from which on the bitrate is halved.
    pub max_pending_bytes: u64,
}

impl Default for RateConfig {
    /// 18 000 bytes, as in the authors' code of Plum.
    fn default() -> Self {
        Self { media_share: 0.93, max_pending_bytes: 18_000 }
    }
}

/// Bandwidth that a controller estimates, in IP bytes. Of one that estimates none it is the window over the
/// smoothed round trip (Plum, section VI).
pub fn estimate(stats: &ControlStats) -> Option<Rate> {
    let payload = match stats.bandwidth {
        Some(rate) => rate,
        None => Rate::of(stats.window, stats.rtt?.smoothed),
    };
    // A full packet of 1350 bytes has 28 bytes of headers around it.
    (payload > Rate::ZERO).then(|| payload.scale(1378.0 / 1350.0))
}

impl RateConfig {
    /// Bitrate of media in the Natural state, `pending` bytes of which wait.
    pub fn natural(&self, estimate: Rate, pending: u64) -> Rate {
        let factor = if pending > self.max_pending_bytes { 0.5 } else { 1.0 };
        estimate.scale(self.media_share * factor)
    }

    /// Bitrate of media where IP packets may take `rate`.
    pub fn media(&self, rate: Rate) -> Rate {
        rate.scale(self.media_share)
    }
}
