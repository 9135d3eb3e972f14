//! From the clock of what was heard to that of the machine.
//!
//! Records have a receiver's clock, of which nothing is known but that it runs at about the same speed. Those
//! that came with the least delay of late tell how far it is ahead.

use std::time::Duration;

use airlane_base::Time;

/// The least is of this time, or up to twice of it: by then clocks have drifted by less than a millisecond.
const SPAN: Duration = Duration::from_secs(10);

/// Difference between two clocks.
#[derive(Debug, Default)]
pub(super) struct Shift {
    /// The least of now, in nanoseconds, since when; and the least of the time before.
    least: Option<(i128, Time)>,
    before: Option<i128>,
}

impl Shift {
    /// Something ended at `end`, on its clock, and came at `now`.
    pub(super) fn on_record(&mut self, end: Time, now: Time) {
        let apart = i128::from(now.as_nanos()) - i128::from(end.as_nanos());
        self.least = match self.least {
            Some((least, since)) if now.since(since) < SPAN => Some((least.min(apart), since)),
            old => {
                self.before = old.map(|(least, _)| least);
                Some((apart, now))
            }
        };
    }

    /// A time on the clock of what was heard as one of the machine's.
    pub(super) fn here(&self, time: Time) -> Time {
        let least = self.least.map_or(0, |(least, _)| least);
        let shift = self.before.map_or(least, |before| before.min(least));
        let here = i128::from(time.as_nanos()) + shift;
        Time::from_nanos(u64::try_from(here.max(0)).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_delay_tells_how_far_clocks_are_apart() {
        let ms = Time::from_millis;
        let mut shift = Shift::default();
        // The other clock is 5 s ahead; delays are 3, 1 and 9 ms.
        for (end, now, here) in
            [(6_000, 1_003, 1_003), (6_010, 1_011, 1_011), (6_020, 1_029, 1_021)]
        {
            shift.on_record(ms(end), ms(now));
            assert_eq!(shift.here(ms(end)), ms(here));
        }
        // A clock that was set is followed within twice the span.
        for s in 2..30 {
            shift.on_record(ms(1_000 * s), ms(1_000 * s + 2));
        }
        shift.on_record(ms(30_000), ms(30_004));
        assert_eq!(shift.here(ms(30_000)), ms(30_002));
    }
}
