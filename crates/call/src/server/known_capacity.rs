//! Capacities that the server is told from outside.

use std::fmt;
use std::sync::Arc;

use airlane_base::{Rate, Time};

/// Function from a participant's name and a time to the capacity of its channel in IP bytes; `None` where it is not
/// known.
pub type CapacityOf = dyn Fn(&str, Time) -> Option<Rate> + Send + Sync;

/// Source of capacities outside of the conference, such as an oracle. What it does not know is estimated.
#[derive(Clone)]
pub struct KnownCapacity(pub Arc<CapacityOf>);

impl fmt::Debug for KnownCapacity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KnownCapacity")
    }
}
