//! The story that finished runs tell: the figures, the report and what stands on the terminal.
//!
//! Everything is computed from what the runs left ([`RunFigures`]); no sentence is fixed
//! beforehand.

mod about;
mod charts;
mod figures;
mod results;
mod series;
mod terminal;
mod verdict;
pub(crate) mod words;

use airlane_report::Report;
use airlane_report::model::{Run, Section};

pub(crate) use about::terms;
pub use figures::{BulkFigures, LinkFigures, RunFigures, ViewerFigures};
pub(crate) use figures::{metric_unit, watched_metric};
pub(crate) use series::run as over_time;
pub(crate) use terminal::aligned;
pub(crate) use verdict::difference;
pub use verdict::{Samples, Side, on_transfers, on_viewers};

use crate::plan::{Plan, RunKey};
use crate::request::Common;
use crate::summary::Summary;
use crate::world::{Content, RunOutput};
use results::Results;
use words::plural;

/// Cases that are drawn over time, if there are several.
pub(crate) const DRAWN_CASES: usize = 3;

/// What is kept of a run.
#[derive(Clone, Debug)]
pub struct Told {
    /// Its figures.
    pub figures: RunFigures,
    /// What happened over time, of the runs that are drawn.
    pub series: Option<Run>,
}

impl Told {
    /// What to keep of a run of `plan`.
    pub fn of(plan: &Plan, output: &RunOutput) -> Self {
        Self {
            figures: RunFigures::of(plan, output),
            series: is_drawn(plan, output.key).then(|| series::run(plan, output)),
        }
    }
}

/// Whether a run is drawn over time: the first seed of the first cases. A report of all of them
/// would be too large to open.
pub(crate) fn is_drawn(plan: &Plan, key: RunKey) -> bool {
    key.case < DRAWN_CASES && Some(&key.seed) == plan.scenario.seeds.first()
}

/// What came out of a plan.
#[derive(Clone, Debug)]
pub struct Story {
    /// What the seeds determine.
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

/// Tells the story of the runs of `plan` that finished, in the order of the plan; `planned` says
/// how many there should be, `stopped` whether a stop kept some from finishing.
pub fn tell(
    plan: &Plan,
    content: &Content,
    common: &Common<'_>,
    told: Vec<Told>,
    (planned, stopped): (usize, bool),
) -> Story {
    let scenario = &plan.scenario;
    let (figures, drawn): (Vec<RunFigures>, Vec<Option<Run>>) =
        told.into_iter().map(|t| (t.figures, t.series)).unzip();
    let results = Results::new(plan, &figures);

    let mut summary = Summary::new(&scenario.name, scenario.seeds.clone());
    summary.virtual_s = figures.iter().map(|f| f.virtual_s).sum();
    summary.runs = figures.iter().map(|f| f.entry(plan)).collect();
    summary.rows = figures.iter().flat_map(|f| f.rows(plan)).collect();

    let (sessions, failed) = results.sessions();
    let verdict = verdict(&results, (sessions, failed), (planned, stopped));
    let mut report = Report::new(&scenario.title);
    report.verdict.clone_from(&verdict);
    report.lead = about::lead(plan);
    let mut section =
        Section { facts: about::facts(plan), schemes: about::schemes(plan), ..Section::default() };
    section.runs = drawn.into_iter().flatten().collect();
    if !figures.is_empty() {
        fill(&mut section, &results, content);
    }
    report.sections = vec![section];
    report.terms = about::terms(plan);
    report.notes = about::notes(&results, (planned, stopped));
    report.provenance = about::provenance(&results, common);
    let table = terminal::table(&results);
    Story { summary, report, table, verdict, failed }
}

fn fill(section: &mut Section, results: &Results<'_>, content: &Content) {
    let plan = results.plan;
    section.tables = vec![charts::by_scheme(results)];
    if !plan.scenario.viewers.is_empty() {
        if let [_] = plan.cases.as_slice() {
            section.dots = vec![charts::dots(results)];
            section.tables.push(charts::by_viewer(results));
            section.curves = vec![charts::curves(results, content)];
        } else {
            section.tables.push(charts::by_case(results));
        }
        section.cdfs = charts::cdfs(results);
    }
    section.tables.extend(charts::by_transfer(results));
    section.tables.extend(charts::by_web(results));
}

fn verdict(
    results: &Results<'_>,
    (sessions, failed): (usize, usize),
    (planned, stopped): (usize, bool),
) -> String {
    let scenario = &results.plan.scenario;
    let mut parts = Vec::new();
    if stopped {
        parts.push(format!("Stopped after {} of {planned} runs.", results.all().count()));
    }
    if failed > 0 {
        parts.push(format!("{} of {} failed.", failed, plural(sessions, "session")));
    }
    if results.all().next().is_some() {
        parts.push(if scenario.viewers.is_empty() {
            let slowest = |r: &RunFigures| {
                let all: Option<Vec<f64>> = r.bulk.iter().map(|b| b.goodput_bps).collect();
                all?.into_iter().min_by(f64::total_cmp)
            };
            let sides: Vec<(String, Samples, Samples)> = scenario
                .schemes
                .iter()
                .enumerate()
                .map(|(i, s)| {
                    let used = results.samples(i, |r| Some(r.link?.utilisation));
                    (s.title.clone(), results.samples(i, slowest), used)
                })
                .collect();
            on_transfers(scenario.bulk.iter().map(|b| b.count).sum(), &sides)
        } else {
            let unit = figures::metric_unit(watched_metric(scenario));
            on_viewers(scenario.viewers.len(), unit, &results.sides())
        });
    }
    parts.join(" ")
}
