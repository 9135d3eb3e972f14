//! The least round-trip time in BBR's model of the path.

use std::time::Duration;

use airlane_base::Time;

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
