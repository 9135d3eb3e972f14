//! The report: the claims, and for each of them its draws and how they are distributed.

use std::collections::BTreeSet;

use airlane_net::trace::Trace;
use airlane_report::Report;
use airlane_report::model::{self, Cell, Column, Fact, Provenance, Section, Table};

use super::chart;
use super::claim_view::{claim, lead};
use super::experiments::{Experiment, SceneKind};
use super::statistic_values;
use crate::claims::{ByMetric, Samples, Statistic, point_estimate};
use crate::reporting::{scheme_note, who, words::scheme_title};
use crate::request::ReproduceRequest;
use crate::summary::Summary;
use airlane_scenario::{Capacity, Scheme};
use airlane_sim::Common;
use airlane_sim::plan::RunKey;
use airlane_sim::workload::{ClaimRun, ClaimSection};

/// The report of a reproduction.
pub(super) fn report(
    summary: &Summary,
    findings: &[(&Experiment<'_>, ByMetric)],
    worlds: &[Option<ClaimRun>],
    verdict: &str,
    request: &ReproduceRequest<'_>,
) -> Report {
    let common = &request.common;
    let mut report = Report::new(format!("{}: the paper's claims, measured", summary.scenario));
    report.verdict = verdict.to_owned();
    report.lead = lead(summary, request.quick);
    let spec = |id: &str| findings.iter().map(|(e, _)| e.claim).find(|c| c.id == id);
    report.claims = summary.claims.iter().map(|c| claim(c, spec(&c.id))).collect();
    let mut claims: Vec<&str> = Vec::new();
    for (experiment, samples) in findings {
        let claim = experiment.claim;
        if claims.contains(&claim.id.as_str()) {
            continue;
        }
        claims.push(&claim.id);
        let parts = || findings.iter().filter(|(e, _)| e.claim.id == claim.id);
        let own = parts().map(|(e, _)| *e).filter(|e| !e.kind.is_beside());
        let cells = parts().filter(|(e, _)| matches!(e.kind, SceneKind::Cell(_)));
        let variants = parts().filter(|(e, _)| e.kind.is_beside());
        let chapters = experiment.chapters(worlds, samples);
        let mut tables = Vec::new();
        if experiment.kind == SceneKind::Single {
            tables.extend(chapters.iter().flat_map(|section| section.tables.iter().cloned()));
            tables.push(single_scene_table(experiment, samples));
        }
        tables.push(scenes_table("Cell by cell", "", cells));
        let note = "No verdict hangs on these.";
        tables.push(scenes_table("The same with one thing changed", note, variants));
        report.sections.push(Section {
            title: claim.id.clone(),
            lead: format!("{} {}", claim.statement, claim.statistic),
            facts: facts(experiment, own),
            schemes: schemes(experiment, &chapters),
            tradeoffs: chart::of(experiment, summary).into_iter().collect(),
            tables: tables.into_iter().filter(|t| !t.rows.is_empty()).collect(),
            cdfs: chapters.iter().flat_map(|section| section.cdfs.iter().cloned()).collect(),
            runs: over_time(experiment, worlds),
            notes: notes(experiment)
                .chain(parts().flat_map(|(e, _)| failures(e, worlds)))
                .collect(),
            ..Section::default()
        });
        report.provenance.push(provenance(experiment, summary, common));
        for term in chapters.into_iter().flat_map(|section| section.terms) {
            if !report.terms.iter().any(|known| known.term == term.term) {
                report.terms.push(term);
            }
        }
    }
    report
}

/// The capacity of the bottleneck, in words.
fn capacity(experiment: &Experiment<'_>) -> String {
    let network = &experiment.plan.scenario.network;
    let Some(way) = network.bottleneck() else {
        return format!("{} accesses", network.accesses.len());
    };
    match &way.capacity {
        Capacity::Constant(rate) => format!("{} Mbit/s", rate.bps() as f64 / 1e6),
        Capacity::Steps(_) => "in steps".to_owned(),
        Capacity::Air => "802.11".to_owned(),
        Capacity::Shared => "half-duplex".to_owned(),
        Capacity::Trace(_) => {
            let cases = &experiment.plan.cases;
            let names: BTreeSet<&str> =
                cases.iter().flat_map(|c| c.traces.values()).map(Trace::name).collect();
            match names.first() {
                Some(name) if names.len() == 1 => (*name).to_owned(),
                _ => format!("{} traces in turn", names.len()),
            }
        }
    }
}

/// Facts of a claim's first scene, and the links of all its scenes.
fn facts<'f, 'e: 'f>(
    experiment: &Experiment<'_>,
    scenes: impl Iterator<Item = &'f Experiment<'e>>,
) -> Vec<Fact> {
    let scenario = &experiment.plan.scenario;
    let mut links: Vec<String> = scenes.map(capacity).collect();
    links.dedup();
    vec![
        Fact::new("Link", links.join(", ")),
        Fact::new("RTT", format!("{} ms", scenario.network.rtt.as_secs_f64() * 1e3)),
        Fact::new("Traffic", who(&experiment.plan)),
        Fact::new("Draws", experiment.plan.cases.len().to_string()),
        Fact::new("Seeds per draw", scenario.seeds.len().to_string()),
        Fact::new("Length", format!("{} s", scenario.duration.as_secs_f64())),
    ]
}

fn schemes(experiment: &Experiment<'_>, chapters: &[ClaimSection]) -> Vec<model::Scheme> {
    let scenario = &experiment.plan.scenario;
    let scheme = |s: &Scheme| {
        // Without a title of its own a scheme has its name as its title.
        let title = if s.title == s.name { scheme_title(&s.name) } else { s.title.clone() };
        model::Scheme::new(&s.name, title, scheme_note(s, &scenario.network))
    };
    let schemes = scenario.schemes.iter().map(scheme);
    schemes.chain(chapters.iter().flat_map(|section| section.schemes.iter().cloned())).collect()
}

/// The statistics of a claim with a single scene, a row each.
fn single_scene_table(experiment: &Experiment<'_>, figures: &ByMetric) -> Table {
    let mut table = Table::new(
        "Over all draws",
        vec![Column::text("Figure"), Column::number("Value", "", 3), Column::text("Unit")],
    );
    for (metric, value) in statistic_values(experiment, &Samples::without_cells(figures.clone())) {
        let unit = experiment.metrics.symbol(&metric);
        table.push(vec![metric.into(), value.into(), unit.into()]);
    }
    table
}

/// The statistics of a claim in several scenes, a row per scene.
fn scenes_table<'f, 'e: 'f>(
    name: &str,
    note: &str,
    parts: impl Iterator<Item = &'f (&'f Experiment<'e>, ByMetric)>,
) -> Table {
    let parts: Vec<_> = parts.collect();
    let mut figures: Vec<Statistic> = Vec::new();
    for figure in parts.iter().flat_map(|(e, _)| &e.statistics).filter_map(Statistic::within_cell) {
        if !figures.contains(&figure) {
            figures.push(figure);
        }
    }
    let column = |figure: &Statistic| {
        let name = figure.to_string();
        let of = parts.first().map(|(e, _)| e.metrics.symbol(&name));
        let (words, unit) = (name.replace('_', " "), of.unwrap_or_default());
        // The heading has the unit below the words, so it is not repeated in them.
        let words = words.strip_suffix(" s").filter(|_| unit == "s").unwrap_or(&words);
        Column::number(words, unit, 3)
    };
    let mut columns = vec![Column::text("Scene"), Column::number("Draws", "", 0)];
    columns.extend(figures.iter().map(column));
    let mut table = Table::new(name, columns);
    table.note = note.to_owned();
    for (experiment, figures_of_scene) in parts {
        let samples = &Samples::without_cells(figures_of_scene.clone());
        let name = experiment.kind.name().unwrap_or_default();
        let mut cells: Vec<Cell> = vec![name.into(), (experiment.plan.cases.len() as f64).into()];
        let values = figures.iter().map(|figure| point_estimate(figure, samples));
        cells.extend(values.map(|value| value.map_or(Cell::Empty, Cell::number)));
        table.push(cells);
    }
    table
}

