//! Positions of stations by time.

mod walk;
mod waypoints;

use airlane_base::Time;

use crate::position::Position;

pub use walk::{Area, Leg, Walk};
pub use waypoints::{WaypointError, Waypoints};

/// The position of something, by time.
#[derive(Clone, Debug)]
pub enum Mobility {
    /// Always there.
    Static(Position),
    /// Random walk in a box.
    Walk(Walk),
    /// Motion from place to place.
    Waypoints(Waypoints),
}

impl Mobility {
    /// Position at a time: the same at the same time in whatever order one asks; cheap at times that
    /// increase.
    pub fn position(&mut self, at: Time) -> Position {
        match self {
            Self::Static(position) => *position,
            Self::Walk(walk) => walk.position(at),
            Self::Waypoints(waypoints) => waypoints.position(at),
        }
    }
}
