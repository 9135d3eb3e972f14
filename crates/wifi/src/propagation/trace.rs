//! An SNR that was recorded.

use airlane_base::Time;
use serde::Serialize;
use thiserror::Error;

/// SNRs by time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SnrTrace {
    /// In the order of time, at least one.
    points: Vec<(Time, f64)>,
}

/// Error in a list of SNRs that makes no trace.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// There is nothing in it.
    #[error("expected at least one SNR")]
    Empty,
    /// A time that does not come after the one before.
    #[error("expected times that increase: entry {index} is at {at}, not after {before}")]
    Order {
        /// Number of the entry, from 0.
        index: usize,
        /// Its time.
        at: Time,
        /// Time of the entry before it.
        before: Time,
    },
    /// An SNR that is not a number.
    #[error("expected an SNR in dB: entry {index} is {db}")]
    Number {
        /// Number of the entry, from 0.
        index: usize,
        /// The value that was found.
        db: f64,
    },
}

impl SnrTrace {
    /// A trace of times and dB.
    ///
    /// # Errors
    /// If there are none, times do not increase, or one is not a finite number.
    pub fn new(points: Vec<(Time, f64)>) -> Result<Self, TraceError> {
        if points.is_empty() {
            return Err(TraceError::Empty);
        }
        for (index, &(at, db)) in points.iter().enumerate() {
            if !db.is_finite() {
                return Err(TraceError::Number { index, db });
            }
            if index > 0 && at <= points[index - 1].0 {
                return Err(TraceError::Order { index, at, before: points[index - 1].0 });
            }
        }
        Ok(Self { points })
    }

    /// The highest SNR in it, dB.
    pub fn max_db(&self) -> f64 {
        self.points.iter().map(|(_, db)| *db).fold(f64::NEG_INFINITY, f64::max)
    }

    /// The SNR at a time, dB: on a line between two entries; before the first and behind the last, theirs.
    pub fn db(&self, at: Time) -> f64 {
        let later = self.points.partition_point(|&(time, _)| time <= at);
        let Some(&(to, to_db)) = self.points.get(later) else {
            return self.points[self.points.len() - 1].1;
        };
        if later == 0 {
            return to_db;
        }
        let (from, from_db) = self.points[later - 1];
        let share = at.since(from).as_secs_f64() / to.since(from).as_secs_f64();
        from_db + (to_db - from_db) * share
    }
}
