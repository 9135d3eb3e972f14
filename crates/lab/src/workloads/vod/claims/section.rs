//! What the page of a claim says of viewers: mix by mix, and how gains are distributed.

use airlane_report::model::{Axis, Cdf, CdfLine, Cell, Column, Scheme, Table, Term};

use super::super::{ContentDraws, Viewers};
use super::figures::Figures;
use super::metrics::STEP;
use super::samples::{self, Mix};
use airlane_judge::reporting::words::scheme_title;
use airlane_sim::workload::{ByMetric, ClaimSection, SceneRuns};

/// The name of the offline optimum among the lines of a chart.
const OPTIMUM: &str = "optimum";

/// Videos that a row names.
const MAX_VIDEOS: usize = 8;

/// Section of a scene; empty unless every run has what it takes.
pub(crate) fn section(
    traffic: &Viewers,
    compared: &SceneRuns<'_>,
    samples: &ByMetric,
) -> ClaimSection {
    let Some(mixes) = samples::mixes(compared) else { return ClaimSection::default() };
    let mut schemes = Vec::new();
    if mixes.iter().any(|mix| mix.optimum.is_finite()) {
        schemes.push(Scheme::new(OPTIMUM, "Optimum", "Constant rates found offline."));
    }
    ClaimSection {
        tables: vec![by_mix(compared, &mixes, traffic.unit().symbol())],
        cdfs: cdfs(compared, &mixes, samples, traffic.unit().symbol()),
        schemes,
        terms: terms(),
    }
}

/// A row per mix: its videos, the lowest QoE under every scheme and at the optimum.
fn by_mix(compared: &SceneRuns<'_>, list: &[Mix<'_>], unit: &str) -> Table {
    let mut table = Table::new("Mix by mix", Vec::new());
    table.note = "Means over the seeds of a mix.".to_owned();
    let mut columns = vec![Column::text("Mix"), Column::text("Videos")];
    let lowest = |what: &str| Column::number(format!("Lowest QoE, {what}"), unit, 1);
    columns.extend(compared.names.iter().rev().map(|name| lowest(&scheme_title(name))));
    // What a claim without a baseline compares are groups within a run.
    let alone = compared.names.len() == 1;
    let run = list.first().and_then(|mix| Some(mix.runs.first()?[0])).filter(|_| alone);
    let groups: Vec<&str> = run.map(Figures::groups).filter(|g| g.len() > 1).unwrap_or_default();
    columns.extend(groups.iter().map(|group| lowest(&format!("viewers {group}"))));
    let optimum = list.iter().any(|mix| mix.optimum.is_finite());
    columns.extend(optimum.then(|| lowest("optimum")));
    table.columns = columns;
    for (case, mix) in compared.plan.cases.iter().zip(list) {
        let mean = |scheme: usize| -> Cell {
            let values: Option<Vec<f64>> =
                mix.runs.iter().map(|run| run[scheme].min_qoe()).collect();
            values.and_then(|v| airlane_quality::stats::mean(&v)).map_or(Cell::Empty, Cell::number)
        };
        let watched = compared.plan.draws.of::<ContentDraws>().map(|d| &d.draws[case.draw].videos);
        let mut videos: Vec<&str> =
            watched.into_iter().flatten().map(|v| v.name.as_str()).collect();
        if videos.len() > MAX_VIDEOS {
            videos.truncate(MAX_VIDEOS);
            videos.push("...");
        }
        let mut cells: Vec<Cell> = vec![case.name.as_str().into(), videos.join(", ").into()];
        cells.extend((0..compared.names.len()).rev().map(mean));
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

fn cdfs(compared: &SceneRuns<'_>, mixes: &[Mix<'_>], samples: &ByMetric, unit: &str) -> Vec<Cdf> {
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
    let runs: Vec<_> = mixes.iter().flat_map(|m| &m.runs).collect();
    let lowest = Cdf {
        title: "QoE of the worst viewer".to_owned(),
        note: "A line per scheme, a step per run.".to_owned(),
        x: Axis::new("lowest QoE", unit),
        lines: compared
            .names
            .iter()
            .enumerate()
            .rev()
            .map(|(i, name)| line(name, runs.iter().filter_map(|r| r[i].min_qoe()).collect()))
            .collect(),
    };
    let [a, baseline, ..] = compared.names else { return vec![lowest] };
    let starts = ContentDraws::of(compared.plan).into_iter().flat_map(|d| &d.draws);
    let starts = starts.flat_map(|watched| &watched.starts);
    let joined = Viewers::of(&compared.plan.scenario).viewers.len() == 2
        && starts.into_iter().any(|s| !s.is_zero());
    let mut gains = Cdf {
        title: "Gain of the worst viewer".to_owned(),
        note: format!(
            "Over {}. A step from 720p to 1080p is worth {STEP} points.",
            scheme_title(baseline)
        ),
        x: Axis::new("gain", unit),
        lines: vec![line(a, flat("minimum_qoe_gain")), line(OPTIMUM, flat("optimum_gain"))],
    };
    if joined {
        gains.title = "Gain of the viewer who joined".to_owned();
        gains.note = format!("Mean quality after the join, over {}.", scheme_title(baseline));
        gains.lines = vec![line(a, flat("second_quality_gain"))];
    }
    gains.lines.retain(|line| !line.samples.is_empty());
    vec![gains, lowest]
}

fn terms() -> Vec<Term> {
    vec![
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
    ]
}
