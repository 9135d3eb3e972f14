//! The laboratory: scenario to world to records to report; claims and verdicts.
//!
//! - [`scenario`]: who shares which link, under which schemes, from TOML.
//! - [`plan`]: a scenario with its content and traces, checked, and the runs that it means.
//! - [`execute`]: the runs of a plan, and what they leave.
//! - [`pool`]: independent worlds over the machine's cores.
//! - [`request`]: what a front asks of the laboratory.
//! - [`claims`]: what a paper states, and the rule that judges what was measured.
//! - [`summary`]: what a command leaves: `summary.json` and `run.json`.

pub mod claims;
pub mod error;
pub mod execute;
pub mod plan;
pub mod pool;
pub mod request;
pub mod scenario;
pub mod summary;

pub use error::{Fault, FaultyRun, LabError};
