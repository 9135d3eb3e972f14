//! Target bitrate of the media (section 4.4), and the rate at which it arrives (section 4.5.3).

use std::time::Duration;

use airlane_base::Time;

/// Reference window over round trip, per target bitrate.
const HEADROOM: f64 = 1.2;

/// Headers that a packet takes, bytes (PACKET_OVERHEAD).
const PACKET_OVERHEAD_BYTES: f64 = 20.0;

/// The rate is scaled down by up to so much where packets are more than [`SMALL_WINDOW`] of the
/// reference window.
const MAX_SMALL_WINDOW_CUT: f64 = 0.2;
const SMALL_WINDOW: f64 = 0.1;

/// Share of the rate kept while the base delay is measured.
const DRAIN_FACTOR: f64 = 0.5;

/// Shortest time over which the rate of arrival is measured: two frames of 20 ms.
const MIN_ACKED_INTERVAL: Duration = Duration::from_millis(40);

/// Share of the rate of arrival below which the target is low (ACKED_BITRATE_MARGIN).
const LOW_TARGET: f64 = 0.8;

/// Target bitrate for a reference window of `window` bytes, bit/s.
pub(super) fn target_bps(window: f64, mss: f64, rtt: Duration, is_draining: bool) -> f64 {
    let packet_share = (mss / window).min(1.0);
    let small_window = 1.0 - (packet_share - SMALL_WINDOW).clamp(0.0, MAX_SMALL_WINDOW_CUT);
    let overhead = mss / (mss + PACKET_OVERHEAD_BYTES);
    let drain = if is_draining { DRAIN_FACTOR } else { 1.0 };
    drain * small_window * overhead / HEADROOM * 8.0 * window / rtt.as_secs_f64()
}

/// Rate of the media that has arrived.
///
/// It counts no more than the target that held when its measurement began. A flow that always has
/// data sends as fast as the pacer lets it, above the target at all times, and would else take each
/// target for a low one.
#[derive(Clone, Debug, Default)]
pub(super) struct AckedRate {
    bps: f64,
    bytes: f64,
    /// Start of the measurement, and the target of then.
    since: Option<Time>,
    target_bps: f64,
}

impl AckedRate {
    /// Counts acknowledged bytes. `target_bps` is the target now.
    pub fn update(&mut self, now: Time, bytes: f64, rtt: Duration, target_bps: f64) {
        self.bytes += bytes;
        let elapsed = self.since.map(|at| now.since(at));
        if elapsed.is_some_and(|elapsed| elapsed < rtt.max(MIN_ACKED_INTERVAL)) {
            return;
        }
        if let Some(elapsed) = elapsed {
            self.bps = (self.bytes * 8.0 / elapsed.as_secs_f64()).min(self.target_bps);
        }
        (self.bytes, self.since, self.target_bps) = (0.0, Some(now), target_bps);
    }

    /// True if a target is well below what arrives.
    pub fn is_above(&self, target_bps: f64) -> bool {
        target_bps < LOW_TARGET * self.bps
    }
}
