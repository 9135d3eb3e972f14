//! The record of one head's movement.

use std::time::Duration;

use crate::orientation::Orientation;

/// Error in the samples of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeadTraceError {
    /// There is none.
    #[error("a head trace needs at least one sample")]
    Empty,
    /// An angle is infinite or not a number.
    #[error("sample {0} has an angle that is not finite")]
    NotFinite(usize),
    /// Times do not rise.
    #[error("sample {0} is not later than the one before it")]
    NotRising(usize),
}

/// Directions in which one user looked over one video: samples at any times, in between turned
/// evenly from one to the next on the shortest way.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadTrace {
    samples: Vec<(Duration, Orientation)>,
}

impl HeadTrace {
    /// From samples: time from the video's start, and attitude.
    ///
    /// # Errors
    /// If there is no sample, an attitude is not finite, or times do not rise.
    pub fn new(samples: Vec<(Duration, Orientation)>) -> Result<Self, HeadTraceError> {
        if samples.is_empty() {
            return Err(HeadTraceError::Empty);
        }
        if let Some(at) = samples.iter().position(|(_, orientation)| !orientation.is_finite()) {
            return Err(HeadTraceError::NotFinite(at));
        }
        if let Some(at) = samples.windows(2).position(|pair| pair[1].0 <= pair[0].0) {
            return Err(HeadTraceError::NotRising(at + 1));
        }
        Ok(Self { samples })
    }

    /// Time of the first and of the last sample.
    pub fn span(&self) -> (Duration, Duration) {
        let last = self.samples.len() - 1;
        (self.samples[0].0, self.samples[last].0)
    }

    /// The attitude at a time; before the first sample and after the last it is theirs.
    pub fn at(&self, time: Duration) -> Orientation {
        let after = self.samples.partition_point(|&(t, _)| t <= time);
        let Some(before) = after.checked_sub(1) else {
            return self.samples[0].1;
        };
        let (from, start) = self.samples[before];
        let Some(&(to, end)) = self.samples.get(after) else {
            return start;
        };
        start.towards(end, (time - from).as_secs_f64() / (to - from).as_secs_f64())
    }
}
