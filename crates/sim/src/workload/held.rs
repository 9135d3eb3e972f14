//! What workloads keep in the kernel's types, in the order of the registry, and how a workload gets
//! its own back.

use std::any::Any;
use std::sync::Arc;

use super::{Draws, Part};

macro_rules! held {
    ($($(#[$doc:meta])+ $name:ident: $of:ty;)+) => {$(
        $(#[$doc])+
        #[derive(Debug, Default)]
        pub struct $name(Vec<$of>);

        impl $name {
            /// All of them, in the order of the registry.
            pub fn new(all: Vec<$of>) -> Self {
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
            pub fn iter(&self) -> impl Iterator<Item = &$of> {
                self.0.iter()
            }
        }
    )+};
}

held! {
    /// Draws of the cases of a plan, by workload.
    AllDraws: Arc<dyn Draws>;
    /// Data that all runs of a plan share, by workload.
    Caches: Arc<dyn Any + Send + Sync>;
    /// Output of a run, by workload.
    Parts: Box<dyn Part>;
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

macro_rules! shared {
    ($($name:ident),+) => {$(
        impl Clone for $name {
            fn clone(&self) -> Self {
                Self(self.0.clone())
            }
        }
    )+};
}

shared!(AllDraws, Caches);
