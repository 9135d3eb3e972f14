//! Turns finished runs into figures, the report and the table on the terminal.
//!
//! Everything is computed from what the runs left ([`RunResult`]); no sentence is fixed
//! beforehand.

mod about;
mod air;
mod measure;
mod series;
mod tables;
mod terminal;
pub mod words;

use airlane_report::Report;
use airlane_report::model::{Run, Section};

pub use about::{terms, who};
pub use airlane_sim::{Results, Samples, difference};
pub use measure::{claim_run, entry, rows};
pub use series::{run as over_time, series};
pub use tables::{by_actor, cdf_lines, cell, headlines, over};
pub use terminal::aligned;
pub use words::scheme_note;

use crate::summary::Summary;
use airlane_sim::Common;
use airlane_sim::plan::{Plan, RunKey};
use airlane_sim::workload::{Caches, RunResult, traffic_of};
use airlane_sim::world::RunOutput;
use words::plural;

/// Cases that are drawn over time, if there are several.
pub const DRAWN_CASES: usize = 3;

/// Data of a run that is kept for the report.
#[derive(Clone, Debug)]
pub struct ReportedRun {
    /// Key of the run.
    pub key: RunKey,
    /// Its result.
    pub result: RunResult,
    /// Course of the run over time, for runs that are drawn.
    pub series: Option<Run>,
}

impl ReportedRun {
    /// Data to keep of a run of `plan`.
    pub fn of(plan: &Plan, output: &RunOutput) -> Self {
        Self {
            key: output.key,
            result: output.result(plan),
            series: is_drawn(plan, output.key).then(|| series::run(plan, output)),
        }
    }
}

/// True if a run is drawn over time: the first seed of the first cases. A report of all of them
/// would be too large to open.
pub fn is_drawn(plan: &Plan, key: RunKey) -> bool {
    key.case < DRAWN_CASES && Some(&key.seed) == plan.scenario.seeds.first()
}

/// Report on the runs of a plan.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// Summary: all that the seeds determine.
    pub summary: Summary,
    /// The page.
    pub report: Report,
    /// A table for the terminal.
    pub table: String,
    /// One sentence, computed from the figures.
    pub verdict: String,
    /// Sessions and transfers that failed.
    pub failed: usize,
}

/// Reports on the runs of `plan` that finished, in the order of the plan; `planned` says
/// how many there should be, `stopped` whether a stop kept some from finishing.
pub fn tell(
    plan: &Plan,
    caches: &Caches,
    common: &Common<'_>,
    told: Vec<ReportedRun>,
    (planned, stopped): (usize, bool),
) -> RunReport {
    let scenario = &plan.scenario;
    let results = Results::new(plan, told.iter().map(|t| (t.key, &t.result)));

    let mut summary = Summary::new(&scenario.name, scenario.seeds.clone());
    for ReportedRun { key, result, .. } in &told {
        let run = entry(plan, &scenario.name, *key, result);
        summary.virtual_s += result.virtual_s;
        summary.rows.extend(rows(&run, result));
        summary.runs.push(run);
    }

    let (sessions, failed) = results.sessions();
    let verdict = verdict(&results, (sessions, failed), (planned, stopped));
    let mut report = Report::new(&scenario.title);
    report.verdict.clone_from(&verdict);
    report.lead = about::lead(plan);
    let mut section =
        Section { facts: about::facts(plan), schemes: about::schemes(plan), ..Section::default() };
    section.runs = told.iter().filter_map(|t| t.series.clone()).collect();
    if !told.is_empty() {
        fill(&mut section, &results, caches);
    }
    report.sections = vec![section];
    report.terms = about::terms(plan);
    report.notes = about::notes(&results, (planned, stopped));
    report.provenance = about::provenance(&results, common);
    let table = terminal::table(&results);
    RunReport { summary, report, table, verdict, failed }
}

fn fill(section: &mut Section, results: &Results<'_>, caches: &Caches) {
    section.tables = vec![tables::by_scheme(results)];
    for traffic in traffic_of(&results.plan.scenario).filter(|traffic| !traffic.is_empty()) {
        let own = traffic.section(results, caches);
        section.tables.extend(own.tables);
        section.dots.extend(own.dots);
        section.curves.extend(own.curves);
        section.cdfs.extend(own.cdfs);
    }
    section.tables.extend(tables::by_access(results));
}

fn verdict(
    results: &Results<'_>,
    (sessions, failed): (usize, usize),
    (planned, stopped): (usize, bool),
) -> String {
    let mut parts = results.plan.scenario.network.warnings();
    if stopped {
        parts.push(format!("Stopped after {} of {planned} runs.", results.all().count()));
    }
    if failed > 0 {
        parts.push(format!("{} of {} failed.", failed, plural(sessions, "session")));
    }
    if results.all().next().is_some() {
        let mut participants =
            traffic_of(&results.plan.scenario).filter(|traffic| !traffic.is_empty());
        parts.extend(participants.find_map(|traffic| traffic.verdict(results)));
    }
    parts.join(" ")
}
