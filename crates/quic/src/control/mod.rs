//! Our congestion controllers behind noq's trait, and the handle to reach one while it runs.
//!
//! noq owns the controllers of a connection's paths. What it owns here are adapters (`noq.rs`, which
//! says what noq makes necessary) that share a state with [`ControlHandle`]s: one lock, taken once per
//! packet sent, acknowledged or lost.

mod core;
mod handle;
mod noq;

pub use handle::{ControlHandle, ControlStats};
pub(crate) use noq::{Factory, Shared};
