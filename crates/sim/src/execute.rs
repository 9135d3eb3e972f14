//! From a plan to results: the runs over the cores.

use crate::common::Common;
use crate::error::LabError;
use crate::plan::{Plan, RunKey};
use crate::pool::{self, Job, Ticket};

/// The outcome of the runs of a plan.
#[derive(Debug)]
pub struct PlanOutcome<R> {
    /// The runs that finished, in the order of [`Plan::runs`].
    pub results: Vec<(RunKey, R)>,
    /// Number of runs that were planned.
    pub planned: usize,
    /// True if a stop kept some from finishing.
    pub stopped: bool,
}

/// Does every run of a plan, as many at once as `common` says.
///
/// A run should report its virtual milliseconds to the ticket and end with [`LabError::Stopped`]
/// once a stop was asked for. A stop is no error here: what has finished is in the result.
///
/// # Errors
/// The first error of a run, in the order of the runs; a panic is a [`Fault`](crate::Fault) that
/// names the run and the command that repeats it.
pub fn execute<R: Send>(
    plan: &Plan,
    common: &Common<'_>,
    one: impl Fn(RunKey, &Ticket<'_>) -> Result<R, LabError> + Sync,
) -> Result<PlanOutcome<R>, LabError> {
    let keys: Vec<RunKey> = plan.runs().collect();
    let one = &one;
    let units = u64::try_from(plan.scenario.duration.as_millis()).unwrap_or(u64::MAX);
    let job = |&key: &RunKey| Job {
        label: plan.label(key),
        seed: key.seed,
        command: common.repeat_command(key.seed),
        units,
        work: Box::new(move |ticket: &Ticket<'_>| one(key, ticket)),
    };
    let jobs = keys.iter().map(job).collect();
    let done = pool::run(jobs, common.jobs, &plan.scenario.name, &common.stop, common.progress);
    if let Some(error) = done.error {
        return Err(error);
    }
    let finished = keys.iter().zip(done.results);
    Ok(PlanOutcome {
        planned: keys.len(),
        results: finished.filter_map(|(key, result)| Some((*key, result?))).collect(),
        stopped: done.stopped,
    })
}
