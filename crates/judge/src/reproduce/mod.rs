//! The command `reproduce`: measures a paper's claims and judges them by rules that were written
//! before. The module `claims` defines the words: scene, cell, variant, draw, figure.
//!
//! # Data flow
//!
//! 1. `worlds` picks the claims that `--only` names.
//! 2. `experiments` makes a plan of every scene of every claim: its cells, and the variants shown
//!    beside it. Each plan has runs: every draw under every scheme and seed. Runs whose worlds are
//!    identical, in whatever claim, are the same world.
//! 3. `runs` takes over the worlds that an earlier start in the same folder finished; every other one is
//!    simulated once, on all cores or by workers elsewhere, which leaves a `ClaimRun` and an entry of
//!    the journal.
//! 4. `measured` turns the runs of a scene into figures by metric: those of runs, those derived
//!    from them for baselines and changes, and those that workloads compute. A claim with a
//!    `measure` has no runs: a workload computes its figures from the plan.
//! 5. `claim_samples` puts the figures of a claim's cells together, and `judge_claim` judges them.
//! 6. `claim_view`, `page`, `split` and `terminal` show the outcome; `summary.json` has every
//!    figure and verdict.
//!
//! # Invariants
//!
//! - All input is read and checked before the first world runs.
//! - What a page plots over time is fixed before anything is measured: the first draw, under the
//!   first seed.
//! - Variants beside a claim, and quick runs, never affect a verdict.
//! - A claim with an unfinished run is not measured; finished runs keep their rows.

mod adoption;
mod chart;
mod claim_view;
mod experiments;
mod measured;
mod page;
mod runs;
mod split;
mod standing;
mod terminal;
mod worlds;

use std::collections::BTreeSet;

use airlane_base::Seed;
use airlane_report::Report;

use crate::claims::{self, ByMetric, Claim, ClaimSet, Samples, Statistic};
use crate::journal::JournalKind;
use crate::leave::{RunCounts, leave_after};
use crate::reporting::{entry, rows, words};
use crate::request::{Outcome, ReproduceRequest};
use crate::summary::{ClaimEntry, Row, Summary, Verdict};
use airlane_sim::Common;
use airlane_sim::LabError;
use airlane_sim::OutFolder;
use airlane_sim::workload::ClaimRun;
use experiments::{Experiment, Experiments};

pub use runs::Reproduction;
pub use standing::check_record;
pub use worlds::ClaimWorlds;

/// Measures the claims in `sets` that a request names, and judges them; leaves `summary.json`,
/// `report.html` with a page per claim in the folder `claims`, `report.json.gz` and `run.json`.
///
/// After a stop, a claim with an unfinished run is not measured. The rows of finished runs are
/// written all the same, and the outcome says that it was stopped. The next start in the same folder
/// goes on from there, whatever claims it is asked for; what it leaves does not depend on how many
/// starts it took.
///
/// # Errors
/// If the input is invalid, before anything runs; the first fault of a run; if a file cannot be
/// written.
pub fn reproduce(sets: &[ClaimSet], request: &ReproduceRequest<'_>) -> Result<Outcome, LabError> {
    let mut all = Reproduction::open(ClaimWorlds::new(sets, request)?, request)?;
    let stopped = all.run_pending(&request.common, &request.system)?;
    all.finish(request, stopped)
}

impl Reproduction<'_> {
    /// Judges the claims and writes what the measurement leaves.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn finish(
        self,
        request: &ReproduceRequest<'_>,
        stopped: bool,
    ) -> Result<Outcome, LabError> {
        let common = &request.common;
        let Self { worlds, folder, journal, runs, reused, damaged, refused } = self;
        let ClaimWorlds { claims, experiments } = worlds;
        journal.sync()?;

        let mut summary = Summary::new(request.system.clone(), Vec::new());
        let mut findings = Vec::new();
        for experiment in &experiments.list {
            add_runs(&mut summary, experiment, &runs);
            findings.push((experiment, experiment.figures(&runs)));
        }
        for (set, claim) in &claims {
            let of_claim: Vec<_> =
                findings.iter().filter(|(e, _)| e.claim.id == claim.id).collect();
            let samples = claim_samples(claim, &of_claim);
            // These rows cover all cells together; runs have rows by cell.
            if let Some((first, _)) = of_claim.first() {
                add_statistics_rows(&mut summary, first, claim.id.clone(), &samples);
            }
            for (experiment, own) in &of_claim {
                if experiment.kind.is_beside() {
                    let own = Samples::without_cells(own.clone());
                    add_statistics_rows(&mut summary, experiment, experiment.name(), &own);
                }
            }
            let mut entry = judge_claim(claim, &of_claim, &samples, Seed(set.seed), &runs, common);
            if entry.verdict != Verdict::NotMeasured {
                entry.draws = claims::draw_figures(&set.tables, &claim.id, &samples);
            }
            let is_judged = entry.checks.iter().any(|check| check.ci95.is_some());
            if request.quick && entry.verdict == Verdict::Fails && !is_judged {
                // The few draws of a quick run may have nothing to measure, as mixes without a gap.
                entry.verdict = Verdict::Undecided;
            }
            summary.claims.push(entry);
        }
        summary.count_verdicts();
        summary.virtual_s = runs.iter().flatten().map(|run| run.result.virtual_s).sum();

        let planned = runs.len();
        let finished = runs.iter().flatten().count();
        let verdict = terminal::verdict(&summary, stopped.then_some((finished, planned)));
        let report = page::report(&summary, &findings, &runs, &verdict, request);
        let course = RunCounts { planned, finished, reused, stopped };
        write(&folder, common, &summary, report, course)?;
        if let Some(record) = &request.record {
            let is_finished = |id: &str| {
                let mut own = experiments.list.iter().filter(|e| e.claim.id == id);
                own.all(|e| e.finished(&runs) == e.runs.len())
            };
            record.write(&summary, &data(&experiments, common), &is_finished)?;
        }
        let mut line = vec![verdict];
        line.extend(JournalKind::Reproduce.remarks(course, damaged));
        if refused > 0 {
            let told = words::plural(refused, "run");
            line.push(format!(
                "{told} of --adopt not taken over: a run that was repeated came out different."
            ));
        }
        line.push(format!("Report: {}", folder.path("report.html").display()));
        Ok(Outcome {
            table: terminal::table(&summary),
            line: line.join(" "),
            out: common.out.clone(),
            failed: summary.tally().fails,
            stopped,
        })
    }
}

