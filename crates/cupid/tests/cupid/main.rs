//! Tests of the crate as one program: each of several would link all that is below once more.

mod agent;
mod air;
mod estimator;
mod feedback;
mod fluid;
mod isolation;
mod lossy;
mod passive_observer;
mod sources;
