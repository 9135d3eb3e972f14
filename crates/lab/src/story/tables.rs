//! The tables that every report has, and what workloads make theirs with.

use airlane_report::model::{Better, Cell, Column, Table};

use super::results::Results;
use super::samples::Samples;
use super::words::plural;
use crate::workload::{Headline, InSweep, RunResult};

/// The mean with its interval; of what cannot be below `floor`, the interval ends there.
pub(crate) fn cell(samples: &Samples, name: &str, floor: Option<f64>) -> Cell {
    let lowest = floor.unwrap_or(f64::NEG_INFINITY);
    match samples.mean() {
        None => Cell::Empty,
        Some(mean) => Cell::with_ci(mean, samples.ci95(name).map(|i| [i.lo.max(lowest), i.hi])),
    }
}

/// What the figures of a table are over.
pub(crate) fn over(results: &Results<'_>) -> String {
    let seeds = results.plan.scenario.seeds.len();
    match (results.plan.cases.len(), seeds) {
        (1, 1) => "One run per scheme: without intervals.".to_owned(),
        (1, _) => format!("Means over {seeds} seeds, with 95 % intervals."),
        (n, _) => {
            format!("Means over {n} cases of {}, with 95 % intervals.", plural(seeds, "seed"))
        }
    }
}

/// The figures of the bottleneck.
pub(crate) fn of_network() -> Vec<Headline> {
    let dropped = |r: &RunResult| {
        let drops: Vec<f64> =
            r.figures.iter().filter(|f| f.0.starts_with("drops_")).map(|f| f.2).collect();
        (!drops.is_empty()).then(|| drops.iter().sum())
    };
    vec![
        Headline::new(Column::number("Link use", "%", 1).better(Better::Higher), |r| {
            Some(r.value("link_utilisation")? * 100.0)
        })
        .on_terminal("link use")
        .in_sweep(InSweep::DrawnInRange),
        Headline::new(
            Column::number("Queueing delay", "ms", 1)
                .better(Better::Lower)
                .help("Time that a packet waits at the link, mean over packets."),
            |r| r.value("mean_queue_ms"),
        )
        .on_terminal("queueing")
        .in_sweep(InSweep::Drawn),
        Headline::new(
            Column::number("Dropped", "packets", 0).help("At the link, for whatever reason."),
            dropped,
        ),
    ]
}

/// The figures of all workloads and of the bottleneck, in order.
pub(crate) fn headlines(plan: &crate::plan::Plan) -> Vec<Headline> {
    let casts = plan.scenario.casts.iter().filter(|cast| !cast.is_empty());
    casts.flat_map(|cast| cast.headlines(plan)).chain(of_network()).collect()
}

/// The summary, a row per scheme.
pub(super) fn by_scheme(results: &Results<'_>) -> Table {
    let figures = headlines(results.plan);
    let mut columns = vec![Column::text("Scheme")];
    columns.extend(figures.iter().map(|f| f.column.clone()));
    let mut table = Table::new("By scheme", columns);
    table.note = over(results);
    for (i, scheme) in results.plan.scenario.schemes.iter().enumerate() {
        let mut cells = vec![Cell::from(scheme.title.as_str())];
        for figure in &figures {
            let samples = results.samples(i, |run| figure.of(run));
            let name = format!("{}/{}", scheme.name, figure.column.title);
            cells.push(cell(&samples, &name, figure.floor));
        }
        table.push(cells);
    }
    table
}
