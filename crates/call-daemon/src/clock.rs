//! Times of the runtime as the instants that str0m computes with.

use std::time::Instant;

use airlane_base::Time;

/// Conversion between the runtime's time and instants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// Instant of [`Time::ZERO`].
    origin: Instant,
}

impl Clock {
    /// A clock of a runtime whose time is `now`.
    #[expect(clippy::disallowed_methods, reason = "std has no other way to make an Instant")]
    pub(crate) fn new(now: Time) -> Self {
        let instant = Instant::now();
        Self { origin: instant.checked_sub(now.since_start()).unwrap_or(instant) }
    }

    pub(crate) fn instant(self, time: Time) -> Instant {
        self.origin + time.since_start()
    }

    pub(crate) fn time(self, instant: Instant) -> Time {
        Time::ZERO + instant.saturating_duration_since(self.origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_survives_the_way_to_an_instant_and_back() {
        let clock = Clock::new(Time::from_millis(7));
        for time in [Time::ZERO, Time::from_nanos(1), Time::from_millis(3_600_001)] {
            assert_eq!(clock.time(clock.instant(time)), time);
        }
    }
}
