//! Captures through the crate's public interface.

mod account;
mod clocks;
mod common;
mod files;
mod hostile;
mod round_trip;
mod tshark;
