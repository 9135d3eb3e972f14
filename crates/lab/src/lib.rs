//! The laboratory: scenario to world to records to report; claims and verdicts.

pub mod scenario;
