//! Schemes that are written in Python: congestion controllers, bitrate rules, queues and allocators of
//! layers of a scenario.
//!
//! A class becomes a kind of the laboratory's registry. Kinds live for as long as the process: a class has one,
//! however often it is used, so their number is that of the classes. An exception in a scheme ends its run with an
//! error that names class, method, line and virtual time.

mod abr;
mod controller;
mod fault;
mod layers;
mod queue;

use std::sync::Arc;

use airlane_judge::Registry;
use parking_lot::Mutex;
use pyo3::prelude::*;

pub(crate) use abr::PlayerView;
pub(crate) use controller::{Ack, Loss};
pub(crate) use fault::cause_of;
pub(crate) use layers::{ReceiverView, VideoView};
pub(crate) use queue::QueuedPacket;

/// Classes that a scenario uses, each with its name in scenarios.
#[derive(Default, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Schemes {
    controllers: Vec<(String, f64, Py<PyAny>)>,
    abrs: Vec<(String, Py<PyAny>)>,
    queues: Vec<(String, Py<PyAny>)>,
    allocators: Vec<(String, Py<PyAny>)>,
}

/// Kinds that classes have become, by the class.
struct Kinds<T: 'static>(Mutex<Vec<(usize, &'static T)>>);

impl<T> Kinds<T> {
    const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// The kind of a class, which keeps the class from being freed: its address is its own.
    fn of(
        &self,
        class: &Py<PyAny>,
        is_same: impl Fn(&T) -> bool,
        make: impl FnOnce() -> T,
    ) -> &'static T {
        let address = class.as_ptr() as usize;
        let mut kinds = self.0.lock();
        let known = kinds.iter().find(|(of, kind)| *of == address && is_same(kind));
        if let Some((_, kind)) = known {
            return kind;
        }
        let kind: &'static T = Box::leak(Box::new(make()));
        kinds.push((address, kind));
        kind
    }
}

impl Schemes {
    /// The laboratory's registry with these schemes.
    pub(crate) fn registry(&self, py: Python<'_>) -> Registry {
        let mut registry = airlane_lab::registry().clone();
        for (name, interval_s, class) in &self.controllers {
            registry = registry.with_controller(controller::kind(py, name, *interval_s, class));
        }
        for (name, class) in &self.abrs {
            registry = registry.with_word("abr", Arc::new(abr::kind(py, name, class)));
        }
        for (name, class) in &self.allocators {
            let word = Arc::new(layers::kind(py, name, class));
            registry = registry.with_word("call_allocator", word);
        }
        for (name, class) in &self.queues {
            registry = registry.with_queue(queue::kind(py, name, class));
        }
        registry
    }
}

/// A name that lives for as long as the process.
fn kept(name: &str) -> &'static str {
    Box::leak(name.to_owned().into_boxed_str())
}
