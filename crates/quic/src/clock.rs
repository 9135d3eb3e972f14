//! The bridge between our time and the `Instant`s that noq computes with.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use airlane_base::Time;

/// Maps [`Time`] to `Instant` and back, by one base that is taken when the endpoint is made.
///
/// Only differences of instants matter to noq, so the base may be any: [`Clock::new`] takes a
/// shift by which a test of determinism moves it.
#[derive(Debug)]
pub(crate) struct Clock {
    base: Instant,
    /// Nanoseconds of the time that the runtime told last.
    last: AtomicU64,
}

/// noq subtracts durations from instants; the base is this far from the clock's own origin.
const HEADROOM: Duration = Duration::from_secs(3600);

impl Clock {
    #[expect(
        clippy::disallowed_methods,
        reason = "std has no other way to make an Instant; its value cancels out"
    )]
    pub(crate) fn new(shift: Duration) -> Self {
        Self { base: Instant::now() + HEADROOM + shift, last: AtomicU64::new(0) }
    }

    pub(crate) fn instant(&self, t: Time) -> Instant {
        self.base + t.since_start()
    }

    pub(crate) fn time(&self, i: Instant) -> Time {
        Time::ZERO + i.saturating_duration_since(self.base)
    }

    /// The same as [`Clock::time`]; `known` is an instant whose time is known, and then this one.
    pub(crate) fn time_again(&self, i: Instant, known: &mut (Instant, Time)) -> Time {
        if known.0 != i {
            *known = (i, self.time(i));
        }
        known.1
    }

    /// Keeps `now` for [`Clock::last`].
    pub(crate) fn tell(&self, now: Time) -> Instant {
        self.last.store(now.as_nanos(), Ordering::Relaxed);
        self.instant(now)
    }

    /// The time that the runtime told last. A connection's driver asks for the time at the start
    /// of each of its runs, so within a run this is the run's time.
    pub(crate) fn last(&self) -> Time {
        Time::from_nanos(self.last.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_survive_the_way_to_instants_and_back_whatever_the_shift() {
        for shift in [Duration::ZERO, Duration::from_nanos(1), Duration::from_secs(86_400)] {
            let clock = Clock::new(shift);
            for t in [Time::ZERO, Time::from_nanos(1), Time::from_millis(3_600_001)] {
                assert_eq!(clock.time(clock.instant(t)), t);
            }
        }
    }
}
