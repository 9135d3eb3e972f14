//! What needs a real ffmpeg. Without one these tests say what they left out; with
//! `AIRLANE_STRICT=1` they fail.

mod common;
mod layered;
mod measure;
mod oddities;
mod titles;
mod trouble;
