//! Virtual time: a deterministic executor that drives an emulated network.
//!
//! Everything happens on the thread that calls [`World::run`]. Tasks run until none is ready, then
//! the clock jumps to the next thing that happens: the network lets a packet go, or a timer fires. Ties go by (time, sequence). So a run is a function of its seed alone.

mod alone;
mod executor;
mod hosts;
mod timers;
mod world;

pub use alone::run_alone;
pub use world::{Fabric, World, WorldError, WorldStats};
