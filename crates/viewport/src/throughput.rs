//! What a transport delivered in the past, and what follows for a tile's chance to be late.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::time::Duration;

/// A throughput that is no throughput.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ThroughputError {
    /// There is no sample.
    #[error("throughput statistics need at least one sample")]
    Empty,
    /// A sample is below 0, infinite or not a number.
    #[error("found a throughput of {0} bit/s; it must be finite and not below 0")]
    Sample(f64),
}

/// Past samples of one transport, the newest ones. Each is the sum over its radios in one second.
///
/// The sums must be what this transport delivered over all radios together: what each radio has
/// alone adds up to more than a transport that blocks can use.
#[derive(Clone, Debug)]
pub struct History {
    window: NonZeroUsize,
    sums: VecDeque<f64>,
}

impl History {
    /// Without samples yet; keeps the newest `window` of them.
    pub fn new(window: NonZeroUsize) -> Self {
        Self { window, sums: VecDeque::with_capacity(window.get()) }
    }

    /// Another second is over: what each radio delivered in it, in bit/s.
    ///
    /// # Errors
    /// If a throughput is not finite or below 0. Nothing has changed then.
    pub fn push(&mut self, radios_bps: &[f64]) -> Result<(), ThroughputError> {
        let sum = radios_bps.iter().try_fold(0.0, |sum, &bps| Ok(sum + checked(bps)?))?;
        let sum = checked(sum)?;
        if self.sums.len() == self.window.get() {
            self.sums.pop_front();
        }
        self.sums.push_back(sum);
        Ok(())
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.sums.len()
    }

    /// True if there are no samples.
    pub fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }

    /// Mean of the samples in bit/s; `None` without any.
    pub fn mean_bps(&self) -> Option<f64> {
        let sum: f64 = self.sums.iter().sum();
        (!self.is_empty()).then(|| sum / self.len() as f64)
    }

    /// The capacity constraint of P1, C_agg: the bits that the mean brings within a GoP, times a
    /// margin. `None` without samples.
    pub fn capacity_bits(&self, margin: f64, gop: Duration) -> Option<u64> {
        Some((self.mean_bps()? * margin * gop.as_secs_f64()) as u64)
    }

    /// The distribution of the samples; `None` without any.
    pub fn throughput(&self) -> Option<Throughput> {
        Throughput::new(self.sums.iter().copied().collect()).ok()
    }
}

/// The distribution of a transport's throughput.
#[derive(Clone, Debug, PartialEq)]
pub struct Throughput {
    /// In bit/s, rising.
    sorted: Vec<f64>,
}

impl Throughput {
    /// From samples in bit/s, in any order.
    ///
    /// # Errors
    /// If there is none, or one is not finite or below 0.
    pub fn new(mut samples_bps: Vec<f64>) -> Result<Self, ThroughputError> {
        if samples_bps.is_empty() {
            return Err(ThroughputError::Empty);
        }
        for &bps in &samples_bps {
            checked(bps)?;
        }
        samples_bps.sort_by(f64::total_cmp);
        Ok(Self { sorted: samples_bps })
    }

    /// Samples of throughput in bit/s, in ascending order.
    pub fn samples_bps(&self) -> &[f64] {
        &self.sorted
    }

    /// The probability of missing a deadline, epsilon of equation 3, of what is complete after so
    /// many bits: the share of samples that bring fewer within `deadline_s` seconds.
    pub fn miss(&self, bits: u64, deadline_s: f64) -> f64 {
        let slow = self.sorted.partition_point(|bps| bps * deadline_s < bits as f64);
        slow as f64 / self.sorted.len() as f64
    }
}

fn checked(bps: f64) -> Result<f64, ThroughputError> {
    if bps.is_finite() && bps >= 0.0 { Ok(bps) } else { Err(ThroughputError::Sample(bps)) }
}
