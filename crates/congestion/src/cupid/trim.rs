//! Part of a grant that a sender takes where its queue is its own.
//!
//! Behind an access point that divides the air by itself the grant is what the receiver's share carries with full
//! aggregates. Repeats and short windows leave less, which shows as a queue: in which nobody else waits.

use airlane_base::Rate;

/// Part that is cut by a round all of whose packets stood in a queue.
const CUT: f64 = 0.05;
/// Part of the grant that comes back with every other round.
const GROW: f64 = 0.01;
/// The least part that is taken.
const MIN: f64 = 0.5;

#[derive(Clone, Copy, Debug)]
pub(super) struct Trim(f64);

impl Trim {
    /// All of the grant.
    pub fn none() -> Self {
        Self(1.0)
    }

    /// A round is over.
    pub fn on_round(&mut self, is_queued: bool) {
        self.0 = match is_queued {
            true => (self.0 * (1.0 - CUT)).max(MIN),
            false => (self.0 + GROW).min(1.0),
        };
    }

    /// The part of a rate.
    pub fn of(&self, granted: Rate) -> Rate {
        granted.scale(self.0)
    }
}
