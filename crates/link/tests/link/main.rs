//! Tests of the crate as one program: each of several would link all that is below once more.

mod clients;
mod common;
mod engine;
mod half_duplex;
mod ip;
mod segments;
mod settings;
mod tun;
mod udp;
