//! The command `reproduce`: measures a paper's claims and judges them by rules that were written
//! before. The module `claims` defines the words: scene, cell, variant, draw, figure.
//!
//! # Data flow
//!
//! 1. `selected` picks the claims that `--only` names.
//! 2. `experiments` makes a plan of every scene of every claim: its cells, and the variants shown
//!    beside it. Each plan has runs: every draw under every scheme and seed. Runs whose worlds are
//!    identical, in whatever claim, are the same world.
//! 3. `from_journal` takes over the worlds that an earlier start in the same folder finished; `run`
//!    simulates every other world once, on all cores, keeps a `ClaimRun` of each and writes it to the
//!    journal.
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
//! - A claim with an unfinished run has no samples, and so does not hold; finished runs keep their
//!   rows.

mod adoption;
mod chart;
mod claim_view;
mod experiments;
mod measured;
mod page;
mod split;
mod standing;
mod terminal;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use airlane_base::{InputError, Seed};
use airlane_report::Report;

use crate::Registry;
use crate::claims::{self, ByMetric, Claim, ClaimSet, Purpose, Samples, Statistic};
use crate::journal::{self, Journal, JournalKind};
use crate::leave::{RunCounts, leave_after};
use crate::reporting::{claim_run, entry, rows, words};
use crate::request::{Outcome, ReproduceRequest};
use crate::summary::{ClaimEntry, Row, Summary, Verdict};
use adoption::Adoption;
use airlane_sim::Common;
use airlane_sim::LabError;
use airlane_sim::OutFolder;
use airlane_sim::pool::{self, Job, Ticket};
use airlane_sim::workload::{ClaimRecord, ClaimRun};
use airlane_sim::world::{self, Options};
use experiments::{Experiment, Experiments, World};

pub use standing::{check_record, check_record_of};

/// Measures the claims of a system, or of all, and judges them; leaves `summary.json`,
/// `report.html` with a page per claim in the folder `claims`, `report.json.gz` and `run.json`.
///
/// After a stop, a claim with an unfinished run does not hold. The rows of finished runs are
/// written all the same, and the outcome says that it was stopped. The next start in the same folder
/// goes on from there, whatever claims it is asked for; what it leaves does not depend on how many
/// starts it took.
///
/// # Errors
/// If the input is invalid, before anything runs; the first fault of a run; if a file cannot be
/// written.
pub fn reproduce(registry: &Registry, request: &ReproduceRequest<'_>) -> Result<Outcome, LabError> {
    let sets = match request.system.as_str() {
        "all" => registry.claims().map(|(name, _)| ClaimSet::of_system(registry, name)).collect(),
        name => ClaimSet::of_system(registry, name).map(|set| vec![set]),
    }?;
    reproduce_sets(&sets, request)
}

