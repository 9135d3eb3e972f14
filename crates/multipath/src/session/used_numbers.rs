//! Numbers of streams that were used: a stream that is over must not begin again.

use std::collections::BTreeSet;

/// Numbers at most that are remembered one by one. Below them all count as used.
const MAX_NUMBERS: usize = 4096;

/// The numbers that were used. Streams are numbered in order, but first heard of in any.
#[derive(Debug, Default)]
pub(crate) struct UsedNumbers {
    /// All below it were used.
    below: u32,
    /// Those above it that were used.
    above: BTreeSet<u32>,
}

impl UsedNumbers {
    /// Notes that `number` is used; returns whether it was not before.
    pub(crate) fn is_new(&mut self, number: u32) -> bool {
        if number < self.below || !self.above.insert(number) {
            return false;
        }
        while self.above.remove(&self.below) {
            self.below += 1;
        }
        if self.above.len() > MAX_NUMBERS
            && let Some(first) = self.above.pop_first()
        {
            self.below = first + 1;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_is_new_twice_in_whatever_order_they_come() {
        let mut seen = UsedNumbers::default();
        for number in [0, 2, 1, 5, 3] {
            assert!(seen.is_new(number), "{number}");
        }
        for number in [0, 1, 2, 3, 5] {
            assert!(!seen.is_new(number), "{number}");
        }
        assert!(seen.is_new(4));
        assert_eq!((seen.below, seen.above.len()), (6, 0));
    }

    #[test]
    fn gaps_take_no_memory_for_ever() {
        let mut seen = UsedNumbers::default();
        for number in (1..40_000).step_by(2) {
            assert!(seen.is_new(number));
        }
        assert!(seen.above.len() <= MAX_NUMBERS);
        assert!(!seen.is_new(0) && !seen.is_new(39_999) && seen.is_new(39_998));
    }
}
