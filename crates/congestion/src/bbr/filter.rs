//! The windowed filters of BBR's model of the path.

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::{Rate, Time};

/// The largest rate of the last rounds (`BtlBwFilter`), exact.
#[derive(Clone, Debug, Default)]
pub(super) struct MaxRate {
    /// Rounds rising, rates falling: the front is the maximum.
    samples: VecDeque<(u64, Rate)>,
}

impl MaxRate {
    /// Adds a sample of `round` and forgets what is `window` rounds old.
    pub fn update(&mut self, round: u64, rate: Rate, window: u64) {
        while self.samples.back().is_some_and(|&(_, r)| r <= rate) {
            self.samples.pop_back();
        }
        self.samples.push_back((round, rate));
        while self.samples.front().is_some_and(|&(r, _)| r.saturating_add(window) <= round) {
            self.samples.pop_front();
        }
    }

    /// The maximum, zero before a sample.
    pub fn get(&self) -> Rate {
        self.samples.front().map_or(Rate::ZERO, |&(_, rate)| rate)
    }
}

/// The least round-trip time of the last seconds (`RTprop`).
#[derive(Clone, Copy, Debug)]
pub(super) struct MinRtt {
    value: Option<Duration>,
    stamp: Time,
}

impl MinRtt {
    pub fn new(now: Time) -> Self {
        Self { value: None, stamp: now }
    }

    /// Adds a sample; returns whether the old minimum had outlived `window`.
    pub fn update(&mut self, now: Time, rtt: Duration, window: Duration) -> bool {
        let expired = now - self.stamp > window;
        if expired || self.value.is_none_or(|v| rtt <= v) {
            self.value = Some(rtt);
            self.stamp = now;
        }
        expired
    }

    /// The minimum stands for another window from `now` on.
    pub fn renew(&mut self, now: Time) {
        self.stamp = now;
    }

    pub fn get(&self) -> Option<Duration> {
        self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_leaves_after_its_window() {
        let mut f = MaxRate::default();
        assert_eq!(f.get(), Rate::ZERO);
        f.update(0, Rate::from_mbps(9.0), 10);
        for round in 1..10 {
            f.update(round, Rate::from_mbps(5.0), 10);
            assert_eq!(f.get(), Rate::from_mbps(9.0));
        }
        f.update(10, Rate::from_mbps(4.0), 10);
        assert_eq!(f.get(), Rate::from_mbps(5.0));
    }

    #[test]
    fn the_minimum_is_replaced_when_it_is_old() {
        let (ms, window) = (Duration::from_millis, Duration::from_secs(10));
        let mut f = MinRtt::new(Time::ZERO);
        assert!(!f.update(Time::from_millis(1), ms(20), window));
        assert!(!f.update(Time::from_millis(2), ms(30), window));
        assert_eq!(f.get(), Some(ms(20)));
        assert!(f.update(Time::from_millis(10_002), ms(30), window));
        assert_eq!(f.get(), Some(ms(30)));
    }
}
