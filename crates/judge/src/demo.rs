//! The command `demo`: the first thing that a newcomer runs.

use std::path::Path;

use crate::reporting::RunReport;
use crate::request::{DemoRequest, Outcome};
use crate::run::{leave_told, told};
use crate::{Demo, Registry};
use airlane_scenario::Scenario;
use airlane_sim::Common;
use airlane_sim::LabError;

/// The title of the page.
const TITLE: &str = "What Airlane does";

/// Runs one scenario of each system, and leaves what [`run`](crate::run::run) leaves, with a section
/// for each.
///
/// # Errors
/// As [`run`](crate::run::run).
pub fn demo(registry: &Registry, request: &DemoRequest<'_>) -> Result<Outcome, LabError> {
    let common = &request.common;
    let mut stories = Vec::new();
    let (mut planned, mut stopped) = (0, false);
    let scenarios = registry.scenarios();
    for workload in registry.workloads() {
        let Some(Demo { scenario: name, duration_s }) = workload.demo() else { continue };
        let Some((_, text)) = scenarios.embedded().find(|(known, _)| *known == name) else {
            return Err(LabError::fault(format!("no scenario \"{name}\" in this build")));
        };
        let set = Vec::from_iter(duration_s.map(|seconds| format!("duration_s={seconds}")));
        let scenario = Scenario::from_bytes(scenarios, text.as_bytes(), Path::new(name), &set)?;
        // A trace takes the place of the only bottleneck; where there are several it has none.
        let has_one = scenario.network.bottleneck().is_some();
        let traces = if has_one { common.traces.clone() } else { Vec::new() };
        let content = common.content.clone().filter(|_| workload.demo_takes_content());
        let told = told(scenario, &Common { traces, content, ..common.clone() })?;
        stories.push(told.report);
        (planned, stopped) = (planned + told.planned, told.stopped);
        if stopped {
            break;
        }
    }
    leave_told(joined(stories), (planned, stopped), common)
}

/// Several stories as one.
fn joined(stories: Vec<RunReport>) -> RunReport {
    let titled = |story: &RunReport| format!("{}\n{}", story.report.title, story.table);
    let tables: Vec<String> = stories.iter().map(titled).collect();
    let verdicts: Vec<String> = stories.iter().map(|story| story.verdict.clone()).collect();
    let failed = stories.iter().map(|story| story.failed).sum();
    let (summaries, reports): (Vec<_>, Vec<_>) =
        stories.into_iter().map(|story| (story.summary, story.report)).unzip();
    let mut report = airlane_report::merge(reports);
    TITLE.clone_into(&mut report.title);
    RunReport {
        summary: crate::summary::Summary::joined("demo", summaries),
        report,
        table: tables.join("\n"),
        verdict: verdicts.join(" "),
        failed,
    }
}
