//! Tests of the crate as one program: each of several would link all that is below once more.

mod durations;
mod errors;
mod exchange;
mod mobility;
mod propagation;
mod rates;
mod viterbi;
