//! The laboratory: scenario to world to records to report; claims and verdicts.
//!
//! - [`scenario`]: who shares which link, under which schemes, from TOML.
//! - [`plan`]: a scenario with its content and traces, checked, and the runs that it means.
//! - [`execute`]: the runs of a plan, and what they leave.
//! - [`workload`]: what a kind of traffic is to the laboratory; [`workloads`]: those there are.
//! - [`world`]: one run, from its network and roles to what came out.
//! - [`pool`]: independent worlds over the machine's cores.
//! - [`mod@reproduce`]: a paper's claims, measured and judged.
//! - [`mod@sweep`]: a scenario under every combination of some values, with a journal.
//! - [`mod@airtime`]: who used the air in a capture.
//! - [`mod@diff`]: what changed between two results.
//! - [`request`]: what a front asks of the laboratory.
//! - [`claims`]: what a paper states, and the rule that judges what was measured.
//! - [`story`]: the figures of runs, and the report that they make.
//! - [`run()`], [`demo()`], [`report()`], [`sweep()`], [`diff()`]: the commands.
//! - [`summary`]: what a command leaves: `summary.json` and `run.json`.

pub mod airtime;
pub mod claims;
mod demo;
pub mod diff;
pub mod error;
pub mod execute;
mod identity;
mod journal;
mod multipath;
mod pcap;
pub mod plan;
pub mod pool;
pub mod reproduce;
pub mod request;
mod run;
pub mod scenario;
pub mod story;
pub mod summary;
pub mod sweep;
pub mod workload;
pub mod workloads;
pub mod world;

pub use airtime::airtime;
pub use demo::demo;
pub use diff::diff;
pub use error::{Fault, FaultyRun, LabError};
pub use reproduce::reproduce;
pub use run::{report, run};
pub use sweep::sweep;
