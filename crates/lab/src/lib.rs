//! The laboratory: scenario to world to records to report; claims and verdicts.
//!
//! - [`scenario`]: who shares which link, under which schemes, from TOML.
//! - [`plan`]: a scenario with its content and traces, checked, and the runs that it means.
//! - [`execute`]: the runs of a plan, and what they leave.
//! - [`world`]: one run, from its network and roles to what came out.
//! - [`pool`]: independent worlds over the machine's cores.
//! - [`mod@reproduce`]: a paper's claims, measured and judged.
//! - [`mod@sweep`]: a scenario under every combination of some values, with a journal.
//! - [`mod@diff`]: what changed between two results.
//! - [`request`]: what a front asks of the laboratory.
//! - [`mod@normalise`]: Minerva's normalisation of a corpus, to be loaded by servers and scenarios.
//! - [`minerva_files`]: what schemes read from files of their own.
//! - [`popularity`]: how popular each title is.
//! - [`claims`]: what a paper states, and the rule that judges what was measured.
//! - [`story`]: the figures of runs, and the report that they make.
//! - [`run()`], [`demo()`], [`report()`], [`sweep()`], [`diff()`]: the commands.
//! - [`summary`]: what a command leaves: `summary.json` and `run.json`.

mod browsers;
pub mod claims;
mod demo;
pub mod diff;
pub mod error;
pub mod execute;
pub mod minerva_files;
pub mod normalise;
mod pcap;
pub mod plan;
pub mod pool;
pub mod popularity;
pub mod reproduce;
pub mod request;
mod run;
pub mod scenario;
pub mod story;
pub mod summary;
pub mod sweep;
pub mod world;

pub use demo::demo;
pub use diff::diff;
pub use error::{Fault, FaultyRun, LabError};
pub use normalise::normalise;
pub use reproduce::reproduce;
pub use run::{report, run};
pub use sweep::sweep;
