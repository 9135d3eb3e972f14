//! The laboratory: scenario to world to records to report; claims and verdicts.
//!
//! - [`scenario`]: who shares which link, under which schemes, from TOML.
//! - [`pool`]: independent worlds over the machine's cores.
//! - [`claims`]: what a paper states, and the rule that judges what was measured.
//! - [`summary`]: what a command leaves: `summary.json` and `run.json`.

pub mod claims;
pub mod error;
pub mod pool;
pub mod scenario;
pub mod summary;

pub use error::{Fault, FaultyRun, LabError};
