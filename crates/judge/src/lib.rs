//! Judgement: from the results of runs to reports, sweeps, differences, claims and their verdicts.
//!
//! - [`run()`], [`demo()`], [`report()`], [`sweep()`], [`mod@reproduce`], [`diff()`]: the commands.
//! - [`request`]: what a front asks of them.
//! - [`claims`]: what a paper states, and the rule that judges what was measured.
//! - [`reporting`]: the figures of runs, and the report that they make.
//! - [`verdicts`]: tables of recorded verdicts in pages of documentation.
//! - [`summary`]: what a command leaves: `summary.json`.

pub mod claims;
mod demo;
pub mod diff;
mod journal;
mod leave;
mod pending;
pub mod record;
mod registry;
pub mod reporting;
pub mod reproduce;
pub mod request;
mod run;
pub mod summary;
pub mod sweep;
pub mod verdicts;

pub use demo::demo;
pub use diff::diff;
pub use journal::set_program;
pub use leave::leave;
pub use pending::PendingWorld;
pub use registry::{Demo, ExternalResult, Registry, Workload};
pub use reproduce::{ClaimWorlds, Reproduction, reproduce};
pub use run::{OverTimeOf, ScenarioReport, report, run, run_to_report};
pub use sweep::{Sweep, SweepWorlds, sweep};
