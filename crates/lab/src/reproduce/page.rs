//! The report: the claims, and for each of them its mixes and the distribution of its gains.

use std::collections::BTreeSet;

use airlane_report::Report;
use airlane_report::model::{
    self, Axis, Bound, Cdf, CdfLine, Cell, Check, Column, Fact, Provenance, Section, Table, Term,
};

use super::experiments::{Experiment, Part};
use super::figures::Figures;
use super::samples::STEP;
use super::{besides, unit_of};
use crate::claims::{ByMetric, Samples, Statistic, Superseded, estimate};
use crate::plan::RunKey;
use crate::request::{Common, ReproduceRequest};
use crate::scenario::Capacity;
use crate::summary::{CheckEntry, ClaimEntry, FALSE_RATE, Judgement, PaperValue, Summary};
use crate::workloads::vod::{Drawn, Viewers};

/// The name of the offline optimum among the lines of a chart.
const OPTIMUM: &str = "optimum";

/// What a claim is judged by that has no rule of its own.
const GENERAL_RULE: &str = "general rule: the paper's sign with the interval excluding zero, and \
                            at least half of its gain";

/// Videos that a row names.
const MOST_VIDEOS: usize = 8;

/// The report of a reproduction.
pub(super) fn report(
    summary: &Summary,
    findings: &[(&Experiment<'_>, ByMetric)],
    worlds: &[Option<Figures>],
    verdict: &str,
    request: &ReproduceRequest<'_>,
) -> Report {
    let common = &request.common;
    let mut report = Report::new(format!("{}: the paper's claims, measured", summary.scenario));
    report.verdict = verdict.to_owned();
    report.lead = lead(summary, request.quick);
    report.claims = summary.claims.iter().map(|c| claim(c, findings)).collect();
    let mut claims: Vec<&str> = Vec::new();
    for (experiment, samples) in findings {
        let claim = experiment.claim;
        if claims.contains(&claim.id.as_str()) {
            continue;
        }
        claims.push(&claim.id);
        let parts = || findings.iter().filter(|(e, _)| e.claim.id == claim.id);
        let own = parts().map(|(e, _)| *e).filter(|e| !e.part.is_variant());
        let cells = parts().filter(|(e, _)| matches!(e.part, Part::Cell(_)));
        let variants = parts().filter(|(e, _)| e.part.is_variant());
        let mut tables = Vec::new();
        if experiment.part == Part::Whole {
            tables.extend([mixes(experiment, worlds), over_all(experiment, samples)]);
        }
        tables.push(part_by_part("Cell by cell", "", cells));
        let note = "No verdict hangs on these.";
        tables.push(part_by_part("The same with one thing changed", note, variants));
        report.sections.push(Section {
            title: claim.id.clone(),
            lead: format!("{} {}", claim.statement, claim.statistic),
            facts: facts(experiment, own),
            schemes: schemes(experiment, worlds),
            tables: tables.into_iter().filter(|t| !t.rows.is_empty()).collect(),
            cdfs: cdfs(experiment, samples, worlds),
            runs: over_time(experiment, worlds),
            notes: notes(experiment)
                .chain(parts().flat_map(|(e, _)| failures(e, worlds)))
                .collect(),
            ..Section::default()
        });
        report.provenance.push(provenance(experiment, summary, common));
    }
    report.terms = vec![
        Term {
            term: "QoE".to_owned(),
            meaning: "Quality of a chunk, less 25 per second of stalls and 2.5 per point of \
                      change from the chunk before; the mean over a viewer's chunks."
                .to_owned(),
        },
        Term {
            term: "Gain".to_owned(),
            meaning: "Lowest QoE among the viewers of a mix under the system, less that under \
                      the baseline. The two need not be the same viewer's."
                .to_owned(),
        },
        Term {
            term: "Optimum".to_owned(),
            meaning: "The constant rates, found offline, that give all viewers of a mix the same \
                      QoE and add up to the link, or to what other traffic leaves of it, or to \
                      their even share. No bound: it leaves the pauses between chunks unused."
                .to_owned(),
        },
    ];
    report
}

/// How claims are judged, and how far that goes.
fn lead(summary: &Summary, quick: bool) -> String {
    let mut text =
        "Every claim of the paper is judged by a rule that was written before its draws \
                    were run: it holds if the whole 95 % interval over independent draws is on the \
                    good side of the rule, fails if the whole of it is on the other, and is \
                    undecided between; under ten draws it is undecided. All cells and seeds of a \
                    draw count as one. Both sides of a comparison have the same videos, start \
                    times and seed."
            .to_owned();
    if let Some(Judgement { claims, conditions, expected_false }) = summary.judgement {
        text += &format!(
            " {claims} claims were judged by {conditions} conditions. An interval lies wholly on \
             the wrong side in {:.1} % of cases, so that by chance up to {expected_false:.1} of \
             the conditions have a false outcome.",
            100.0 * FALSE_RATE
        );
    }
    if quick {
        text += " This was a quick run, to look around: its draws are others than those of \
                 verdicts, and few.";
    }
    text
}

/// A claim as the page draws it.
fn claim(entry: &ClaimEntry, findings: &[(&Experiment<'_>, ByMetric)]) -> model::Claim {
    let spec = findings.iter().map(|(e, _)| e.claim).find(|c| c.id == entry.id);
    let before = |s: &Superseded| format!("{}. {}", s.rule_text, s.reason);
    let before: Vec<String> = spec.iter().flat_map(|c| &c.superseded).map(before).collect();
    let digits = if entry.unit.starts_with("share") { 3 } else { digits(1, entry.ci95) };
    // With a single condition on the headline itself the rule can be drawn.
    let bound = match entry.checks.as_slice() {
        [first, ..] if first.measured == entry.measured => Some(bound(first)),
        _ => None,
    };
    let also = if entry.checks.len() > 1 || bound.is_none() { &entry.checks[..] } else { &[] };
    model::Claim {
        id: entry.id.clone(),
        statement: entry.statement.clone(),
        source: entry.source.clone(),
        content: entry.content.clone(),
        paper: match &entry.paper {
            PaperValue::Value(v) => format!("{v}\u{a0}{}", entry.unit),
            PaperValue::Range([a, b]) => format!("{a} to {b} {}", entry.unit),
            PaperValue::Text(text) => text.clone(),
        },
        paper_value: match &entry.paper {
            PaperValue::Value(v) => Some(*v),
            _ => None,
        },
        measured: entry.measured,
        ci95: entry.ci95,
        unit: entry.unit.clone(),
        digits,
        n: entry.n,
        rule: match entry.rule.as_str() {
            "general" => GENERAL_RULE.to_owned(),
            text => text.to_owned(),
        },
        bound,
        rule_before: before.join("; "),
        verdict: entry.verdict.shown(),
        also: also.iter().map(|c| check(c, entry.unit.starts_with('%'))).collect(),
        why: entry.reason.clone(),
        page: String::new(),
    }
}

/// Digits behind the point: `usual`, and more for an interval that would shrink to a point.
fn digits(usual: u8, ci95: Option<[f64; 2]>) -> u8 {
    let narrow = ci95.is_some_and(|[low, high]| high - low < 2.0 * 0.1f64.powi(usual.into()));
    if narrow { 3 } else { usual }
}

/// What a condition is about, with its cell.
pub(super) fn named(entry: &CheckEntry) -> String {
    match (entry.cell.as_str(), entry.worst) {
        ("", _) => entry.metric.clone(),
        (cell, false) => format!("{} in {cell}", entry.metric),
        (cell, true) => format!("{} in {cell}, the worst", entry.metric),
    }
}

/// A condition; `percent` says that its figures are in hundredths.
fn check(entry: &CheckEntry, percent: bool) -> Check {
    let unit = unit_of(&entry.metric);
    Check {
        statement: named(entry),
        measured: entry.measured,
        ci95: entry.ci95,
        unit: if percent { "%" } else { unit }.to_owned(),
        digits: digits(if percent { 1 } else { 2 }, entry.ci95),
        rule: entry.rule.clone(),
        bound: Some(bound(entry)),
        verdict: entry.verdict.shown(),
    }
}

fn bound(entry: &CheckEntry) -> Bound {
    if entry.above { Bound::AtLeast(entry.bound) } else { Bound::AtMost(entry.bound) }
}

/// What a link carries, in words.
fn capacity(experiment: &Experiment<'_>) -> String {
    match &experiment.plan.scenario.link.capacity {
        Capacity::Constant(rate) => format!("{} Mbit/s", rate.bps() as f64 / 1e6),
        Capacity::Steps(_) => "in steps".to_owned(),
        Capacity::Trace(_) => {
            let cases = &experiment.plan.cases;
            let names: BTreeSet<&str> =
                cases.iter().filter_map(|c| Some(c.trace.as_ref()?.name())).collect();
            match (cases.first().and_then(|c| c.trace.as_ref()), names.len()) {
                (Some(trace), 1) => trace.name().to_owned(),
                (_, n) => format!("{n} traces in turn"),
            }
        }
    }
}

/// The first of the scenes that a claim is made of, and the links of all.
fn facts<'f, 'e: 'f>(
    experiment: &Experiment<'_>,
    scenes: impl Iterator<Item = &'f Experiment<'e>>,
) -> Vec<Fact> {
    let scenario = &experiment.plan.scenario;
    let mut links: Vec<String> = scenes.map(capacity).collect();
    links.dedup();
    vec![
        Fact::new("Link", links.join(", ")),
        Fact::new("RTT", format!("{} ms", scenario.link.rtt.as_secs_f64() * 1e3)),
        Fact::new("Viewers", Viewers::of(scenario).viewers.len().to_string()),
        Fact::new("Mixes", experiment.plan.cases.len().to_string()),
        Fact::new("Seeds per mix", scenario.seeds.len().to_string()),
        Fact::new("Length", format!("{} s", scenario.duration.as_secs_f64())),
    ]
}

fn schemes(experiment: &Experiment<'_>, worlds: &[Option<Figures>]) -> Vec<model::Scheme> {
    let mut schemes: Vec<model::Scheme> = experiment
        .plan
        .scenario
        .schemes
        .iter()
        .map(|s| model::Scheme::new(&s.name, title(&s.name), &s.note))
        .collect();
    let mixes = experiment.mixes(worlds).unwrap_or_default();
    if mixes.iter().any(|mix| mix.optimum.is_finite()) {
        schemes.push(model::Scheme::new(OPTIMUM, "Optimum", "Constant rates found offline."));
    }
    schemes
}

/// A scheme's name with a capital, or in capitals if it is an abbreviation.
fn title(name: &str) -> String {
    if name.len() <= 3 {
        return name.to_uppercase();
    }
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |c| c.to_uppercase().chain(letters).collect())
}

/// A row per mix: its videos, the lowest QoE under every scheme and at the optimum.
fn mixes(experiment: &Experiment<'_>, worlds: &[Option<Figures>]) -> Table {
    let mut table = Table::new("Mix by mix", Vec::new());
    table.note = "Means over the seeds of a mix.".to_owned();
    let Some(list) = experiment.mixes(worlds) else { return table };
    let mut columns = vec![Column::text("Mix"), Column::text("Videos")];
    let lowest = |what: &str| Column::number(format!("Lowest QoE, {what}"), "points", 1);
    columns.extend(experiment.claim.compare.iter().rev().map(|name| lowest(&title(name))));
    // What a claim without a baseline compares are groups within a run.
    let alone = experiment.claim.compare.len() == 1;
    let run = list.first().and_then(|mix| Some(mix.runs.first()?[0])).filter(|_| alone);
    let groups: Vec<&str> = run.map(Figures::groups).filter(|g| g.len() > 1).unwrap_or_default();
    columns.extend(groups.iter().map(|group| lowest(&format!("viewers {group}"))));
    let optimum = list.iter().any(|mix| mix.optimum.is_finite());
    columns.extend(optimum.then(|| lowest("optimum")));
    table.columns = columns;
    for (case, mix) in experiment.plan.cases.iter().zip(&list) {
        let mean = |scheme: usize| -> Cell {
            let values: Option<Vec<f64>> =
                mix.runs.iter().map(|run| run[scheme].min_qoe()).collect();
            values.and_then(|v| airlane_quality::stats::mean(&v)).map_or(Cell::Empty, Cell::number)
        };
        let watched = experiment.plan.draws.of::<Drawn>().map(|d| &d.draws[case.draw].videos);
        let mut videos: Vec<&str> =
            watched.into_iter().flatten().map(|v| v.name.as_str()).collect();
        if videos.len() > MOST_VIDEOS {
            videos.truncate(MOST_VIDEOS);
            videos.push("...");
        }
        let mut cells: Vec<Cell> = vec![case.name.as_str().into(), videos.join(", ").into()];
        cells.extend((0..experiment.claim.compare.len()).rev().map(mean));
        cells.extend(groups.iter().map(|group| -> Cell {
            let values: Option<Vec<f64>> =
                mix.runs.iter().map(|run| run[0].min_qoe_of(group)).collect();
            values.and_then(|v| airlane_quality::stats::mean(&v)).map_or(Cell::Empty, Cell::number)
        }));
        cells.extend(optimum.then(|| Cell::number(mix.optimum)));
        table.push(cells);
    }
    table
}

/// The claim's own figures over all mixes.
fn over_all(experiment: &Experiment<'_>, figures: &ByMetric) -> Table {
    let mut table = Table::new(
        "Over all mixes",
        vec![Column::text("Figure"), Column::number("Value", "", 3), Column::text("Unit")],
    );
    for (metric, value) in besides(experiment, &Samples::whole(figures.clone())) {
        let unit = unit_of(&metric);
        table.push(vec![metric.into(), value.into(), unit.into()]);
    }
    table
}

/// The claim's figures in several scenes, a row each.
fn part_by_part<'f, 'e: 'f>(
    name: &str,
    note: &str,
    parts: impl Iterator<Item = &'f (&'f Experiment<'e>, ByMetric)>,
) -> Table {
    let parts: Vec<_> = parts.collect();
    let mut figures: Vec<Statistic> = Vec::new();
    for figure in parts.iter().flat_map(|(e, _)| &e.shown).filter_map(Statistic::within_cell) {
        if !figures.contains(&figure) {
            figures.push(figure);
        }
    }
    let column = |figure: &Statistic| {
        let name = figure.to_string();
        let (words, unit) = (name.replace('_', " "), unit_of(&name));
        // The unit stands below the words, which end in it where it is seconds.
        let words = words.strip_suffix(" s").filter(|_| unit == "s").unwrap_or(&words);
        Column::number(words, unit, 3)
    };
    let mut columns = vec![Column::text("Scene"), Column::number("Mixes", "", 0)];
    columns.extend(figures.iter().map(column));
    let mut table = Table::new(name, columns);
    table.note = note.to_owned();
    for (experiment, figures_of_it) in parts {
        let samples = &Samples::whole(figures_of_it.clone());
        let name = experiment.part.name().unwrap_or_default();
        let mut cells: Vec<Cell> = vec![name.into(), (experiment.plan.cases.len() as f64).into()];
        let values = figures.iter().map(|figure| estimate(figure, samples));
        cells.extend(values.map(|value| value.map_or(Cell::Empty, Cell::number)));
        table.push(cells);
    }
    table
}

fn cdfs(experiment: &Experiment<'_>, samples: &ByMetric, worlds: &[Option<Figures>]) -> Vec<Cdf> {
    let flat = |metric: &str| -> Vec<f64> {
        samples
            .get(metric)
            .into_iter()
            .flatten()
            .flatten()
            .copied()
            .filter(|x| x.is_finite())
            .collect()
    };
    let line = |scheme: &str, samples| CdfLine { scheme: scheme.to_owned(), samples };
    let Some(mixes) = experiment.mixes(worlds) else { return Vec::new() };
    let runs: Vec<_> = mixes.iter().flat_map(|m| &m.runs).collect();
    let lowest = Cdf {
        title: "QoE of the worst viewer".to_owned(),
        note: "A line per scheme, a step per run.".to_owned(),
        x: Axis::new("lowest QoE", "points"),
        lines: experiment
            .claim
            .compare
            .iter()
            .enumerate()
            .rev()
            .map(|(i, name)| line(name, runs.iter().filter_map(|r| r[i].min_qoe()).collect()))
            .collect(),
    };
    let Some(baseline) = experiment.baseline_name() else { return vec![lowest] };
    let a = experiment.treatment_name();
    let starts = Drawn::of(&experiment.plan).into_iter().flat_map(|d| &d.draws);
    let starts = starts.flat_map(|watched| &watched.starts);
    let joined = Viewers::of(&experiment.plan.scenario).viewers.len() == 2
        && starts.into_iter().any(|s| !s.is_zero());
    let mut gains = Cdf {
        title: "Gain of the worst viewer".to_owned(),
        note: format!(
            "Over {}. A step from 720p to 1080p is worth {STEP} points.",
            title(baseline)
        ),
        x: Axis::new("gain", "points"),
        lines: vec![line(a, flat("minimum_qoe_gain")), line(OPTIMUM, flat("optimum_gain"))],
    };
    if joined {
        gains.title = "Gain of the viewer who joined".to_owned();
        gains.note = format!("Mean quality after the join, over {}.", title(baseline));
        gains.lines = vec![line(a, flat("second_quality_gain"))];
    }
    gains.lines.retain(|line| !line.samples.is_empty());
    vec![gains, lowest]
}

/// Which of the runs are drawn over time.
fn notes(experiment: &Experiment<'_>) -> impl Iterator<Item = String> {
    let cell = experiment.part.name().map_or_else(String::new, |name| format!(" of {name}"));
    experiment
        .drawn()
        .next()
        .map(|_| {
            format!(
                "Drawn over time is the first mix{cell} under the first seed; no figure chose it."
            )
        })
        .into_iter()
}

/// What happened in the mix that is drawn, a run per scheme.
fn over_time(experiment: &Experiment<'_>, worlds: &[Option<Figures>]) -> Vec<model::Run> {
    let run = |(key, world): (RunKey, usize)| {
        let mut run = worlds[world].as_ref()?.over_time.clone()?;
        // Claims that share a world may call scheme and mix by other names.
        run.scheme.clone_from(&experiment.plan.scenario.schemes[key.scheme].name);
        run.case = format!("mix {}", experiment.plan.cases[key.case].name);
        Some(run)
    };
    experiment.drawn().filter_map(run).collect()
}

/// Sessions that ended early.
fn failures(experiment: &Experiment<'_>, worlds: &[Option<Figures>]) -> Vec<String> {
    let plan = &experiment.plan;
    let mut notes = Vec::new();
    for (key, world) in &experiment.runs {
        for viewer in worlds[*world].iter().flat_map(|f| &f.viewers) {
            if let Some(why) = &viewer.failure {
                let run = plan.label(*key);
                notes.push(format!("{run}: the session of {} ended early: {why}", viewer.name));
            }
        }
    }
    notes
}

fn provenance(experiment: &Experiment<'_>, summary: &Summary, common: &Common<'_>) -> Provenance {
    let scenario = &experiment.plan.scenario;
    let name = experiment.name();
    let of_it = summary.runs.iter().filter(|r| r.experiment == name);
    let content: Vec<String> = experiment.plan.draws.iter().filter_map(|d| d.content()).collect();
    Provenance {
        label: experiment.claim.id.clone(),
        command: common.circumstances.command.join(" "),
        scenario: scenario.name.clone(),
        scenario_text: scenario.source.text.clone(),
        seeds: scenario.seeds.clone(),
        airlane: summary.airlane.clone(),
        commit: summary.commit.clone(),
        packet_hashes: of_it.filter_map(|r| r.packet_hash.clone()).collect(),
        content: content.join("; "),
        trace: String::new(),
        more: Vec::new(),
    }
}
