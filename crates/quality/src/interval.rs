//! Confidence intervals of 95 %.

use serde::{Deserialize, Serialize};

/// Probability outside of a 95 % interval on each side.
pub(crate) const TAIL: f64 = 0.025;

/// The normal deviate that 2.5 % lie above.
pub(crate) const Z: f64 = 1.959_963_984_540_054;

/// A confidence interval; written `[lo, hi]` in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "[f64; 2]", into = "[f64; 2]")]
pub struct Interval {
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

impl Interval {
    /// True if `v` lies within the interval, ends included.
    pub fn contains(&self, v: f64) -> bool {
        self.lo <= v && v <= self.hi
    }

    /// The smallest interval that both lie in.
    #[must_use]
    pub fn hull(self, other: Self) -> Self {
        Self { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    /// The interval of the exponential function of what this is the interval of.
    #[must_use]
    pub fn exp(self) -> Self {
        Self { lo: self.lo.exp(), hi: self.hi.exp() }
    }

    /// The same moved by `by`.
    #[must_use]
    pub fn shifted(self, by: f64) -> Self {
        Self { lo: self.lo + by, hi: self.hi + by }
    }
}

impl From<[f64; 2]> for Interval {
    fn from([lo, hi]: [f64; 2]) -> Self {
        Self { lo, hi }
    }
}

impl From<Interval> for [f64; 2] {
    fn from(i: Interval) -> Self {
        [i.lo, i.hi]
    }
}
