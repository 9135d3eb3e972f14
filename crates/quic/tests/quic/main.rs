//! Tests of the crate as one program: each of several would link all that is below once more.

mod admission;
mod common;
mod driver;
mod ecn;
mod faults;
mod http3;
mod http3_malformed;
mod loopback;
mod migration;
mod mtu;
mod qlog;
mod reports;
mod shards;
mod sharing;
mod virtual_time;
