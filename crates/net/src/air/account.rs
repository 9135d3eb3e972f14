//! What the air was used for.

use std::time::Duration;

use airlane_base::Time;

use crate::node::Port;

/// Airtime that the packets of a port have used since the start, with counts of attempts and
/// frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Airtime {
    /// Air by the definition of `wifi::PlannedExchange`: attempts and what contending for them is charged
    /// with.
    pub charged: Duration,
    /// Attempts alone.
    pub bare: Duration,
    /// Attempts: transmit opportunities that were used.
    pub attempts: u64,
    /// Attempts that nobody answered: collisions, and what was lost as a whole.
    pub unanswered: u64,
    /// Airtime that those are charged with.
    pub unanswered_air: Duration,
    /// Frames sent, each attempt counted.
    pub frames: u64,
    /// Of these, such as had been sent before.
    pub repeated: u64,
    /// Frames that were given up.
    pub given_up: u64,
}

impl Airtime {
    /// Counts an attempt with what it is charged with, and the air that it took.
    pub(super) fn attempt(&mut self, charge: Duration, bare: Duration, is_answered: bool) {
        self.charged += charge;
        self.bare += bare;
        self.attempts += 1;
        if !is_answered {
            self.unanswered += 1;
            self.unanswered_air += charge;
        }
    }
}

/// An attempt: who held the air, from when to when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AirAttempt {
    /// Port whose packets were sent.
    pub port: Port,
    /// Start of the attempt.
    pub from: Time,
    /// End of its last response, or the time at which one would have ended.
    pub until: Time,
    /// Air that it is charged with, by the definition of `wifi::PlannedExchange`.
    pub charged: Duration,
    /// Outcome of the attempt.
    pub outcome: AttemptOutcome,
    /// Frames in it.
    pub frames: u32,
    /// Of these, such as had been sent before.
    pub repeated: u32,
}

/// Outcome of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AttemptOutcome {
    /// So many of its frames came.
    Delivered(u32),
    /// Another radio sent at the same time, and none came.
    Collided,
    /// None came.
    Lost,
}
