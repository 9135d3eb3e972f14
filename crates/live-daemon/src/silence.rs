//! How long a sender has been silent.

use std::time::Duration;

use airlane_base::Time;

/// Time between two looks.
pub(super) const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// Of the time from one look to the next, so much counts at most: in a process that was stopped, or on
/// a machine that slept, nobody could hear anything.
const MAX_STEP: Duration = Duration::from_millis(500);

/// A sender's silence, in the time in which this end could have heard it. Pure.
#[derive(Debug)]
pub(super) struct Silence {
    heard_at: Time,
    looked_at: Time,
    lasts: Duration,
}

impl Silence {
    /// It was heard just now.
    pub(super) fn new(now: Time) -> Self {
        Self { heard_at: now, looked_at: now, lasts: Duration::ZERO }
    }

    /// Duration of the silence at `now`, if the peer was heard last at `heard_at`.
    pub(super) fn look(&mut self, now: Time, heard_at: Time) -> Duration {
        let step = now.since(self.looked_at).min(MAX_STEP);
        self.looked_at = now;
        if heard_at > self.heard_at {
            self.heard_at = heard_at;
            self.lasts = now.since(heard_at).min(step);
        } else {
            self.lasts += step;
        }
        self.lasts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    #[test]
    fn silence_grows_until_something_is_heard() {
        let mut silence = Silence::new(at(0));
        for ms in 1..=20 {
            assert_eq!(silence.look(at(ms * 100), at(0)), Duration::from_millis(ms * 100));
        }
        assert_eq!(silence.look(at(2_100), at(2_070)), Duration::from_millis(30));
        assert_eq!(silence.look(at(2_200), at(2_070)), Duration::from_millis(130));
    }

    #[test]
    fn time_in_which_nobody_listened_does_not_count() {
        let mut silence = Silence::new(at(0));
        silence.look(at(100), at(0));
        assert_eq!(silence.look(at(40_000), at(0)), Duration::from_millis(600));
    }
}
