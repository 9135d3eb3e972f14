//! Changes of capacity.

use airlane_base::Rate;

/// Detector of changes of capacity: whether a client's capacity differs from that of the last optimisation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangeDetector {
    /// Share of the capacity before from which on a difference is a change.
    pub threshold: f64,
}

impl Default for ChangeDetector {
    fn default() -> Self {
        Self { threshold: 0.2 }
    }
}

impl ChangeDetector {
    /// True if `now` differs from `before` by more than the threshold.
    pub fn is_change(&self, before: Option<Rate>, now: Option<Rate>) -> bool {
        match (before, now) {
            (None, None) => false,
            (Some(before), Some(now)) => {
                (now.as_f64() - before.as_f64()).abs() > self.threshold * before.as_f64()
            }
            _ => true,
        }
    }
}
