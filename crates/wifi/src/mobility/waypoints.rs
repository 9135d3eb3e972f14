//! Motion from place to place.

use airlane_base::Time;
use serde::Serialize;
use thiserror::Error;

use crate::position::Position;

/// Places by time: straight and steady from each to the next, and still before the first and behind the
/// last.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Waypoints {
    /// In the order of time, at least one.
    points: Vec<(Time, Position)>,
}

/// Error in a list of places that makes no waypoints.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum WaypointError {
    /// There is nothing in it.
    #[error("expected at least one place")]
    Empty,
    /// A time that does not come after the one before.
    #[error("expected times that increase: place {index} is at {at}, not after {before}")]
    Order {
        /// Number of the place, from 0.
        index: usize,
        /// Its time.
        at: Time,
        /// Time of the place before it.
        before: Time,
    },
    /// A coordinate that is not a number.
    #[error("expected coordinates in metres: those of place {index} are {x}, {y}")]
    Number {
        /// Number of the place, from 0.
        index: usize,
        /// The value that was found.
        x: f64,
        /// The value that was found.
        y: f64,
    },
}

impl Waypoints {
    /// A way of times and places.
    ///
    /// # Errors
    /// If there are none, times do not increase, or a coordinate is not a finite number.
    pub fn new(points: Vec<(Time, Position)>) -> Result<Self, WaypointError> {
        if points.is_empty() {
            return Err(WaypointError::Empty);
        }
        for (index, &(at, Position { x, y })) in points.iter().enumerate() {
            if !x.is_finite() || !y.is_finite() {
                return Err(WaypointError::Number { index, x, y });
            }
            if index > 0 && at <= points[index - 1].0 {
                return Err(WaypointError::Order { index, at, before: points[index - 1].0 });
            }
        }
        Ok(Self { points })
    }

    /// Position at a time.
    pub fn position(&self, at: Time) -> Position {
        let later = self.points.partition_point(|&(time, _)| time <= at);
        let Some(&(to, there)) = self.points.get(later) else {
            return self.points[self.points.len() - 1].1;
        };
        if later == 0 {
            return there;
        }
        let (from, here) = self.points[later - 1];
        here.toward(there, at.since(from).as_secs_f64() / to.since(from).as_secs_f64())
    }
}
