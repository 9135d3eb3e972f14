//! Controllers that another crate brings.

use std::fmt::Debug;

use airlane_base::{Seed, Time};
use serde::{Serialize, Serializer};

use crate::controller::Controller;

/// Kind of controller that another crate brings.
pub trait ControllerKind: Debug + Send + Sync {
    /// Name in scenarios and tables; none of [`Algorithm`](crate::Algorithm)'s.
    fn name(&self) -> &'static str;

    /// The controller of a connection that starts at `now` with packets of `mtu` bytes of UDP payload. What it
    /// draws, it draws from `seed`.
    fn build(&self, now: Time, mtu: u64, seed: Seed) -> Box<dyn Controller>;
}

/// A [`ControllerKind`] as a configuration names it: equal if names are.
#[derive(Clone, Copy, Debug)]
pub struct CustomController(pub &'static dyn ControllerKind);

impl PartialEq for CustomController {
    fn eq(&self, other: &Self) -> bool {
        self.0.name() == other.0.name()
    }
}

impl Serialize for CustomController {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.0.name())
    }
}
