//! The report: the claims, and for each of them its mixes and the distribution of its gains.

use airlane_report::Report;
use airlane_report::model::{
    self, Axis, Bound, Cdf, CdfLine, Cell, Check, Column, Fact, Provenance, Section, Table, Term,
};

use super::experiments::Experiment;
use super::figures::Figures;
use super::samples::STEP;
use super::{besides, unit_of};
use crate::claims::Samples;
use crate::request::Common;
use crate::scenario::Capacity;
use crate::summary::{CheckEntry, ClaimEntry, PaperValue, Summary, Verdict};

/// The name of the offline optimum among the lines of a chart.
const OPTIMUM: &str = "optimum";

/// The report of a reproduction.
pub(super) fn report(
    summary: &Summary,
    findings: &[(&Experiment<'_>, Samples)],
    worlds: &[Option<Figures>],
    verdict: &str,
    common: &Common<'_>,
) -> Report {
    let mut report = Report::new(format!("{}: the paper's claims, measured", summary.scenario));
    report.verdict = verdict.to_owned();
    report.lead = "Every claim of the paper is judged by a rule that was written before the code: \
                   it holds if the whole 95 % interval over independent mixes is on the good side \
                   of the rule, fails if the whole of it is on the other, and is undecided \
                   between. Both sides of a comparison have the same videos, start times and seed."
        .to_owned();
    report.claims = summary.claims.iter().map(claim).collect();
    for (experiment, samples) in findings.iter().filter(|(e, _)| e.variant.is_none()) {
        let variants = findings
            .iter()
            .filter(|(v, _)| v.variant.is_some() && v.claim.id == experiment.claim.id);
        let mut tables = vec![mixes(experiment, samples, worlds), over_all(experiment, samples)];
        tables.extend(beside(variants));
        report.sections.push(Section {
            title: experiment.claim.id.clone(),
            lead: format!("{} {}", experiment.claim.statement, experiment.claim.statistic),
            facts: facts(experiment),
            schemes: schemes(experiment),
            tables: tables.into_iter().filter(|t| !t.rows.is_empty()).collect(),
            cdfs: cdfs(experiment, samples, worlds),
            notes: failures(experiment, worlds),
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
                      QoE and add up to the link. No bound: it leaves the pauses between chunks \
                      unused."
                .to_owned(),
        },
    ];
    report
}

/// A claim as the page draws it.
fn claim(entry: &ClaimEntry) -> model::Claim {
    let digits = 1;
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
            PaperValue::Value(v) => format!("{v} {}", entry.unit),
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
        rule: entry.rule.clone(),
        bound,
        rule_before: String::new(),
        verdict: shown(entry.verdict),
        also: also.iter().map(check).collect(),
        why: entry.reason.clone(),
    }
}

fn check(entry: &CheckEntry) -> Check {
    Check {
        statement: entry.metric.clone(),
        measured: entry.measured,
        ci95: entry.ci95,
        unit: unit_of(&entry.metric).to_owned(),
        digits: 2,
        rule: entry.rule.clone(),
        bound: Some(bound(entry)),
        verdict: shown(entry.verdict),
    }
}

fn bound(entry: &CheckEntry) -> Bound {
    if entry.above { Bound::AtLeast(entry.bound) } else { Bound::AtMost(entry.bound) }
}

fn shown(verdict: Verdict) -> model::Verdict {
    match verdict {
        Verdict::Holds => model::Verdict::Holds,
        Verdict::Fails => model::Verdict::Fails,
        Verdict::Undecided => model::Verdict::Undecided,
        Verdict::Reported => model::Verdict::Reported,
    }
}

fn facts(experiment: &Experiment<'_>) -> Vec<Fact> {
    let scenario = &experiment.plan.scenario;
    let rate = match &scenario.link.capacity {
        Capacity::Constant(rate) => format!("{} Mbit/s", rate.bps() as f64 / 1e6),
        Capacity::Trace(_) | Capacity::Steps(_) => "varies".to_owned(),
    };
    vec![
        Fact::new("Link", rate),
        Fact::new("RTT", format!("{} ms", scenario.link.rtt.as_secs_f64() * 1e3)),
        Fact::new("Viewers", scenario.viewers.len().to_string()),
        Fact::new("Mixes", experiment.plan.cases.len().to_string()),
        Fact::new("Seeds per mix", scenario.seeds.len().to_string()),
        Fact::new("Length", format!("{} s", scenario.duration.as_secs_f64())),
    ]
}

fn schemes(experiment: &Experiment<'_>) -> Vec<model::Scheme> {
    let mut schemes: Vec<model::Scheme> = experiment
        .plan
        .scenario
        .schemes
        .iter()
        .map(|s| model::Scheme::new(&s.name, title(&s.name), &s.note))
        .collect();
    schemes.push(model::Scheme::new(OPTIMUM, "Optimum", "Constant rates found offline."));
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

/// A row per mix: its videos, the lowest QoE under both schemes and at the optimum, the gain.
fn mixes(experiment: &Experiment<'_>, samples: &Samples, worlds: &[Option<Figures>]) -> Table {
    let metric = &experiment.claim.metric;
    let (a, b) = (title(experiment.treatment_name()), title(experiment.baseline_name()));
    let mut table = Table::new(
        "Mix by mix",
        vec![
            Column::text("Mix"),
            Column::text("Videos"),
            Column::number(format!("Lowest QoE, {b}"), "points", 1),
            Column::number(format!("Lowest QoE, {a}"), "points", 1),
            Column::number("Lowest QoE, optimum", "points", 1),
            Column::number(metric.replace('_', " "), unit_of(metric), 2)
                .help(&experiment.claim.statistic),
        ],
    );
    table.note = "Means over the seeds of a mix.".to_owned();
    let Some(list) = experiment.mixes(worlds) else { return table };
    let judged = samples.get(metric);
    for (i, (case, mix)) in experiment.plan.cases.iter().zip(&list).enumerate() {
        let mean = |values: Vec<Option<f64>>| -> Cell {
            let values: Option<Vec<f64>> = values.into_iter().collect();
            values.and_then(|v| airlane_quality::stats::mean(&v)).map_or(Cell::Empty, Cell::number)
        };
        let videos: Vec<&str> = case.videos.iter().map(|v| v.name.as_str()).collect();
        table.push(vec![
            case.name.as_str().into(),
            videos.join(", ").into(),
            mean(mix.runs.iter().map(|(_, b)| b.min_qoe()).collect()),
            mean(mix.runs.iter().map(|(a, _)| a.min_qoe()).collect()),
            Cell::number(mix.optimum),
            mean(judged.map_or_else(Vec::new, |s| s[i].iter().map(|x| Some(*x)).collect())),
        ]);
    }
    table
}

/// The claim's own figures over all mixes.
fn over_all(experiment: &Experiment<'_>, samples: &Samples) -> Table {
    let mut table = Table::new(
        "Over all mixes",
        vec![Column::text("Figure"), Column::number("Value", "", 3), Column::text("Unit")],
    );
    for (metric, value) in besides(experiment, samples) {
        let unit = unit_of(&metric);
        table.push(vec![metric.into(), value.into(), unit.into()]);
    }
    table
}

/// The same figures in scenes with one thing changed, a row each.
fn beside<'f, 'e: 'f>(
    variants: impl Iterator<Item = &'f (&'f Experiment<'e>, Samples)>,
) -> Option<Table> {
    let mut table: Option<Table> = None;
    for (experiment, samples) in variants {
        let figures = besides(experiment, samples);
        let table = table.get_or_insert_with(|| {
            let mut columns = vec![Column::text("Changed"), Column::number("Mixes", "", 0)];
            columns.extend(
                figures.iter().map(|(m, _)| Column::number(m.replace('_', " "), unit_of(m), 3)),
            );
            let mut table = Table::new("The same with one thing changed", columns);
            table.note = "No verdict hangs on these.".to_owned();
            table
        });
        let name = experiment.variant.map_or("", |v| v.name);
        let mut cells: Vec<Cell> = vec![name.into(), (experiment.plan.cases.len() as f64).into()];
        cells.extend(figures.iter().map(|(_, value)| Cell::from(*value)));
        table.push(cells);
    }
    table
}

fn cdfs(experiment: &Experiment<'_>, samples: &Samples, worlds: &[Option<Figures>]) -> Vec<Cdf> {
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
    let (a, b) = (experiment.treatment_name(), experiment.baseline_name());
    let joined = experiment.plan.scenario.viewers.iter().any(|v| !v.start.is_zero());
    let mut gains = Cdf {
        title: "Gain of the worst viewer".to_owned(),
        note: format!("Over {}. A step from 720p to 1080p is worth {STEP} points.", title(b)),
        x: Axis::new("gain", "points"),
        lines: vec![line(a, flat("minimum_qoe_gain")), line(OPTIMUM, flat("optimum_gain"))],
    };
    if joined {
        gains.title = "Gain of the viewer who joined".to_owned();
        gains.note = format!("Mean quality after the join, over {}.", title(b));
        gains.lines = vec![line(a, flat("second_quality_gain"))];
    }
    let lowest = Cdf {
        title: "QoE of the worst viewer".to_owned(),
        note: "A line per scheme, a step per run.".to_owned(),
        x: Axis::new("lowest QoE", "points"),
        lines: vec![
            line(b, runs.iter().filter_map(|(_, b)| b.min_qoe()).collect()),
            line(a, runs.iter().filter_map(|(a, _)| a.min_qoe()).collect()),
        ],
    };
    vec![gains, lowest]
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
    let of_it = summary.runs.iter().filter(|r| r.experiment == experiment.claim.id);
    Provenance {
        label: experiment.claim.id.clone(),
        command: common.circumstances.command.join(" "),
        scenario: scenario.name.clone(),
        scenario_text: scenario.source.text.clone(),
        seeds: scenario.seeds.clone(),
        airlane: summary.airlane.clone(),
        commit: summary.commit.clone(),
        packet_hashes: of_it.map(|r| r.packet_hash.clone()).collect(),
        content: experiment.plan.corpus.as_ref().map_or_else(String::new, |c| {
            format!("{}, digest {:016x}", super::column(&c.name), c.content_hash())
        }),
        trace: String::new(),
        more: Vec::new(),
    }
}
