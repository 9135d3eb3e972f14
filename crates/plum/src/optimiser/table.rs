//! Tabulated QoE: piecewise linear and monotone.

use serde::{Deserialize, Serialize};

/// Reason why points make no QoE table.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum TableError {
    /// Fewer than two points.
    #[error("a QoE table needs two points or more, found {0}")]
    TooShort(usize),
    /// A rate that is not finite, negative, or not above the rate before it.
    #[error("point {point} has the rate {rate}; rates are finite, not negative and rising")]
    Rate {
        /// Index of the point.
        point: usize,
        /// Rate found, kbit/s.
        rate: f64,
    },
    /// A QoE outside 0 to 1, below the QoE before it, or a last QoE that is not 1.
    #[error("point {point} has the QoE {qoe}; QoE never falls, lies in 0 to 1 and ends at 1")]
    Qoe {
        /// Index of the point.
        point: usize,
        /// QoE found.
        qoe: f64,
    },
}

/// Monotone, piecewise linear QoE through points of rate (kbit/s) and QoE. Below the first rate QoE
/// is that of the first point, above the last rate it is 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<(f64, f64)>", into = "Vec<(f64, f64)>")]
pub struct QoeTable {
    points: Vec<(f64, f64)>,
}

impl QoeTable {
    /// Table through points of (rate in kbit/s, QoE).
    ///
    /// # Errors
    /// If there are fewer than two points, rates do not rise, or QoE falls or does not end at 1.
    pub fn new(points: Vec<(f64, f64)>) -> Result<Self, TableError> {
        if points.len() < 2 {
            return Err(TableError::TooShort(points.len()));
        }
        let mut before: Option<(f64, f64)> = None;
        for (point, &(rate, qoe)) in points.iter().enumerate() {
            let rises = before.is_none_or(|(r, _)| rate > r);
            if !(rate.is_finite() && rate >= 0.0 && rises) {
                return Err(TableError::Rate { point, rate });
            }
            let never_falls = before.is_none_or(|(_, q)| qoe >= q);
            let ends_at_one = point + 1 < points.len() || qoe == 1.0;
            if !((0.0..=1.0).contains(&qoe) && never_falls && ends_at_one) {
                return Err(TableError::Qoe { point, qoe });
            }
            before = Some((rate, qoe));
        }
        Ok(Self { points })
    }

    /// Points of (rate in kbit/s, QoE), by rising rate.
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// Smallest rate with a QoE of 1, kbit/s.
    pub(super) fn saturation(&self) -> f64 {
        self.rate(1.0)
    }

    pub(super) fn value(&self, rate: f64) -> f64 {
        let after = self.points.partition_point(|p| p.0 <= rate);
        match (after.checked_sub(1).map(|i| self.points[i]), self.points.get(after)) {
            (None, _) => self.points[0].1,
            (Some((_, q)), None) => q,
            (Some((r0, q0)), Some(&(r1, q1))) => q0 + (rate - r0) / (r1 - r0) * (q1 - q0),
        }
    }

    /// Right derivative.
    pub(super) fn slope(&self, rate: f64) -> f64 {
        let after = self.points.partition_point(|p| p.0 <= rate);
        match (after.checked_sub(1).map(|i| self.points[i]), self.points.get(after)) {
            (Some((r0, q0)), Some(&(r1, q1))) => (q1 - q0) / (r1 - r0),
            _ => 0.0,
        }
    }

    /// Smallest rate with this QoE; 0 if every rate has more.
    pub(super) fn rate(&self, qoe: f64) -> f64 {
        let after = self.points.partition_point(|p| p.1 < qoe);
        match (after.checked_sub(1).map(|i| self.points[i]), self.points.get(after)) {
            (None, _) => 0.0,
            (Some((r0, _)), None) => r0,
            (Some((r0, q0)), Some(&(r1, q1))) => r0 + (qoe - q0) / (q1 - q0) * (r1 - r0),
        }
    }

    pub(super) fn is_concave(&self) -> bool {
        let starts_flat = self.points[0].0 > 0.0 && self.points[0].1 < 1.0;
        let slopes: Vec<f64> =
            self.points.windows(2).map(|w| (w[1].1 - w[0].1) / (w[1].0 - w[0].0)).collect();
        !starts_flat && slopes.windows(2).all(|s| s[1] <= s[0] * (1.0 + 1e-12))
    }
}

impl TryFrom<Vec<(f64, f64)>> for QoeTable {
    type Error = TableError;

    fn try_from(points: Vec<(f64, f64)>) -> Result<Self, TableError> {
        Self::new(points)
    }
}

impl From<QoeTable> for Vec<(f64, f64)> {
    fn from(table: QoeTable) -> Self {
        table.points
    }
}
