//! The commands `run` and `report`: from a scenario to results, from results to a page.

use std::fs;
use std::path::{Path, PathBuf};

use airlane_base::InputError;
use airlane_report::Report;

use crate::leave::leave;
use crate::reporting::{self, ReportedRun, RunReport};
use crate::request::{Outcome, ReportRequest, RunRequest};
use crate::{ExternalResult, Registry};
use airlane_scenario::Scenario;
use airlane_sim::Common;
use airlane_sim::LabError;
use airlane_sim::OutFolder;
use airlane_sim::execute;
use airlane_sim::plan::Plan;
use airlane_sim::workload::Caches;
use airlane_sim::world::{self, Options};

/// The report as data, from which `airlane report` makes pages again.
const DATA: &str = "report.json.gz";

/// Runs a scenario and leaves `summary.json`, `report.html`, `report.json.gz` and `run.json`.
///
/// A stop is no error: what had finished is written, and the outcome says so.
///
/// # Errors
/// What is wrong with the input, before anything runs; the first fault of a run; what the disk
/// refuses.
pub fn run(registry: &Registry, request: &RunRequest<'_>) -> Result<Outcome, LabError> {
    let scenario = Scenario::from_file(registry.scenarios(), &request.scenario, &request.set)?;
    run_scenario(scenario, &request.common)
}

/// Runs a scenario that has been read.
pub fn run_scenario(scenario: Scenario, common: &Common<'_>) -> Result<Outcome, LabError> {
    let told = told(scenario, common)?;
    leave_told(told.report, (told.planned, told.stopped), common)
}

/// Report on a scenario that has been run, with the number of its runs.
#[derive(Debug)]
pub struct ScenarioReport {
    /// Figures, page and table.
    pub report: RunReport,
    /// Number of runs that were planned.
    pub planned: usize,
    /// True if a stop kept some from finishing.
    pub stopped: bool,
}

/// Runs of which the course over time is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OverTimeOf {
    /// Those that the page draws: the first seed of the first cases.
    #[default]
    Drawn,
    /// All. The page draws all of them too.
    All,
}

/// Runs a scenario.
pub fn told(scenario: Scenario, common: &Common<'_>) -> Result<ScenarioReport, LabError> {
    let prepare = || OutFolder::prepare(&common.out).map(drop);
    told_of(Plan::new(scenario, common)?, common, OverTimeOf::Drawn, prepare)
}

/// Runs a scenario and returns its report. Nothing is written but the captures that `common` asks for: the folder
/// of `common` is not used.
///
/// # Errors
/// As [`run`], without those of the folder.
pub fn run_to_report(
    scenario: Scenario,
    common: &Common<'_>,
    over_time: OverTimeOf,
) -> Result<ScenarioReport, LabError> {
    told_of(Plan::new(scenario, common)?, common, over_time, || Ok(()))
}

/// Does the runs of a plan, after `prepare`.
fn told_of(
    plan: Plan,
    common: &Common<'_>,
    over_time: OverTimeOf,
    prepare: impl FnOnce() -> Result<(), InputError>,
) -> Result<ScenarioReport, LabError> {
    let caches = Caches::of_plan(&plan)?;
    common.captures.prepare()?;
    prepare()?;
    let options = Options { captures: common.captures.clone(), ..Options::default() };
    let done = execute(&plan, common, |key, ticket| {
        let output = world::run(&plan, &caches, key, &options, ticket)?;
        let mut run = ReportedRun::of(&plan, &output);
        if over_time == OverTimeOf::All && run.series.is_none() {
            run.series = Some(reporting::over_time(&plan, &output));
        }
        Ok(run)
    })?;
    let (planned, stopped) = (done.planned, done.stopped);
    let runs = done.results.into_iter().map(|(_, run)| run).collect();
    let report = reporting::tell(&plan, &caches, common, runs, (planned, stopped));
    Ok(ScenarioReport { report, planned, stopped })
}

/// Leaves a report in the folder of `common`.
pub fn leave_told(
    story: RunReport,
    (planned, stopped): (usize, bool),
    common: &Common<'_>,
) -> Result<Outcome, LabError> {
    let folder = OutFolder::prepare(&common.out)?;
    folder.write(DATA, &story.report.to_json_gz())?;
    let page = airlane_report::render(&story.report);
    leave(&folder, common, &story.summary, &page, (planned, stopped))?;
    let report = folder.path("report.html");
    Ok(Outcome {
        table: story.table,
        line: format!("{} Report: {}", story.verdict, report.display()).trim_start().to_owned(),
        out: common.out.clone(),
        failed: story.failed,
        stopped,
    })
}

/// Makes one page of the results in several folders.
///
/// # Errors
/// If a folder holds no report, or if the page would take the place of one that it is made of.
pub fn report(registry: &Registry, request: &ReportRequest) -> Result<Outcome, LabError> {
    if let [folder] = request.folders.as_slice()
        && let Some(found) = registry.workloads().iter().find_map(|w| w.measured_elsewhere(folder))
    {
        return report_of_measured(found?, &request.out);
    }
    let reports: Vec<Report> =
        request.folders.iter().map(|folder| read(folder)).collect::<Result<_, _>>()?;
    let out = fs::canonicalize(&request.out).ok();
    let own = |folder: &PathBuf| out.is_some() && fs::canonicalize(folder).ok() == out;
    if let Some(folder) = request.folders.iter().find(|f| own(f)) {
        let expected = "expected a folder other than those that the page is made of: see --out";
        return Err(InputError::new("the page would replace this one", expected)
            .at_file(folder)
            .into());
    }
    let whole = airlane_report::merge(reports);
    let folder = OutFolder::prepare(&request.out)?;
    let page = leave_page(&folder, &whole)?;
    let of = match request.folders.len() {
        1 => "1 result".to_owned(),
        n => format!("{n} results"),
    };
    Ok(Outcome {
        table: String::new(),
        line: format!("{of}. Report: {}", page.display()),
        out: request.out.clone(),
        failed: 0,
        stopped: false,
    })
}

/// Leaves the page and the summary of what was measured elsewhere, beside what the laboratory says
/// of it.
fn report_of_measured(found: ExternalResult, out: &Path) -> Result<Outcome, LabError> {
    let out_folder = OutFolder::prepare(out)?;
    let page = leave_page(&out_folder, &found.report)?;
    let summary = found.summary.to_json().map_err(|e| LabError::fault(e.to_string()))?;
    out_folder.write("summary.json", summary.as_bytes())?;
    Ok(Outcome {
        table: found.table,
        line: format!("{} Report: {}", found.report.verdict, page.display()),
        out: out.to_owned(),
        failed: found.failed,
        stopped: false,
    })
}

/// Leaves a report as data and as a page, whose file this is.
fn leave_page(folder: &OutFolder, report: &Report) -> Result<PathBuf, InputError> {
    folder.write(DATA, &report.to_json_gz())?;
    folder.write("report.html", airlane_report::render(report).as_bytes())?;
    Ok(folder.path("report.html"))
}

/// The report that a command left in a folder, or that a file holds.
fn read(path: &Path) -> Result<Report, InputError> {
    let file = if path.is_dir() { path.join(DATA) } else { path.to_owned() };
    let bytes = fs::read(&file).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => {
            let expected = format!("expected a folder that airlane left, with {DATA} in it");
            InputError::new("no report here", expected).at_file(path)
        }
        _ => InputError::io(&file, "read the report", &e),
    })?;
    Report::from_json(&bytes).map_err(|e| e.at_file(&file))
}
