//! How good it was: perceptual quality, chunk QoE, fairness indices and statistics.
//!
//! - [`qoe`]: the quality of experience of a chunk and of a session (Minerva, equation 1).
//! - [`curve`]: strictly increasing piecewise linear curves, such as quality over rate.
//! - [`stats`]: means, deviations, quantiles, distribution functions, Jain's index.
//! - [`bootstrap`]: confidence intervals by seeded resampling: plain, paired, nested.
//!
//! Everything here is pure: no I/O, no clock, and randomness comes from an
//! [`airlane_base::Seed`].

pub mod bootstrap;
pub mod curve;
pub mod qoe;
pub mod stats;

pub use bootstrap::{Bootstrap, Interval};
pub use curve::{CurveError, PiecewiseLinear};
pub use qoe::{QoeParams, SessionQoe, Smoothness};
