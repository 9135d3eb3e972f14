//! The bridge between our time and the `Instant`s that str0m computes with.

use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime};

use airlane_base::Time;

use crate::calibration;

/// The instant of [`Time::ZERO`], in every world of this process.
///
/// str0m writes dates into its reports and computes round-trip times from their lower 32 bits, so
/// their roundings depend on the date at which a run began. Only those bits matter: this instant is
/// the next one after an hour from now at which they are zero, and every run begins there.
static ORIGIN: LazyLock<Instant> = LazyLock::new(|| {
    let (instant, date) = calibration::measure(now() + HEADROOM);
    instant + until_round(date)
});

/// str0m's own beginning of time is up to an hour before its first use.
const HEADROOM: Duration = Duration::from_secs(3600);

/// Seconds from 1900, where dates on the wire begin, to 1970.
const SECS_1900_TO_1970: u64 = 2_208_988_800;

/// Seconds after which the middle 32 bits of a date come again.
const ROUND_SECS: u64 = 1 << 16;

/// Time until seconds since 1900 are a multiple of [`ROUND_SECS`].
fn until_round(date: SystemTime) -> Duration {
    let since_1970 = date.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let in_round = Duration::new(
        (since_1970.as_secs() + SECS_1900_TO_1970) % ROUND_SECS,
        since_1970.subsec_nanos(),
    );
    Duration::from_secs(ROUND_SECS) - in_round
}

#[expect(clippy::disallowed_methods, reason = "std has no other way to make an Instant")]
fn now() -> Instant {
    Instant::now()
}

/// Maps [`Time`] to `Instant` and back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin: Instant,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self { origin: *ORIGIN }
    }

    /// A clock whose zero is `origin`, for the measurement that finds the right one.
    pub(crate) fn at(origin: Instant) -> Self {
        Self { origin }
    }

    pub(crate) fn instant(self, t: Time) -> Instant {
        self.origin + t.since_start()
    }

    /// The instant `d` before `t`, which may lie before the start of the world.
    pub(crate) fn instant_before(self, t: Time, d: Duration) -> Instant {
        self.instant(t) - d
    }

    pub(crate) fn time(self, i: Instant) -> Time {
        Time::ZERO + i.saturating_duration_since(self.origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_survive_the_way_to_instants_and_back() {
        let clock = Clock::new();
        for t in [Time::ZERO, Time::from_nanos(1), Time::from_millis(3_600_001)] {
            assert_eq!(clock.time(clock.instant(t)), t);
        }
    }

    #[test]
    fn the_wait_for_a_round_date_ends_at_one() {
        for nanos in [0, 1, 1_790_000_000_123_456_789_u64] {
            let date = SystemTime::UNIX_EPOCH + Duration::from_nanos(nanos);
            let then = date + until_round(date);
            let since = then.duration_since(SystemTime::UNIX_EPOCH).unwrap();
            assert_eq!(since.subsec_nanos(), 0);
            assert_eq!((since.as_secs() + SECS_1900_TO_1970) % ROUND_SECS, 0);
        }
    }

    #[test]
    fn a_second_measurement_finds_the_same_origin() {
        let (instant, date) = calibration::measure(*ORIGIN);
        let since = date.duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let elapsed = instant - *ORIGIN;
        assert_eq!(since.subsec_nanos(), elapsed.subsec_nanos());
        assert_eq!((since.as_secs() + SECS_1900_TO_1970) % ROUND_SECS, elapsed.as_secs());
    }
}
