//! From a plan to results: the runs over the cores, and what they leave.

use crate::error::LabError;
use crate::plan::{Plan, RunKey};
use crate::pool::{self, Job, Ticket};
use crate::request::Common;
use crate::summary::{OutFolder, RunInfo, Summary};

/// The outcome of the runs of a plan.
#[derive(Debug)]
pub struct Executed<R> {
    /// The runs that finished, in the order of [`Plan::runs`].
    pub results: Vec<(RunKey, R)>,
    /// How many were planned.
    pub planned: usize,
    /// Whether a stop kept some from finishing.
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
) -> Result<Executed<R>, LabError> {
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
    Ok(Executed {
        planned: keys.len(),
        results: finished.filter_map(|(key, result)| Some((*key, result?))).collect(),
        stopped: done.stopped,
    })
}

/// Leaves `summary.json`, `report.html` and, as the sign that all of it is there, `run.json`.
///
/// # Errors
/// If the disk refuses, or if a figure is no number.
pub fn leave(
    folder: &OutFolder,
    common: &Common<'_>,
    summary: &Summary,
    report_html: &str,
    (planned, stopped): (usize, bool),
) -> Result<(), LabError> {
    let finished = summary.runs.len();
    let course = Course { planned, finished, reused: 0, stopped };
    leave_after(folder, common, summary, report_html, course)
}

/// How the runs of a command went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    /// How many were planned.
    pub(crate) planned: usize,
    /// How many of them finished; a summary may tell of one more than once.
    pub(crate) finished: usize,
    /// How many an earlier start had finished.
    pub(crate) reused: usize,
    /// Whether a stop kept some from finishing.
    pub(crate) stopped: bool,
}

/// As [`leave`].
pub(crate) fn leave_after(
    folder: &OutFolder,
    common: &Common<'_>,
    summary: &Summary,
    report_html: &str,
    Course { planned, finished, reused, stopped }: Course,
) -> Result<(), LabError> {
    let text = summary.to_json().map_err(|e| LabError::fault(e.to_string()))?;
    folder.write("summary.json", text.as_bytes())?;
    folder.write("report.html", report_html.as_bytes())?;
    let info = RunInfo {
        wall_s: (common.elapsed)().as_secs_f64(),
        runs_planned: planned,
        runs_finished: finished,
        runs_reused: reused,
        stopped,
        ..common.circumstances.clone()
    };
    folder.write("run.json", info.to_json().as_bytes())?;
    Ok(())
}
