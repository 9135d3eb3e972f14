//! Queue delay (section 4.2.1.4), and when its base is measured anew (section 4.5.1).

use std::time::Duration;

use airlane_base::Time;

use crate::base_delay::BaseDelay;

/// Weight of a higher delay in the average (QDELAY_AVG_G); a lower one takes its place.
const AVERAGE_GAIN: f64 = 0.25;

/// Weight of a round trip in the average of the least delays (QDELAY_MIN_AVG_ALPHA).
const MIN_AVERAGE_GAIN: f64 = 1.0 / 256.0;

/// Share of the target above which the average of the least delays says that the base is wrong.
const MAX_MIN_AVERAGE: f64 = 0.25;

/// Time for which the rate is halved while the base is measured anew: this or so many round trips.
const MIN_DRAIN_TIME: Duration = Duration::from_millis(200);
const DRAIN_ROUNDS: u32 = 5;

/// Delays of one path, seconds.
#[derive(Clone, Debug)]
pub(super) struct QueueDelay {
    base: BaseDelay,
    /// qdelay.
    latest: f64,
    /// qdelay_avg.
    average: f64,
    /// The average before its last update.
    average_before: f64,
    averaged_at: Option<Time>,
    /// The least delay of this round trip, and the average of those.
    min: f64,
    min_average: f64,
    round_at: Option<Time>,
    drain_end: Option<Time>,
}

impl Default for QueueDelay {
    fn default() -> Self {
        Self {
            base: BaseDelay::default(),
            latest: 0.0,
            average: 0.0,
            average_before: 0.0,
            averaged_at: None,
            min: f64::INFINITY,
            min_average: 0.0,
            round_at: None,
            drain_end: None,
        }
    }
}

impl QueueDelay {
    /// Takes a round trip. `rtt`: the smoothed one, `interval`: time between updates of the average,
    /// `target`: the target delay, seconds.
    pub fn update(
        &mut self,
        now: Time,
        latest: Duration,
        rtt: Duration,
        interval: Duration,
        target: f64,
    ) {
        let delay = latest.as_secs_f64();
        self.latest = delay - self.base.update(now, delay);
        self.min = self.min.min(self.latest);
        if self.averaged_at.is_none_or(|at| now.since(at) >= interval) {
            self.average_before = self.average;
            self.average =
                self.latest.min(self.average + AVERAGE_GAIN * (self.latest - self.average));
            self.averaged_at = Some(now);
        }
        if self.drain_end.is_some_and(|end| now >= end) {
            self.drain_end = None;
        }
        if self.round_at.is_none_or(|at| now.since(at) >= rtt) {
            self.round_at = Some(now);
            let min = std::mem::replace(&mut self.min, f64::INFINITY);
            self.min_average += MIN_AVERAGE_GAIN * (min - self.min_average);
            if self.min_average > MAX_MIN_AVERAGE * target {
                self.min_average = 0.0;
                self.base.reset();
                self.drain_end = Some(now + MIN_DRAIN_TIME.max(rtt.saturating_mul(DRAIN_ROUNDS)));
            }
        }
    }

    /// qdelay, seconds.
    pub fn latest(&self) -> f64 {
        self.latest
    }

    /// qdelay_avg, seconds.
    pub fn average(&self) -> f64 {
        self.average
    }

    /// Share of marks that the average stands for, from 0 at half of `target` to 1 at the target;
    /// `None` if it is below or falls.
    pub fn virtual_alpha(&self, target: f64) -> Option<f64> {
        let half = target / 2.0;
        let is_high = self.average > half && self.average >= self.average_before;
        is_high.then(|| ((self.average - half) / half).min(1.0))
    }

    /// True while the rate is halved so that the base can be measured.
    pub fn is_draining(&self) -> bool {
        self.drain_end.is_some()
    }
}