/// A note on which run is plotted over time.
fn notes(experiment: &Experiment<'_>) -> impl Iterator<Item = String> {
    let cell = experiment.kind.name().map_or_else(String::new, |name| format!(" of {name}"));
    experiment
        .plotted_runs()
        .next()
        .map(|_| {
            format!(
                "Drawn over time is the first draw{cell} under the first seed; no figure chose it."
            )
        })
        .into_iter()
}

/// The runs that are plotted over time, one per scheme.
fn over_time(experiment: &Experiment<'_>, worlds: &[Option<ClaimRun>]) -> Vec<model::Run> {
    let run = |(key, world): (RunKey, usize)| {
        let mut run = worlds[world].as_ref()?.over_time.clone()?;
        // Claims that share a world may use other names for its scheme and draw.
        run.scheme.clone_from(&experiment.plan.scenario.schemes[key.scheme].name);
        run.case = format!("draw {}", experiment.plan.cases[key.case].name);
        Some(run)
    };
    experiment.plotted_runs().filter_map(run).collect()
}

/// Sessions that ended early.
fn failures(experiment: &Experiment<'_>, worlds: &[Option<ClaimRun>]) -> Vec<String> {
    let of_run = |(key, world): &(RunKey, usize)| -> Vec<String> {
        let run = experiment.plan.label(*key);
        let failures = worlds[*world].iter().flat_map(|w| w.result.failures());
        failures
            .map(|(who, why)| format!("{run}: the session of {who} ended early: {why}"))
            .collect()
    };
    experiment.runs.iter().flat_map(of_run).collect()
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
