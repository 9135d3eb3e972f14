//! The largest value of a window of time, as the versions of BBR keep of rates and volumes.

use std::collections::VecDeque;

/// The largest of the values of a window, exact. Time is a count: of rounds, or of cycles.
#[derive(Clone, Debug, Default)]
pub(crate) struct WindowedMax<T> {
    /// Times rising, values falling: the front is the maximum. One entry per time at most.
    samples: VecDeque<(u64, T)>,
}

impl<T: Copy + Default + PartialOrd> WindowedMax<T> {
    /// Adds a value of `time` and forgets what is `window` old. `time` never goes back.
    pub fn update(&mut self, time: u64, value: T, window: u64) {
        while self.samples.back().is_some_and(|&(_, v)| v <= value) {
            self.samples.pop_back();
        }
        // What is left at the back is larger. If it is of the same time, it outlives this value.
        if self.samples.back().is_none_or(|&(t, _)| t != time) {
            self.samples.push_back((time, value));
        }
        while self.samples.front().is_some_and(|&(t, _)| t.saturating_add(window) <= time) {
            self.samples.pop_front();
        }
    }

    /// The maximum, the default before there is a value.
    pub fn get(&self) -> T {
        self.samples.front().map_or_else(T::default, |&(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_leaves_after_its_window() {
        let mut f = WindowedMax::default();
        assert_eq!(f.get(), 0);
        f.update(0, 9, 10);
        for round in 1..10 {
            f.update(round, 5, 10);
            assert_eq!(f.get(), 9);
        }
        f.update(10, 4, 10);
        assert_eq!(f.get(), 5);
    }

    #[test]
    fn falling_values_of_one_time_take_one_place() {
        let mut f = WindowedMax::default();
        for time in 0..5 {
            for value in (0..1_000).rev() {
                f.update(time, value, 2);
                assert!(f.samples.len() <= 2);
                assert_eq!(f.get(), 999);
            }
        }
        f.update(5, 3, 2);
        f.update(6, 2, 2);
        assert_eq!(f.get(), 3);
    }
}
