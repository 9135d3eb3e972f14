//! Rounds in BBR's model of the path, and how many of them a time holds.

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::Time;

/// Most beginnings of rounds that are kept: of rounds of a millisecond those of a second.
const MAX_ROUNDS: usize = 1000;

/// The number of rounds so far, and when the last ones began.
#[derive(Clone, Debug)]
pub(super) struct Rounds {
    number: u64,
    min_window: Duration,
    /// Beginnings of rounds within `min_window`, rising.
    begun: VecDeque<Time>,
}

impl Rounds {
    /// Rounds of which windows of at least `min_window` are asked.
    pub fn new(min_window: Duration) -> Self {
        Self { number: 0, min_window, begun: VecDeque::new() }
    }

    /// A round begins at `now`.
    pub fn begin(&mut self, now: Time) {
        self.number += 1;
        if self.min_window.is_zero() {
            return;
        }
        self.begun.push_back(now);
        let is_old = |at: &Time| now.since(*at) > self.min_window;
        while self.begun.len() > MAX_ROUNDS || self.begun.front().is_some_and(is_old) {
            self.begun.pop_front();
        }
    }

    /// The number of the present round.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Rounds of a window that has at least `rounds` of them and lasts at least the least time.
    pub fn window(&self, rounds: u64) -> u64 {
        rounds.max(self.begun.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_rounds_make_a_window_of_more_of_them() {
        let begun = |interval_ms: u64, min_window_ms| {
            let mut rounds = Rounds::new(Duration::from_millis(min_window_ms));
            (1..=500).for_each(|n| rounds.begin(Time::from_millis(n * interval_ms)));
            (rounds.number(), rounds.window(10))
        };
        assert_eq!(begun(10, 0), (500, 10));
        assert_eq!(begun(10, 600), (500, 61));
        assert_eq!(begun(60, 600), (500, 11));
        assert_eq!(begun(100, 600), (500, 10));
    }
}
