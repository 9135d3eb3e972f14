//! How times are distributed, in constant memory.

use std::time::Duration;

/// Octaves are split into so many buckets: quantiles are within 1/32 of the truth.
const SUB_BITS: u32 = 5;
const SUB: usize = 1 << SUB_BITS;
/// Bucket 0 to `SUB` are single microseconds; then octaves up to 2^36 us (19 h).
const BUCKETS: usize = SUB * (36 - SUB_BITS as usize + 1);

/// Counts of times, exact to the microsecond below 32 us, within 1/32 above.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS], total: 0 }
    }
}

impl Histogram {
    /// Counts one time.
    #[inline]
    pub fn add(&mut self, time: Duration) {
        self.add_many(time, 1);
    }

    /// Counts a time that `number` of them had.
    #[inline]
    pub fn add_many(&mut self, time: Duration, number: u64) {
        let us = time.as_nanos() as u64 / 1_000;
        self.counts[bucket(us)] += number;
        self.total += number;
    }

    /// Number of times counted.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// Times counted after `earlier`, a copy of the same histogram.
    pub fn since(&self, earlier: &Self) -> Self {
        let counts = self.counts.iter().zip(&earlier.counts).map(|(a, b)| a - b).collect();
        Self { counts, total: self.total - earlier.total }
    }

    /// The time that a share `q` (0 to 1) of those counted do not exceed; zero if there are none.
    pub fn quantile(&self, q: f64) -> Duration {
        let rank = ((q.clamp(0.0, 1.0) * self.total as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for (i, n) in self.counts.iter().enumerate() {
            seen += n;
            if seen >= rank {
                return Duration::from_micros(bucket_middle(i));
            }
        }
        Duration::ZERO
    }
}

/// Bucket of a time in microseconds.
#[inline]
fn bucket(us: u64) -> usize {
    if us < SUB as u64 {
        return us as usize;
    }
    let octave = 63 - us.leading_zeros() - SUB_BITS;
    let sub = (us >> octave) as usize - SUB;
    (SUB * (octave as usize + 1) + sub).min(BUCKETS - 1)
}

/// Middle of a bucket, in microseconds.
fn bucket_middle(i: usize) -> u64 {
    if i < SUB {
        return i as u64;
    }
    let octave = i / SUB - 1;
    let low = ((i % SUB + SUB) as u64) << octave;
    low + (1 << octave) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_tile_the_axis() {
        let mut last = 0;
        for us in 0..200_000 {
            let b = bucket(us);
            assert!(b == last || b == last + 1, "{us}");
            assert!(bucket(bucket_middle(b)) == b);
            last = b;
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_within_a_bucket_of_the_whole_and_of_what_came_later() {
        let mut h = Histogram::default();
        assert_eq!(h.quantile(0.5), Duration::ZERO);
        h.add(Duration::from_secs(70));
        let earlier = h.clone();
        for us in 1..=10_000 {
            h.add(Duration::from_micros(us));
        }
        let later = h.since(&earlier);
        assert_eq!((h.count(), later.count()), (10_001, 10_000));
        for (q, want) in [(0.5, 5_000.0), (0.95, 9_500.0), (1.0, 10_000.0)] {
            let got = later.quantile(q).as_secs_f64() * 1e6;
            assert!((got / want - 1.0).abs() < 1.0 / 32.0, "{q}: {got}");
        }
        assert!((h.quantile(1.0).as_secs_f64() / 70.0 - 1.0).abs() < 1.0 / 32.0);
    }
}