/// Content and traces that claims were measured on, for records.
fn data(experiments: &Experiments<'_>, common: &Common<'_>) -> Vec<String> {
    let plans = experiments.list.iter().map(|experiment| &experiment.plan);
    let content = plans.flat_map(|plan| plan.draws.iter()).filter_map(|draws| draws.content());
    let traces = common.traces.iter().map(|trace| {
        let file = trace.path.file_name().unwrap_or_default().to_string_lossy();
        format!("trace {file}")
    });
    let all: BTreeSet<String> = content.chain(traces).collect();
    all.into_iter().collect()
}

fn write(
    folder: &OutFolder,
    common: &Common<'_>,
    summary: &Summary,
    report: Report,
    course: RunCounts,
) -> Result<(), LabError> {
    folder.write("report.json.gz", &report.to_json_gz())?;
    let (front, pages) = split::split(report);
    let into = folder.claim_pages()?;
    for (name, page) in &pages {
        into.write(name, airlane_report::render(page).as_bytes())?;
    }
    leave_after(folder, common, summary, &airlane_report::render(&front), course)
}

/// Adds the rows of every run of an experiment. A world that several experiments share is listed
/// under each.
fn add_runs(summary: &mut Summary, experiment: &Experiment<'_>, worlds: &[Option<ClaimRun>]) {
    let plan = &experiment.plan;
    for (key, world) in &experiment.runs {
        let Some(world) = &worlds[*world] else { continue };
        if !summary.seeds.contains(&key.seed) {
            summary.seeds.push(key.seed);
        }
        let run = entry(plan, &experiment.name(), *key, &world.result);
        summary.rows.extend(rows(&run, &world.result));
        summary.runs.push(run);
    }
}

/// The samples of a claim, of all its cells.
fn claim_samples(claim: &Claim, of_claim: &[&(&Experiment<'_>, ByMetric)]) -> Samples {
    let own = of_claim.iter().filter(|(e, _)| !e.kind.is_beside());
    let mut cells = own.map(|(experiment, figures)| experiment.cell(figures.clone()));
    if claim.cells.is_empty() {
        return cells.next().map(Samples::of_cell).unwrap_or_default();
    }
    Samples::with_cells(claim.draws, cells.collect())
}

/// Adds rows with statistics over all draws: those of the claim's rule and those that it lists
/// beside. Their case is `all`, their scheme names all that are compared, their seed is the first.
fn add_statistics_rows(
    summary: &mut Summary,
    experiment: &Experiment<'_>,
    name: String,
    samples: &Samples,
) {
    for (metric, value) in statistic_values(experiment, samples) {
        summary.rows.push(Row {
            experiment: name.clone(),
            case: "all".to_owned(),
            scheme: experiment.claim.compare.join(" over "),
            seed: experiment.plan.scenario.seeds[0],
            unit: experiment.metrics.symbol(&metric).to_owned(),
            metric,
            value,
        });
    }
}

/// The values of an experiment's statistics over all draws, by name; those that cannot be computed
/// are left out.
fn statistic_values(experiment: &Experiment<'_>, samples: &Samples) -> Vec<(String, f64)> {
    let value = |s: &Statistic| Some((s.to_string(), claims::point_estimate(s, samples)?));
    experiment.statistics.iter().filter_map(value).collect()
}

/// Judges a claim: its entry of `summary.json`. If a run is missing, it is not measured.
fn judge_claim(
    claim: &Claim,
    of_claim: &[&(&Experiment<'_>, ByMetric)],
    samples: &Samples,
    seed: Seed,
    worlds: &[Option<ClaimRun>],
    common: &Common<'_>,
) -> ClaimEntry {
    let own = || of_claim.iter().filter(|(e, _)| !e.kind.is_beside());
    let stream = own().next().map(|(e, _)| e.stream.name().to_owned()).unwrap_or_default();
    let content: Vec<String> = own()
        .take(1)
        .flat_map(|(e, _)| e.plan.draws.iter())
        .filter_map(|d| d.content_name())
        .collect();
    let content = content.join(", ");
    let units = own().next().map(|(e, _)| e.metrics.units()).unwrap_or_default();
    let (finished, planned) = own().fold((0, 0), |(finished, planned), (e, _)| {
        (finished + e.finished(worlds), planned + e.runs.len())
    });
    if finished < planned {
        let mut entry = claims::entry(claim, &content, (&Samples::default(), &units), seed);
        entry.verdict = Verdict::NotMeasured;
        entry.reason = format!("stopped: {finished} of {planned} runs finished");
        entry.stream = stream;
        return entry;
    }
    let mut entry = claims::entry(claim, &content, (samples, &units), seed);
    entry.stream = stream;
    // A claim without samples fails, also where others are only reported.
    if common.content.is_some() && claim.real.reported && entry.measured.is_some() {
        entry.verdict = Verdict::Reported;
        entry.reason.clone_from(&claim.real.why);
    }
    entry
}
