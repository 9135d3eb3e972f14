//! The airlane command.
fn main() {}
