//! The laboratory: the workloads that Airlane knows, and the commands with them.

mod multipath;
pub mod workloads;

use std::slice;
use std::sync::LazyLock;

use airlane_base::InputError;
use airlane_judge::claims::ClaimSet;
use airlane_judge::request::{
    DemoRequest, Outcome, RecordCheckRequest, ReportRequest, ReproduceRequest, RunRequest,
    SweepRequest,
};
use airlane_sim::LabError;

pub use workloads::registry;

/// Words of scenarios that the workloads give ([`airlane_scenario::words!`]).
pub enum Vocabulary {}

/// Runs a scenario ([`airlane_judge::run`]).
///
/// # Errors
/// As there.
pub fn run(request: &RunRequest<'_>) -> Result<Outcome, LabError> {
    airlane_judge::run(registry(), request)
}

/// Runs the demonstration scenarios ([`airlane_judge::demo`]).
///
/// # Errors
/// As there.
pub fn demo(request: &DemoRequest<'_>) -> Result<Outcome, LabError> {
    airlane_judge::demo(registry(), request)
}

/// Makes one page of several results ([`airlane_judge::report`]).
///
/// # Errors
/// As there.
pub fn report(request: &ReportRequest) -> Result<Outcome, LabError> {
    airlane_judge::report(registry(), request)
}

/// Runs a scenario under every combination of some values ([`airlane_judge::sweep()`]).
///
/// # Errors
/// As there.
pub fn sweep(request: &SweepRequest<'_>) -> Result<Outcome, LabError> {
    airlane_judge::sweep(registry(), request)
}

/// Tells whether recorded verdicts stand ([`airlane_judge::reproduce::check_record`]).
///
/// # Errors
/// As there.
pub fn check_record(request: &RecordCheckRequest<'_>) -> Result<Outcome, LabError> {
    airlane_judge::reproduce::check_record(claim_sets(&request.system)?, request)
}

/// Measures and judges claims ([`airlane_judge::reproduce()`]).
///
/// # Errors
/// As there.
pub fn reproduce(request: &ReproduceRequest<'_>) -> Result<Outcome, LabError> {
    airlane_judge::reproduce(claim_sets(&request.system)?, request)
}

/// Claims of a system, or of `all`, which are read once.
///
/// # Errors
/// If there is no such system.
pub fn claim_sets(system: &str) -> Result<&'static [ClaimSet], InputError> {
    static ALL: LazyLock<Result<Vec<ClaimSet>, InputError>> = LazyLock::new(|| {
        let systems = registry().claims();
        systems.map(|(name, _)| ClaimSet::of_system(registry(), name)).collect()
    });
    let all = ALL.as_ref().map_err(Clone::clone)?;
    if system == "all" {
        return Ok(all);
    }
    let known = all.iter().find(|set| set.system == system);
    known.map(slice::from_ref).ok_or_else(|| ClaimSet::unknown(registry(), system))
}
