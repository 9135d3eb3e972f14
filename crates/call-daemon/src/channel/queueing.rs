//! Time that packets wait in front of a client's channel, seen from the server.

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::Time;

/// Time after which the least delay is forgotten: clocks drift, and routes change.
const BASELINE_WINDOW: Duration = Duration::from_secs(60);
/// Parts of that time, of which each keeps its least delay.
const BASELINE_PARTS: u32 = 6;
/// Round trips of which the least counts: a page that is busy answers one late, a queue delays all.
const ROUND_TRIPS: usize = 3;
/// Times after which absolute send times repeat, in seconds (6 bits of seconds).
const SEND_TIME_PERIOD_S: f64 = 64.0;

/// Least of a delay over the last minute, in seconds.
#[derive(Clone, Debug, Default)]
struct Baseline {
    /// Beginning and least delay of each part, the latest last.
    parts: VecDeque<(Time, f64)>,
}

impl Baseline {
    /// Takes a delay, and returns how far it is above the least.
    fn excess(&mut self, now: Time, delay_s: f64) -> f64 {
        let part = BASELINE_WINDOW / BASELINE_PARTS;
        match self.parts.back_mut() {
            Some((began, least)) if now.since(*began) < part => *least = least.min(delay_s),
            _ => self.parts.push_back((now, delay_s)),
        }
        while self.parts.front().is_some_and(|(began, _)| now.since(*began) > BASELINE_WINDOW) {
            self.parts.pop_front();
        }
        let least = self.parts.iter().map(|(_, least)| *least).fold(f64::INFINITY, f64::min);
        delay_s - least
    }
}

/// Waiting time of packets of both directions.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueueingDelay {
    up: Baseline,
    /// Delay that others are told relative to: absolute send times have a clock of their own.
    up_origin_s: Option<f64>,
    /// Least waiting time of the uplink's packets since it was asked for, in seconds.
    up_least_s: Option<f64>,
    round_trip: Baseline,
    /// Excess of the last round trips, in seconds.
    round_trips: VecDeque<f64>,
}

impl QueueingDelay {
    /// Takes a packet of the client: its arrival less its absolute send time, in seconds, whatever the clocks.
    pub(crate) fn on_uplink(&mut self, now: Time, delay_s: f64) {
        let origin = *self.up_origin_s.get_or_insert(delay_s);
        let half = SEND_TIME_PERIOD_S / 2.0;
        let delay = (delay_s - origin + half).rem_euclid(SEND_TIME_PERIOD_S) - half;
        let excess = self.up.excess(now, delay);
        self.up_least_s = Some(self.up_least_s.map_or(excess, |least| least.min(excess)));
    }

    /// Takes a round trip.
    pub(crate) fn on_round_trip(&mut self, now: Time, round_trip: Duration) {
        let excess = self.round_trip.excess(now, round_trip.as_secs_f64());
        if self.round_trips.len() == ROUND_TRIPS {
            self.round_trips.pop_front();
        }
        self.round_trips.push_back(excess);
    }

    /// Waiting time since it was last asked for: of the uplink, or of both directions together if that is longer.
    pub(crate) fn take(&mut self) -> Duration {
        let both = self.round_trips.iter().copied().fold(f64::INFINITY, f64::min);
        let both = if self.round_trips.len() < ROUND_TRIPS { 0.0 } else { both };
        let up = self.up_least_s.take().unwrap_or(0.0);
        Duration::from_secs_f64(both.max(up).clamp(0.0, SEND_TIME_PERIOD_S))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    #[test]
    fn uplinks_wait_by_their_send_times_whatever_the_clock_and_when_it_wraps() {
        let mut queueing = QueueingDelay::default();
        queueing.on_uplink(at(0), 63.99);
        assert_eq!(queueing.take(), Duration::ZERO);
        // The clock of 64 s began anew: 30 ms more.
        queueing.on_uplink(at(100), 0.02);
        let waited = queueing.take();
        assert!((waited.as_secs_f64() - 0.03).abs() < 1e-9, "{waited:?}");
        // One packet that did not wait says that there is no standing queue.
        queueing.on_uplink(at(200), 0.02);
        queueing.on_uplink(at(210), -0.01);
        assert!(queueing.take() < Duration::from_millis(1));
        assert_eq!(queueing.take(), Duration::ZERO, "nothing came since");
    }

    #[test]
    fn one_late_answer_is_no_queue_and_three_are() {
        let mut queueing = QueueingDelay::default();
        for (n, ms) in [20, 21, 20, 90, 22, 21].into_iter().enumerate() {
            queueing.on_round_trip(at(100 * n as u64), Duration::from_millis(ms));
            assert!(queueing.take() <= Duration::from_millis(2));
        }
        for n in 0..3 {
            queueing.on_round_trip(at(1000 + 100 * n), Duration::from_millis(60));
        }
        assert!(queueing.take() >= Duration::from_millis(39));
    }

    #[test]
    fn a_longer_route_is_the_least_delay_after_a_minute() {
        let mut queueing = QueueingDelay::default();
        queueing.on_uplink(at(0), 1.0);
        queueing.take();
        for second in 1..=75 {
            queueing.on_uplink(at(1000 * second), 1.2);
            let waited = queueing.take().as_secs_f64();
            assert_eq!(waited > 0.19, second <= 60, "{waited} at {second} s");
        }
        assert!(queueing.up.parts.len() <= BASELINE_PARTS as usize + 1);
    }
}
