//! Tests of the package through its public interface.

mod av1;
mod bounds;
mod common;
mod dependency;
mod layers;
mod model;
mod pdu_set;
mod simulcast;
mod throttle;
mod vp8;
mod vp9;
