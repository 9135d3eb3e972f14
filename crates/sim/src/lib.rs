//! Simulation: from a scenario to worlds in virtual time, and from worlds to figures.
//!
//! - [`plan`]: a scenario with its content and traces, checked, and the runs that it means.
//! - [`world`]: one run, from its network and roles to what came out.
//! - [`workload`]: what a kind of traffic is to the laboratory.
//! - [`pool`], [`execute()`]: independent worlds over the machine's cores.
//! - [`identity`]: what tells runs apart, and what draws are split from.

mod common;
mod error;
mod execute;
mod folder;
pub mod identity;
mod measure;
pub mod pcap;
pub mod plan;
pub mod pool;
mod results;
mod run_info;
mod samples;
pub mod workload;
pub mod world;

pub use common::{Captures, Common, quoted};
pub use error::{Fault, FaultyRun, LabError};
pub use execute::{PlanOutcome, execute};
pub use folder::{CLAIM_PAGES, OutFolder};
pub use measure::network_metrics;
pub use results::Results;
pub use run_info::{COMMIT, RunInfo, VERSION};
pub use samples::{Samples, difference};
