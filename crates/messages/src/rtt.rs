//! Round-trip times (RFC 9002, section 5).

use std::time::Duration;

/// Maximum time that an acknowledgement waits for another packet.
pub(crate) const MAX_ACK_DELAY: Duration = Duration::from_millis(5);
/// The least that timers count with (`kGranularity`).
const GRANULARITY: Duration = Duration::from_millis(1);
/// Before there is a sample (`kInitialRtt`).
const INITIAL: Duration = Duration::from_millis(333);

/// An estimate from samples.
#[derive(Clone, Copy, Debug, Default)]
pub struct RttEstimate {
    known: Option<Known>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    latest: Duration,
    smoothed: Duration,
    variation: Duration,
    min: Duration,
}

impl RttEstimate {
    /// Adds a sample, of which the peer held the acknowledgement for `delay`.
    pub fn add(&mut self, latest: Duration, delay: Duration) {
        let Some(known) = &mut self.known else {
            let variation = latest / 2;
            self.known = Some(Known { latest, smoothed: latest, variation, min: latest });
            return;
        };
        known.latest = latest;
        known.min = known.min.min(latest);
        let delay = delay.min(MAX_ACK_DELAY);
        let adjusted = if latest >= known.min + delay { latest - delay } else { latest };
        known.variation = (3 * known.variation + known.smoothed.abs_diff(adjusted)) / 4;
        known.smoothed = (7 * known.smoothed + adjusted) / 8;
    }

    /// The smoothed round trip; before there is a sample, what is assumed.
    pub fn smoothed(&self) -> Duration {
        self.known.map_or(INITIAL, |known| known.smoothed)
    }

    /// Time by which a packet may be later than an acknowledged one before it counts as lost
    /// (section 6.1.2).
    pub fn loss_delay(&self) -> Duration {
        let latest = self.known.map_or(INITIAL, |known| known.latest);
        (9 * self.smoothed().max(latest) / 8).max(GRANULARITY)
    }

    /// Time that an acknowledgement may take before a probe is sent (section 6.2.1).
    pub fn probe_timeout(&self) -> Duration {
        let variation = self.known.map_or(INITIAL / 2, |known| known.variation);
        self.smoothed() + (4 * variation).max(GRANULARITY) + MAX_ACK_DELAY
    }
}
