//! The command `reproduce`: a paper's claims, measured and judged by the rules that were written
//! before the code.

mod experiments;
mod figures;
mod page;
mod samples;
mod terminal;
mod variants;

use airlane_base::{InputError, Seed};
use airlane_report::Report;

use crate::claims::{self, ClaimSet, EMBEDDED, Rule, Samples};
use crate::error::LabError;
use crate::execute::leave;
use crate::pool::{self, Job, Ticket};
use crate::request::{Common, Outcome, ReproduceRequest};
use crate::summary::{ClaimEntry, OutFolder, Row, RunEntry, Summary};
use crate::world::{self, Options};
use experiments::{Experiment, Experiments};
use figures::Figures;

/// Measures the claims of a system, or of all, and judges them; leaves `summary.json`,
/// `report.html`, `report.json.gz` and `run.json`.
///
/// A claim whose runs a stop kept from finishing is not held. The rows of what finished are there
/// all the same, and the outcome says that it was stopped.
///
/// # Errors
/// What is wrong with the input, before anything runs; the first fault of a run; what the disk
/// refuses.
pub fn reproduce(request: &ReproduceRequest<'_>) -> Result<Outcome, LabError> {
    let sets = match request.system.as_str() {
        "all" => EMBEDDED.iter().map(|(name, _)| ClaimSet::of_system(name)).collect(),
        name => ClaimSet::of_system(name).map(|set| vec![set]),
    }?;
    reproduce_sets(&sets, request)
}

/// The same for claims that are given.
///
/// # Errors
/// As [`reproduce`].
pub fn reproduce_sets(
    sets: &[ClaimSet],
    request: &ReproduceRequest<'_>,
) -> Result<Outcome, LabError> {
    let common = &request.common;
    if let Some(trace) = &common.trace {
        let error = InputError::new("a trace", "expected none: these claims have constant links");
        return Err(error.at_file(trace).into());
    }
    let mut experiments = Experiments::default();
    let mut seeds = Vec::new();
    for set in sets {
        for claim in &set.claims {
            experiments.add(set, claim, request.quick, common)?;
            seeds.push(Seed(set.seed));
        }
    }
    common.captures.prepare()?;
    let folder = OutFolder::prepare(&common.out)?;
    let done = run(&experiments, common, &request.system)?;
    let worlds = done.results;

    let mut summary = Summary::new(request.system.clone(), Vec::new());
    let mut findings = Vec::new();
    for experiment in &experiments.list {
        add_runs(&mut summary, experiment, &worlds);
        let samples = experiment
            .mixes(&worlds)
            .map(|mixes| samples::samples(&mixes, experiment.baseline_name()))
            .unwrap_or_default();
        add_beside(&mut summary, experiment, &samples);
        findings.push((experiment, samples));
    }
    let claims = findings.iter().filter(|(e, _)| e.variant.is_none()).zip(&seeds);
    for ((experiment, samples), seed) in claims {
        let judged = judged(experiment, samples, *seed, &worlds);
        summary.claims.push(judged);
    }
    summary.virtual_s = worlds
        .iter()
        .zip(&experiments.worlds)
        .filter(|(figures, _)| figures.is_some())
        .map(|(_, (e, _))| experiments.list[*e].plan.scenario.duration.as_secs_f64())
        .sum();

    let planned = worlds.len();
    let finished = worlds.iter().flatten().count();
    let verdict = terminal::verdict(&summary, done.stopped.then_some((finished, planned)));
    let report = page::report(&summary, &findings, &worlds, &verdict, common);
    write(&folder, common, &summary, &report, (planned, done.stopped))?;
    let place = folder.path("report.html");
    Ok(Outcome {
        table: terminal::table(&summary),
        line: format!("{verdict} Report: {}", place.display()),
        out: common.out.clone(),
        failed: summary.tally()[1],
        stopped: done.stopped,
    })
}

fn write(
    folder: &OutFolder,
    common: &Common<'_>,
    summary: &Summary,
    report: &Report,
    how: (usize, bool),
) -> Result<(), LabError> {
    folder.write("report.json.gz", &report.to_json_gz())?;
    leave(folder, common, summary, &airlane_report::render(report), how)
}

