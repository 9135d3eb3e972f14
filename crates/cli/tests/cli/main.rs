//! The command line as people use it. One binary, since each links all that the command does.

mod airtime;
mod command;
mod common;
mod dist;
#[cfg(target_os = "linux")]
mod live;
mod restart;
mod runs;
mod serve;
mod sweeps;
mod tunnel;
