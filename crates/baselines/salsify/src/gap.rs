//! Salsify's own estimator: the mean time between arrivals (NSDI 2018, section 3.2).

use std::time::Duration;

use airlane_base::Time;

/// Weight of a new gap in the mean.
const ALPHA: f64 = 0.1;

/// The mean gap between packets at the receiver.
#[derive(Clone, Debug)]
pub(crate) struct Gap {
    /// The longest gap that counts.
    most: Duration,
    last: Option<Time>,
    mean: Option<f64>,
}

impl Gap {
    /// A longer gap than `most` is an outage: how long it lasted says nothing about the rate after it.
    pub(crate) fn new(most: Duration) -> Self {
        Self { most, last: None, mean: None }
    }

    /// A packet came, which the sender sent `pause` after the one before because it had nothing to
    /// send. That is not the path's doing, and is left out of the gap.
    ///
    /// What is left after a pause is about zero on a path that works, however slow it is: a sender of
    /// small frames would take it for infinitely fast. So it counts only if it is longer than the mean.
    pub(crate) fn arrived(&mut self, now: Time, pause: Duration) {
        let Some(last) = self.last.replace(now) else { return };
        let gap = now.since(last).saturating_sub(pause).min(self.most).as_secs_f64();
        if !pause.is_zero() && gap <= self.mean.unwrap_or(f64::INFINITY) {
            return;
        }
        self.mean = Some(self.mean.map_or(gap, |mean| ALPHA * gap + (1.0 - ALPHA) * mean));
    }

    /// The mean; `None` before there are two packets.
    pub(crate) fn mean(&self) -> Option<Duration> {
        self.mean.map(Duration::from_secs_f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_mean_follows_gaps() {
        let mut gap = Gap::new(100 * MS);
        let mut now = Time::ZERO;
        gap.arrived(now, Duration::ZERO);
        assert_eq!(gap.mean(), None);
        now += 10 * MS;
        gap.arrived(now, Duration::ZERO);
        assert_eq!(gap.mean(), Some(10 * MS));
        now += 20 * MS;
        gap.arrived(now, Duration::ZERO);
        assert_eq!(gap.mean(), Some(11 * MS));
        for _ in 0..100 {
            now += 2 * MS;
            gap.arrived(now, Duration::ZERO);
        }
        assert!(gap.mean().unwrap() < Duration::from_micros(2_001));
    }

    #[test]
    fn pauses_count_for_nothing_and_outages_for_little() {
        let mut gap = Gap::new(100 * MS);
        let mut now = Time::ZERO;
        for _ in 0..3 {
            now += 2 * MS;
            gap.arrived(now, Duration::ZERO);
        }
        // On an empty path, behind a queue, and late by less than a gap.
        for (after, pause) in [(30, 30), (2, 30), (31, 30)] {
            now += after * MS;
            gap.arrived(now, pause * MS);
            assert_eq!(gap.mean(), Some(2 * MS));
        }
        // Late by much.
        now += 42 * MS;
        gap.arrived(now, 30 * MS);
        assert_eq!(gap.mean(), Some(3 * MS));
        now += 60_000 * MS;
        gap.arrived(now, Duration::ZERO);
        assert_eq!(gap.mean(), Some(Duration::from_micros(12_700)));
    }
}
