//! Amounts over the recent past, in buckets: a sliding sum in fixed memory.

/// Amounts of `N` kinds by bucket of time. What falls out of the past is forgotten; what is told late still
/// counts where it belongs.
#[derive(Clone, Debug)]
pub(crate) struct Ring<const N: usize> {
    /// Nanoseconds of a bucket.
    bucket: u64,
    slots: Vec<[f64; N]>,
    /// The newest bucket, counted from time zero.
    newest: u64,
}

impl<const N: usize> Ring<N> {
    /// Buckets of `bucket` nanoseconds that reach back for `span`.
    pub fn new(bucket: u64, span: u64) -> Self {
        let bucket = bucket.max(1);
        let slots = usize::try_from(span / bucket + 2).unwrap_or(usize::MAX).clamp(2, 4_096);
        Self { bucket, slots: vec![[0.0; N]; slots], newest: 0 }
    }

    fn place(&self, bucket: u64) -> usize {
        (bucket % self.slots.len() as u64) as usize
    }

    fn oldest(&self) -> u64 {
        self.newest.saturating_sub(self.slots.len() as u64 - 1)
    }

    fn advance(&mut self, bucket: u64) {
        if bucket <= self.newest {
            return;
        }
        if bucket - self.newest >= self.slots.len() as u64 {
            self.slots.fill([0.0; N]);
        } else {
            for passed in self.newest + 1..=bucket {
                let place = self.place(passed);
                self.slots[place] = [0.0; N];
            }
        }
        self.newest = bucket;
    }

    /// Adds amounts that are spread evenly from `from` to `to`, nanoseconds; none below zero.
    pub fn add(&mut self, from: u64, to: u64, amounts: [f64; N]) {
        if amounts.iter().all(|amount| *amount <= 0.0) {
            return;
        }
        let to = to.max(from.saturating_add(1));
        self.advance((to - 1) / self.bucket);
        let first = (from / self.bucket).max(self.oldest());
        let each = amounts.map(|amount| amount.max(0.0) / (to - from) as f64);
        for bucket in first..=(to - 1) / self.bucket {
            let begin = from.max(bucket * self.bucket);
            let end = to.min((bucket + 1).saturating_mul(self.bucket));
            let place = self.place(bucket);
            let nanos = end.saturating_sub(begin) as f64;
            for (slot, each) in self.slots[place].iter_mut().zip(each) {
                *slot += each * nanos;
            }
        }
    }

    /// Sums of what lies from `from` to `to`; buckets at the edges count in part.
    pub fn sum(&self, from: u64, to: u64) -> [f64; N] {
        let mut sums = [0.0; N];
        if to <= from {
            return sums;
        }
        let first = (from / self.bucket).max(self.oldest());
        let last = ((to - 1) / self.bucket).min(self.newest);
        let mut place = self.place(first);
        for bucket in first..=last {
            // Those between the edges count in full.
            let part = if bucket == first || bucket == last {
                let begin = from.max(bucket * self.bucket);
                let end = to.min((bucket + 1).saturating_mul(self.bucket));
                end.saturating_sub(begin) as f64 / self.bucket as f64
            } else {
                1.0
            };
            for (sum, slot) in sums.iter_mut().zip(self.slots[place]) {
                *sum += slot * part;
            }
            place = if place + 1 == self.slots.len() { 0 } else { place + 1 };
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_spread_slide_out_and_count_in_part() {
        let mut ring = Ring::new(10, 100);
        ring.add(5, 25, [20.0]);
        assert_eq!((ring.sum(0, 10), ring.sum(10, 20), ring.sum(0, 100)), ([5.0], [10.0], [20.0]));
        assert_eq!(ring.sum(12, 17), [5.0]);
        ring.add(122, 123, [7.0]);
        assert_eq!(ring.sum(0, 1_000), [22.0], "the first bucket is out");
        ring.add(0, 10, [3.0]);
        assert_eq!(ring.sum(0, 1_000), [22.0], "too late");
        ring.add(u64::MAX - 3, u64::MAX, [1.0]);
        assert_eq!(ring.sum(0, 1_000), [0.0]);
    }
}
