//! What a command leaves in its folder.

use airlane_sim::{Common, LabError, OutFolder, RunInfo};

use crate::summary::Summary;

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
    let course = RunCounts { planned, finished, reused: 0, stopped };
    leave_after(folder, common, summary, report_html, course)
}

/// Numbers of runs of a command.
#[derive(Clone, Copy, Debug)]
pub struct RunCounts {
    /// Number of runs that were planned.
    pub planned: usize,
    /// Number of them that finished; a summary may tell of one more than once.
    pub finished: usize,
    /// Number of them that an earlier start had finished.
    pub reused: usize,
    /// True if a stop kept some from finishing.
    pub stopped: bool,
}

/// As [`leave`].
pub fn leave_after(
    folder: &OutFolder,
    common: &Common<'_>,
    summary: &Summary,
    report_html: &str,
    RunCounts { planned, finished, reused, stopped }: RunCounts,
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
