//! Our congestion controllers behind noq's trait, and the handle to reach one while it runs.
//!
//! noq owns the controller of a connection. What it owns here is an [`Adapter`] that shares its
//! state with a [`ControlHandle`]: one lock, taken once per packet sent, acknowledged or lost.
//! What noq asks several times per packet (the window, and whether the pacer holds) is published in
//! atomics, so that asking takes no lock.

mod adapter;
mod core;
mod handle;
mod table;

pub(crate) use adapter::Factory;
pub(crate) use handle::Shared;
pub use handle::{ControlHandle, ControlStats};
