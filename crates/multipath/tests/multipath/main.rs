//! Tests of the crate as one program: each of several would link all that is below once more.

mod ended;
mod hostile_peers;
mod interface_configs;
mod keystrokes;
mod peers;
mod subflows;
mod sums;
mod world;
