//! What is sent: ladders, chunk tables and their statistics.
//!
//! A [`Video`] is a table of sizes and qualities per rung and chunk. [`Perceptual`] is what a
//! player sees of it under one metric. The formats are described in `docs/chunk-tables.md`.

pub mod perceptual;
pub mod synthetic;
pub mod video;

pub use perceptual::Perceptual;
pub use video::{Metric, Rung, Video};
