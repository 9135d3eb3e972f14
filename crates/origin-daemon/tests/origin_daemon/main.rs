//! Tests of the crate as one program: each of several would link all that is below once more.

mod certificates;
mod common;
mod faults;
mod pages;
mod serve;
mod strangers;
mod titles;
