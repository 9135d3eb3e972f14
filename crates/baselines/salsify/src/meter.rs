//! What Sprout observes: how many packets came in how much time in which there were any to come.
//!
//! Sprout leaves whole ticks out while the sender has said that nothing is to come (section 3.2.1 of
//! its paper). Frames are shorter than that: a tick that holds the end of one and a pause would look
//! like half the rate. So pauses are left out to the microsecond.

use std::time::Duration;

use airlane_base::Time;

/// Arrivals of one tick.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Observation {
    /// Full packets, in bytes of one.
    pub(crate) packets: f64,
    /// The part of the tick in which they came.
    pub(crate) exposed: Duration,
    /// Something came.
    pub(crate) alive: bool,
}

/// Counts what comes.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    seen: Observation,
    /// Time is accounted for until here.
    until: Time,
    /// Nothing is to come before.
    quiet: Time,
}

impl Meter {
    pub(crate) fn new(now: Time) -> Self {
        Self { seen: Observation::default(), until: now, quiet: now }
    }

    fn expose(&mut self, now: Time) {
        self.seen.exposed += now.since(self.until.max(self.quiet));
        self.until = self.until.max(now);
    }

    /// A packet came, of `part` of a full one, `pause` after which there was nothing; after it there
    /// will be nothing for `next`.
    ///
    /// The first packet after a pause does not count: the time between it and the one before is not
    /// the link's. On a busy link the pause is over before it was to be.
    pub(crate) fn arrived(&mut self, now: Time, part: f64, pause: Duration, next: Duration) {
        self.expose(now);
        self.seen.alive = true;
        if pause.is_zero() {
            self.seen.packets += part;
        }
        self.quiet = now + next;
    }

    /// A tick ends.
    pub(crate) fn tick(&mut self, now: Time) -> Observation {
        self.expose(now);
        std::mem::take(&mut self.seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);
    const NONE: Duration = Duration::ZERO;

    fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    #[test]
    fn pauses_are_left_out() {
        let mut meter = Meter::new(at(0));
        for ms in [2, 4, 6] {
            meter.arrived(at(ms), 1.0, NONE, NONE);
        }
        meter.arrived(at(7), 0.5, NONE, 20 * MS);
        let seen = meter.tick(at(20));
        assert_eq!(seen, Observation { packets: 3.5, exposed: 7 * MS, alive: true });
        assert_eq!(meter.tick(at(25)), Observation::default());
        // As late as was said; then two of the next frame.
        for (ms, pause) in [(27, 20), (29, 0), (31, 0)] {
            meter.arrived(at(ms), 1.0, pause * MS, NONE);
        }
        let seen = meter.tick(at(40));
        assert_eq!(seen, Observation { packets: 2.0, exposed: 13 * MS, alive: true });
    }

    #[test]
    fn a_busy_link_shows_its_rate() {
        // Ten packets a frame, 2 ms each, so that each frame comes right behind the one before.
        let mut meter = Meter::new(at(0));
        for n in 0..100 {
            let (first, last) = (n % 10 == 0, n % 10 == 9);
            let pause = if first { 10 * MS } else { NONE };
            let next = if last { 10 * MS } else { NONE };
            meter.arrived(at(2 * n), 1.0, pause, next);
        }
        let seen = meter.tick(at(198));
        assert_eq!((seen.packets, seen.exposed), (90.0, 180 * MS));
    }

    #[test]
    fn an_outage_is_exposed() {
        let mut meter = Meter::new(at(0));
        meter.arrived(at(1), 1.0, NONE, 4 * MS);
        assert_eq!(meter.tick(at(20)).exposed, 16 * MS);
        assert_eq!(meter.tick(at(40)), Observation { exposed: 20 * MS, ..Observation::default() });
    }
}
