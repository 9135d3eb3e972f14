//! Runs of a scenario.

use std::path::PathBuf;

use airlane_judge::OverTimeOf;
use airlane_scenario::Cipher;
use airlane_sim::plan::GivenTrace;
use pyo3::prelude::*;

use crate::result::RunOutcome;
use crate::scenario::Source;
use crate::worker::Work;

/// A trace: access, path and column.
#[derive(FromPyObject)]
pub(crate) struct Trace(Option<String>, PathBuf, Option<String>);

impl Trace {
    /// Trace as the laboratory takes it.
    pub(crate) fn given(self) -> GivenTrace {
        let Self(access, path, column) = self;
        GivenTrace { access, path, column }
    }
}

/// Options of a run.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct RunOptions<'py> {
    jobs: Option<usize>,
    all_over_time: bool,
    traces: Vec<Trace>,
    content: Option<PathBuf>,
    tls: bool,
    command: Vec<String>,
    progress: Option<Bound<'py, PyAny>>,
}

/// Runs a scenario under each of its schemes and seeds.
#[pyfunction]
pub(crate) fn run(py: Python<'_>, source: Source, options: RunOptions<'_>) -> PyResult<RunOutcome> {
    let RunOptions { jobs, all_over_time, traces, content, tls, command, progress } = options;
    let scenario = source.scenario(py)?;
    let traces = traces.into_iter().map(Trace::given).collect();
    let over_time = if all_over_time { OverTimeOf::All } else { OverTimeOf::Drawn };
    let report = Work { jobs, command, progress }.run(py, |common| {
        let cipher = tls.then_some(Cipher::Tls);
        let common = airlane_sim::Common { traces, content, cipher, ..common };
        airlane_judge::run_to_report(scenario, &common, over_time)
    })?;
    Ok(RunOutcome::new(report.report))
}
