//! What is sent: ladders, chunk tables and their statistics.

pub mod video;

pub use video::{Metric, Rung, Video};
