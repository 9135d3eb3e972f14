//! Tests of the crate as one program: each of several would link all that is below once more.

mod media_path;
mod media_path_moves;
#[path = "../../../multipath/tests/multipath/world.rs"]
#[expect(dead_code, reason = "the tests of sessions use more of it")]
mod world;
