#![doc = include_str!("../README.md")]
//!
//! - [`qoe`]: the quality of experience of a chunk and of a session (Minerva, equation 1).
//! - [`curve`]: strictly increasing piecewise linear curves, such as quality over rate.
//! - [`stats`]: means, deviations, quantiles, distribution functions, Jain's index.
//! - [`clusters`], [`bootstrap`]: means and ratios over independent draws, with intervals by seeded
//!   resampling of whole clusters.
//! - [`shares`]: intervals of shares of yes and no, of their differences, and of quantiles.
//! - [`student`]: Student's t, for few values.

pub mod bootstrap;
pub mod clusters;
pub mod curve;
mod interval;
pub mod qoe;
pub mod shares;
pub mod stats;
pub mod student;

pub use bootstrap::{Bootstrap, MIN_CLUSTERS};
pub use clusters::Cluster;
pub use curve::{CurveError, PiecewiseLinear};
pub use interval::Interval;
pub use qoe::{QoeParams, SessionQoe, Smoothness};
