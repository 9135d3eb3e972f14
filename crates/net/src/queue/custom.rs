//! Queues that another crate brings.

use std::fmt::Debug;

use airlane_base::Seed;

use super::Capacity;
use crate::node::Queue;

/// Queueing discipline that another crate brings.
pub trait QueueKind: Debug + Send + Sync {
    /// Name in scenarios and tables; none of those that are here.
    fn name(&self) -> &'static str;

    /// A queue that holds `capacity`; what it draws, it draws from `seed`.
    fn build(&self, capacity: Capacity, seed: Seed) -> Box<dyn Queue>;
}

/// A [`QueueKind`] as a network names it: equal if names are.
#[derive(Clone, Copy, Debug)]
pub struct CustomQueue(pub &'static dyn QueueKind);

impl PartialEq for CustomQueue {
    fn eq(&self, other: &Self) -> bool {
        self.0.name() == other.0.name()
    }
}

impl Eq for CustomQueue {}