/// As [`reproduce`], for the claims in `sets`.
///
/// # Errors
/// As [`reproduce`].
pub fn reproduce_sets(
    sets: &[ClaimSet],
    request: &ReproduceRequest<'_>,
) -> Result<Outcome, LabError> {
    let common = &request.common;
    let mut experiments = Experiments::default();
    let claims = selected(sets, &request.only)?;
    for (set, claim) in &claims {
        let purpose = if request.quick { Purpose::Exploration } else { Purpose::Verdict };
        experiments.add(set, claim, purpose, common)?;
    }
    experiments.refuse_unused(&common.traces)?;
    if let Some(record) = &request.record {
        if request.quick {
            let found = "a record of a quick run";
            let expected = "expected a run without --quick: quick runs are no verdicts";
            return Err(InputError::new(found, expected).at_key("--record").into());
        }
        record.check(claims.iter().map(|(_, claim)| claim.id.as_str()))?;
    }
    common.captures.prepare()?;
    // The journal's lock first: the results of a command that still runs are left alone.
    let folder = OutFolder::prove(&common.out)?;
    let (journal, found) = Journal::open(folder.dir(), JournalKind::Reproduce, request.fresh)?;
    let folder = OutFolder::prepare(folder.dir())?;
    let damaged = found.damaged;
    let mut worlds = from_journal(&experiments, found.records, common);
    let refused = match &request.adopt {
        Some(file) => adopt(&experiments, request, file, &journal, &mut worlds)?,
        None => 0,
    };
    let reused = worlds.iter().flatten().count();
    let stopped = run(&experiments, common, &request.system, &journal, &mut worlds)?;
    journal.sync()?;

    let mut summary = Summary::new(request.system.clone(), Vec::new());
    let mut findings = Vec::new();
    for experiment in &experiments.list {
        add_runs(&mut summary, experiment, &worlds);
        findings.push((experiment, experiment.figures(&worlds)));
    }
    for (set, claim) in &claims {
        let of_claim: Vec<_> = findings.iter().filter(|(e, _)| e.claim.id == claim.id).collect();
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
        let mut entry = judge_claim(claim, &of_claim, &samples, Seed(set.seed), &worlds, common);
        let is_judged = entry.checks.iter().any(|check| check.ci95.is_some());
        if request.quick && !stopped && entry.verdict == Verdict::Fails && !is_judged {
            // The few draws of a quick run may have nothing to measure, as mixes without a gap.
            entry.verdict = Verdict::Undecided;
        }
        summary.claims.push(entry);
    }
    summary.count_verdicts();
    summary.virtual_s = worlds.iter().flatten().map(|world| world.result.virtual_s).sum();

    let planned = worlds.len();
    let finished = worlds.iter().flatten().count();
    let verdict = terminal::verdict(&summary, stopped.then_some((finished, planned)));
    let report = page::report(&summary, &findings, &worlds, &verdict, request);
    let course = RunCounts { planned, finished, reused, stopped };
    write(&folder, common, &summary, report, course)?;
    if let Some(record) = &request.record {
        let is_finished = |id: &str| {
            let mut own = experiments.list.iter().filter(|e| e.claim.id == id);
            own.all(|e| e.finished(&worlds) == e.runs.len())
        };
        record.write(&summary, &data(&experiments, common), &is_finished)?;
    }
    let mut line = vec![verdict];
    line.extend(JournalKind::Reproduce.remarks(course, damaged));
    if refused > 0 {
        let runs = words::plural(refused, "run");
        line.push(format!(
            "{runs} of --adopt not taken over: a run that was repeated came out different."
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

/// Reads and checks all that the claims in `sets` need, and runs nothing: how many runs they take.
///
/// # Errors
/// If the input is invalid.
pub fn planned_runs(sets: &[ClaimSet], request: &ReproduceRequest<'_>) -> Result<usize, LabError> {
    let mut experiments = Experiments::default();
    let purpose = if request.quick { Purpose::Exploration } else { Purpose::Verdict };
    for (set, claim) in selected(sets, &request.only)? {
        experiments.add(set, claim, purpose, &request.common)?;
    }
    Ok(experiments.worlds.len())
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

/// The claims that `only` names (all if it is empty), each with its set.
fn selected<'a>(
    sets: &'a [ClaimSet],
    only: &[String],
) -> Result<Vec<(&'a ClaimSet, &'a Claim)>, InputError> {
    let all = || sets.iter().flat_map(|set| set.claims.iter().map(move |claim| (set, claim)));
    let meant = |claim: &Claim, name: &String| {
        let rest = claim.id.strip_prefix(name.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    if let Some(unknown) = only.iter().find(|name| !all().any(|(_, c)| meant(c, name))) {
        let ids: Vec<&str> = all().map(|(_, claim)| claim.id.as_str()).collect();
        let expected = format!("expected one of {}", ids.join(", "));
        return Err(InputError::new(format!("\"{unknown}\""), expected).at_key("--only"));
    }
    let wanted = |claim: &Claim| only.is_empty() || only.iter().any(|name| meant(claim, name));
    Ok(all().filter(|(_, claim)| wanted(claim)).collect())
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

/// The worlds that an earlier start finished, in the order of all; none if captures are asked for,
/// which runs write and journals do not have.
fn from_journal(
    experiments: &Experiments<'_>,
    mut records: BTreeMap<String, ClaimRecord>,
    common: &Common<'_>,
) -> Vec<Option<ClaimRun>> {
    if common.captures != Default::default() {
        records.clear();
    }
    let restored = experiments.worlds.iter().enumerate().map(|(number, world)| {
        let plan = &experiments.list[world.experiment].plan;
        let plotted = experiments.plotted.contains(&number);
        ClaimRun::from_record(plan, records.remove(&world.id)?, plotted)
    });
    restored.collect()
}

/// Takes over the runs in a journal of another build, after repeating some of them; how many are not taken over.
fn adopt(
    experiments: &Experiments<'_>,
    request: &ReproduceRequest<'_>,
    file: &Path,
    journal: &Journal,
    worlds: &mut [Option<ClaimRun>],
) -> Result<usize, LabError> {
    let common = &request.common;
    let found = journal::read(file, JournalKind::Reproduce)?;
    let adoption = Adoption::new(experiments, found.records, worlds);
    let witnesses = adoption.witnesses();
    let is_witness = |world: usize| witnesses.contains(&world);
    if run_wanted(experiments, common, &request.system, journal, (&mut *worlds, &is_witness))? {
        return Ok(0);
    }
    let (accepted, refused) = adoption.accepted(worlds);
    for (number, record) in accepted {
        let World { experiment, key, ref id } = experiments.worlds[number];
        let plan = &experiments.list[experiment].plan;
        journal.add(id, &plan.label(key), &record, (common.elapsed)())?;
        let plotted = experiments.plotted.contains(&number);
        worlds[number] = ClaimRun::from_record(plan, record, plotted);
    }
    Ok(refused)
}

/// Runs every world that is missing in `worlds` and adds it there and to the journal; whether a stop
/// kept some from finishing.
fn run(
    experiments: &Experiments<'_>,
    common: &Common<'_>,
    what: &str,
    journal: &Journal,
    worlds: &mut [Option<ClaimRun>],
) -> Result<bool, LabError> {
    run_wanted(experiments, common, what, journal, (worlds, &|_| true))
}

/// Runs the worlds, by number, that are missing and wanted, as [`run`] does.
fn run_wanted(
    experiments: &Experiments<'_>,
    common: &Common<'_>,
    what: &str,
    journal: &Journal,
    (worlds, is_wanted): (&mut [Option<ClaimRun>], &dyn Fn(usize) -> bool),
) -> Result<bool, LabError> {
    let options = Options { captures: common.captures.clone(), ..Options::default() };
    let options = &options;
    let pending: Vec<usize> =
        (0..worlds.len()).filter(|w| worlds[*w].is_none() && is_wanted(*w)).collect();
    let jobs = pending.iter().map(|&number| {
        let World { experiment, key, ref id } = experiments.worlds[number];
        let plotted = experiments.plotted.contains(&number);
        let experiment = &experiments.list[experiment];
        let plan = &experiment.plan;
        let label = plan.label(key);
        Job {
            label: label.clone(),
            seed: key.seed,
            command: common.repeat_command(key.seed),
            units: u64::try_from(plan.scenario.duration.as_millis()).unwrap_or(u64::MAX),
            work: Box::new(move |ticket: &Ticket<'_>| {
                let output = world::run(plan, &experiment.caches, key, options, ticket)?;
                let run = claim_run(plan, &output, plotted);
                journal.add(id, &label, &run.record(), (common.elapsed)())?;
                Ok(run)
            }),
        }
    });
    let what = match worlds.iter().flatten().count() {
        0 => format!("reproduce {what}"),
        n => format!("reproduce {what}, {n} of {} runs from before", worlds.len()),
    };
    let done = pool::run(jobs.collect(), common.jobs, &what, &common.stop, common.progress);
    if let Some(error) = done.error {
        return Err(error);
    }
    for (number, run) in pending.into_iter().zip(done.results) {
        worlds[number] = run;
    }
    Ok(done.stopped)
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

/// Judges a claim: its entry of `summary.json`. Without samples (a run is missing) it does not
/// hold.
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
