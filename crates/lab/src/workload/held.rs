//! What workloads keep in the kernel's types, in the order of the registry, and how a workload gets
//! its own back.

use std::any::Any;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::{Cast, Draws, Part, SchemePart};

macro_rules! held {
    ($($(#[$doc:meta])+ $name:ident: $of:ty;)+) => {$(
        $(#[$doc])+
        #[derive(Debug, Default)]
        pub struct $name(Vec<$of>);

        impl $name {
            pub(crate) fn new(all: Vec<$of>) -> Self {
                Self(all)
            }

            /// That of type `T`, a workload's own; `None` if there is none.
            pub fn of<T: 'static>(&self) -> Option<&T> {
                self.0.iter().find_map(|held| {
                    let held: &dyn Any = &**held;
                    held.downcast_ref()
                })
            }

            /// All of them.
            #[allow(dead_code, reason = "not all of them are asked for as a whole")]
            pub(crate) fn iter(&self) -> impl Iterator<Item = &$of> {
                self.0.iter()
            }
        }
    )+};
}

held! {
    /// Who takes part in a scenario, by workload.
    Casts: Arc<dyn Cast>;
    /// What a scheme says of workloads; nothing of those that it does not mention.
    SchemeParts: Arc<dyn SchemePart>;
    /// What the cases of a plan draw, by workload.
    AllDraws: Arc<dyn Draws>;
    /// What all runs of a plan share, by workload.
    Stocks: Arc<dyn Any + Send + Sync>;
    /// What came out of a run, by workload.
    Parts: Box<dyn Part>;
}

impl Casts {
    /// Leaves out those in which nobody takes part.
    pub(crate) fn leave_out_empty(&mut self) {
        self.0.retain(|cast| !cast.is_empty());
    }
}

impl Parts {
    /// As [`Self::of`], to be changed.
    pub fn of_mut<T: 'static>(&mut self) -> Option<&mut T> {
        self.0.iter_mut().find_map(|held| {
            let held: &mut dyn Any = &mut **held;
            held.downcast_mut()
        })
    }
}

macro_rules! serialised {
    ($($name:ident),+) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_newtype_struct(stringify!($name), &self.0)
            }
        }
    )+};
}

serialised!(Casts, SchemeParts);

macro_rules! shared {
    ($($name:ident),+) => {$(
        impl Clone for $name {
            fn clone(&self) -> Self {
                Self(self.0.clone())
            }
        }
    )+};
}

shared!(Casts, SchemeParts, AllDraws, Stocks);
