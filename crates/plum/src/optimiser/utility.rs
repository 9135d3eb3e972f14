//! Utility of all clients together (equations 1 and 2).

use serde::{Deserialize, Serialize};

/// Utility function with its weight of fairness.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Utility {
    rho: f64,
}

/// Utility with its two parts, each of them at most 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// `(1 - rho) * performance + rho * fairness`.
    pub utility: f64,
    /// Mean QoE.
    pub performance: f64,
    /// `1 - 2 sigma`, sigma the population deviation of QoE.
    pub fairness: f64,
}

impl Score {
    /// Population deviation of QoE.
    pub fn deviation(&self) -> f64 {
        (1.0 - self.fairness) / 2.0
    }
}

impl Utility {
    /// Utility with the weight rho of fairness, in 0 to 1.
    pub(super) fn new(rho: f64) -> Self {
        Self { rho }
    }

    /// Score of the clients' QoE; of no clients a performance of 0 and a fairness of 1.
    pub fn score(&self, qoe: &[f64]) -> Score {
        let (performance, deviation) = moments(qoe);
        let fairness = 1.0 - 2.0 * deviation;
        let utility = (1.0 - self.rho) * performance + self.rho * fairness;
        Score { utility, performance, fairness }
    }
}

/// Mean and population deviation.
pub(super) fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
    (mean, variance.sqrt())
}
