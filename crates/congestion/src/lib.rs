//! Congestion controllers behind one trait, pure.

pub mod controller;

pub use controller::{Ack, Controller, Loss, RateSample, Rtt, Sent};
