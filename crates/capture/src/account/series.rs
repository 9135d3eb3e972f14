//! Amounts over time, in a bounded number of bins.

use std::time::Duration;

use airlane_base::Time;

/// The most bins: when more are needed, each becomes twice as wide.
pub(super) const MAX_BINS: usize = 1_024;

/// Amounts per bin of time, such as seconds of air.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    values: Vec<f64>,
}

impl Series {
    /// The amount in each bin; later bins are empty.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Adds to a bin.
    pub(super) fn add(&mut self, bin: usize, value: f64) {
        if self.values.len() <= bin {
            self.values.resize(bin + 1, 0.0);
        }
        self.values[bin] += value;
    }

    /// Makes bins twice as wide.
    pub(super) fn fold(&mut self) {
        self.values = self.values.chunks(2).map(|pair| pair.iter().sum()).collect();
    }
}

/// The bins that several series share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bins {
    pub(super) start: Time,
    pub(super) width: Duration,
}

impl Bins {
    /// Number of times that bins have to be made twice as wide for `until` to be in one.
    pub(super) fn widen(&mut self, until: Time) -> u32 {
        let mut times = 0;
        while self.place(until) >= MAX_BINS {
            self.width *= 2;
            times += 1;
        }
        times
    }

    /// The bin of a time; what is before the first is in the first.
    pub(super) fn place(&self, at: Time) -> usize {
        let nanos = at.since(self.start).as_nanos() / self.width.as_nanos().max(1);
        usize::try_from(nanos).unwrap_or(usize::MAX)
    }

    /// Shares out `amount`, which lasts from `from` to `to`, among the bins that it lies in.
    pub(super) fn spread(
        &self,
        from: Time,
        to: Time,
        amount: f64,
        mut add: impl FnMut(usize, f64),
    ) {
        let (first, last) = (self.place(from), self.place(to));
        let whole = to.since(from).as_secs_f64();
        if first == last || whole <= 0.0 {
            add(first.min(MAX_BINS - 1), amount);
            return;
        }
        for bin in first..=last.min(MAX_BINS - 1) {
            let begin = self.start + self.width * bin as u32;
            let end = begin + self.width;
            let inside = to.min(end).since(from.max(begin)).as_secs_f64();
            add(bin, amount * inside / whole);
        }
    }
}
