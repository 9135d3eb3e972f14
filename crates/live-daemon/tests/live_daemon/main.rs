//! Tests of the crate as one program: each of several would link all that is below once more.

mod common;
mod live;
mod live_returns;
mod live_scenes;
mod silent_viewers;
