//! Tests of the crate as one program: each of several would link all that is below once more.

mod film;
mod sessions;
mod stolen_weight;
mod stopping;
mod unread;