/// Runs every distinct world.
fn run(
    experiments: &Experiments<'_>,
    common: &Common<'_>,
    what: &str,
) -> Result<pool::Done<Figures>, LabError> {
    let options = Options { captures: common.captures.clone(), ..Options::default() };
    let options = &options;
    let jobs = experiments.worlds.iter().map(|&(e, key)| {
        let experiment = &experiments.list[e];
        let plan = &experiment.plan;
        Job {
            label: plan.label(key),
            seed: key.seed,
            command: common.repeat_command(key.seed),
            units: u64::try_from(plan.scenario.duration.as_millis()).unwrap_or(u64::MAX),
            work: Box::new(move |ticket: &Ticket<'_>| {
                let output = world::run(plan, &experiment.content, key, options, ticket)?;
                Ok(Figures::of(plan, &output))
            }),
        }
    });
    let what = format!("reproduce {what}");
    let mut done = pool::run(jobs.collect(), common.jobs, &what, &common.stop, common.progress);
    match done.error.take() {
        Some(error) => Err(error),
        None => Ok(done),
    }
}

/// The rows of every run of an experiment; a world that several share is listed under each.
fn add_runs(summary: &mut Summary, experiment: &Experiment<'_>, worlds: &[Option<Figures>]) {
    let plan = &experiment.plan;
    for (key, world) in &experiment.runs {
        let Some(figures) = &worlds[*world] else { continue };
        if !summary.seeds.contains(&key.seed) {
            summary.seeds.push(key.seed);
        }
        let run = RunEntry {
            experiment: experiment.name(),
            case: plan.cases[key.case].name.clone(),
            scheme: plan.scenario.schemes[key.scheme].name.clone(),
            seed: key.seed,
            packet_hash: format!("{:016x}", figures.packet_hash),
        };
        let row = Row {
            experiment: run.experiment.clone(),
            case: run.case.clone(),
            scheme: run.scheme.clone(),
            seed: run.seed,
            metric: String::new(),
            unit: String::new(),
            value: 0.0,
        };
        summary.rows.extend(figures.rows(&row));
        summary.runs.push(run);
    }
}

/// The rows over all mixes: the claim's metric and what it lists beside. Their case is `all`,
/// their scheme names both that were compared, their seed is the first.
fn add_beside(summary: &mut Summary, experiment: &Experiment<'_>, samples: &Samples) {
    for (metric, value) in besides(experiment, samples) {
        summary.rows.push(Row {
            experiment: experiment.name(),
            case: "all".to_owned(),
            scheme: format!("{} over {}", experiment.treatment_name(), experiment.baseline_name()),
            seed: experiment.plan.scenario.seeds[0],
            unit: unit_of(&metric).to_owned(),
            metric,
            value,
        });
    }
}

/// The figures over all mixes of an experiment, by metric.
fn besides(experiment: &Experiment<'_>, samples: &Samples) -> Vec<(String, f64)> {
    let claim = experiment.claim;
    let mut names = vec![claim.metric.as_str()];
    for name in metrics(&claim.rule).into_iter().chain(claim.beside.iter().map(String::as_str)) {
        if !names.contains(&name) && variants::Variant::named(name).is_none() {
            names.push(name);
        }
    }
    let known =
        names.iter().filter_map(|name| Some(((*name).to_owned(), samples::beside(name, samples)?)));
    known.collect()
}

/// The metrics that a rule looks at.
fn metrics(rule: &Rule) -> Vec<&str> {
    match rule {
        Rule::MeanAbove { metric, .. } | Rule::MeanBelow { metric, .. } => vec![metric],
        Rule::ShareOfReference { metric, reference, .. } => vec![metric, reference],
        Rule::All { of } => of.iter().flat_map(metrics).collect(),
        Rule::Reported => Vec::new(),
    }
}

/// The unit of a metric over all mixes.
fn unit_of(metric: &str) -> &'static str {
    match metric {
        m if m.ends_with("_s") => "s",
        m if m.contains("_at_least_") || m.starts_with("gap_closed") => "",
        _ => "points",
    }
}

/// The verdict on a claim. One whose runs are not all there has no samples, and does not hold.
fn judged(
    experiment: &Experiment<'_>,
    samples: &Samples,
    seed: Seed,
    worlds: &[Option<Figures>],
) -> ClaimEntry {
    let content = experiment.plan.corpus.as_ref().map_or("", |c| c.name.as_str());
    let mut entry = claims::entry(experiment.claim, column(content), samples, seed);
    let (finished, planned) = (experiment.finished(worlds), experiment.runs.len());
    if finished < planned {
        entry.reason = format!("stopped: {finished} of {planned} runs finished");
    }
    entry
}

/// The column's name: `embedded`, or the folder's name without where it lies.
fn column(corpus: &str) -> &str {
    std::path::Path::new(corpus).file_name().and_then(|n| n.to_str()).unwrap_or(corpus)
}
