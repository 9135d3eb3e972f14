//! Captures through the crate's public interface.

mod account;
mod common;
mod files;
mod hostile;
mod round_trip;
mod tshark;
