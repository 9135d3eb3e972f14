//! Tests of the crate as one program: each of several would link all that is below once more.

mod certificates;
mod common;
mod faults;
mod live;
mod live_returns;
mod live_scenes;
mod pages;
mod serve;
mod silent_viewers;
mod strangers;
mod titles;
