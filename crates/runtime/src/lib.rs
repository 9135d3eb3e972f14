//! The Runtime trait and its two halves: tokio and virtual time.
//!
//! A role is written once, as async Rust against [`Runtime`]. The daemons run it on real sockets
//! and clocks, the laboratory on a single-threaded deterministic executor with a nanosecond clock
//! and an emulated network.

pub mod api;
pub mod real_time;
pub mod virtual_time;
mod watched;

pub use api::{
    BoxFuture, Datagram, Received, Runtime, RuntimeExt, RuntimeHandle, Sleep, Timer, UdpSocket,
};
pub use watched::Watched;
