//! The tables that every report has, and what workloads make theirs with.

use airlane_report::model::{Better, CdfLine, Cell, Column, Table};

use super::words::plural;
use airlane_scenario::Access;
use airlane_sim::Results;
use airlane_sim::Samples;
use airlane_sim::workload::{Headline, RunResult, SweepForm, traffic_of};

/// The mean with its interval; of what cannot be below `floor`, the interval ends there.
pub fn cell(samples: &Samples, name: &str, floor: Option<f64>) -> Cell {
    let lowest = floor.unwrap_or(f64::NEG_INFINITY);
    match samples.mean() {
        None => Cell::Empty,
        Some(mean) => Cell::with_ci(mean, samples.ci95(name).map(|i| [i.lo.max(lowest), i.hi])),
    }
}

/// Sentence that says what the figures of a table are means over.
pub fn over(results: &Results<'_>) -> String {
    let seeds = results.plan.scenario.seeds.len();
    match (results.plan.cases.len(), seeds) {
        (1, 1) => "One run per scheme: without intervals.".to_owned(),
        (1, _) => format!("Means over {seeds} seeds, with 95 % intervals."),
        (n, _) => {
            format!("Means over {n} cases of {}, with 95 % intervals.", plural(seeds, "seed"))
        }
    }
}

/// A table with a row per actor of a workload and scheme. Its columns are actor and scheme, then one
/// per metric, which is multiplied by the number beside it.
pub fn by_actor(
    results: &Results<'_>,
    workload: &str,
    (title, columns): (&str, Vec<Column>),
    metrics: &[(&str, f64)],
) -> Table {
    let mut table = Table::new(title, columns);
    table.note = over(results);
    for name in results.actors(workload) {
        for (i, scheme) in results.plan.scenario.schemes.iter().enumerate() {
            let mut row: Vec<Cell> = vec![name.into(), scheme.title.as_str().into()];
            row.extend(metrics.iter().map(|(metric, scale)| {
                let samples = results.samples(i, |r| {
                    Some(scale * r.of(workload).find(|a| a.name == name)?.value(metric)?)
                });
                cell(&samples, &format!("{name}/{}/{metric}", scheme.name), Some(0.0))
            }));
            table.push(row);
        }
    }
    table
}

/// A distribution per scheme: the samples of a metric of all actors of a workload in all runs,
/// multiplied by `scale`.
pub fn cdf_lines(results: &Results<'_>, workload: &str, metric: &str, scale: f64) -> Vec<CdfLine> {
    let schemes = results.plan.scenario.schemes.iter().enumerate();
    let line = |(i, scheme): (usize, &airlane_scenario::Scheme)| {
        let actors = results.of_scheme(i).flat_map(|(_, run)| run.of(workload));
        let samples = actors.flat_map(|actor| actor.samples_of(metric)).map(|value| scale * value);
        CdfLine { scheme: scheme.name.clone(), samples: samples.collect() }
    };
    schemes.map(line).collect()
}

/// The columns of what a link or the air gave.
const USE: &str = "Link use";
const AIR: &str = "Share of the air";

/// The figures of one way of an access: of a link its use, of air the share of it.
pub fn of_network() -> Vec<Headline> {
    let dropped = |r: &RunResult| {
        let drops: Vec<f64> =
            r.figures.iter().filter(|f| f.0.starts_with("drops_")).map(|f| f.2).collect();
        (!drops.is_empty()).then(|| drops.iter().sum())
    };
    vec![
        Headline::new(Column::number(USE, "%", 1).better(Better::Higher), |r| {
            Some(r.value("link_utilisation")? * 100.0)
        })
        .on_terminal("link use")
        .in_sweep(SweepForm::DrawnInRange),
        Headline::new(
            Column::number(AIR, "%", 1).help(
                "The share of the time that its packets are charged with the air for: attempts, and what \
                 contending for the air costs.",
            ),
            |r| Some(r.value("air_share")? * 100.0),
        ),
        Headline::new(
            Column::number("Queueing delay", "ms", 1)
                .better(Better::Lower)
                .help("Time that a packet waits at the link, mean over packets."),
            |r| r.value("mean_queue_ms"),
        )
        .on_terminal("queueing")
        .in_sweep(SweepForm::Drawn),
        Headline::new(
            Column::number("Dropped", "packets", 0).help("At the link, for whatever reason."),
            dropped,
        ),
    ]
}

/// The figures of all workloads and of the bottleneck, in order.
pub fn headlines(plan: &airlane_sim::plan::Plan) -> Vec<Headline> {
    let participants = traffic_of(&plan.scenario).filter(|traffic| !traffic.is_empty());
    let of_casts = participants.flat_map(|traffic| traffic.headlines());
    // Several accesses have a table of their own.
    let only = plan.scenario.network.bottleneck().is_some();
    let of_network = of_network().into_iter().filter(|figure| only && figure.column.title != AIR);
    let of_air = plan.scenario.network.has_air().then(evenness_of_air);
    of_casts.chain(of_network).chain(of_air).collect()
}

/// Headline for the evenness of the shares of the air.
fn evenness_of_air() -> Headline {
    Headline::new(
        Column::number("Evenness of air", "", 3).help(
            "Jain's index of the shares of the air that stations have: 1 if all have the same, 1/n if \
             one has everything.",
        ),
        |r| r.value("jain_air"),
    )
    .on_terminal("even air")
    .in_sweep(SweepForm::Table)
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

/// A row per direction of an access and scheme, where there are several accesses.
pub(super) fn by_access(results: &Results<'_>) -> Option<Table> {
    if results.plan.scenario.network.bottleneck().is_some() {
        return None;
    }
    let (_, first) = results.all().next()?;
    let figures: Vec<Headline> = of_network()
        .into_iter()
        .filter(|figure| match figure.column.title.as_str() {
            USE => results.plan.scenario.network.has_links(),
            AIR => results.plan.scenario.network.has_air(),
            _ => true,
        })
        .collect();
    let mut columns = vec![Column::text("Access").merged(), Column::text("Scheme")];
    // Accesses are no rivals: none is marked as the best.
    columns.extend(figures.iter().map(|f| Column { better: None, ..f.column.clone() }));
    let mut table = Table::new("By access", columns);
    table.note = format!("{} Down is towards the hosts.", over(results));
    if results.plan.scenario.network.accesses.iter().any(Access::is_half_duplex) {
        table.note.push_str(
            " The directions of a half-duplex link share one capacity: their use adds up.",
        );
    }
    for (n, way) in first.ways.iter().enumerate() {
        for (i, scheme) in results.plan.scenario.schemes.iter().enumerate() {
            let label = way.name.replace('.', ", ");
            let mut cells: Vec<Cell> = vec![label.into(), scheme.title.as_str().into()];
            cells.extend(figures.iter().map(|figure| {
                let samples = results.samples(i, |run| figure.of(&alone(run, n)?));
                let name = format!("{}/{}/{}", way.name, scheme.name, figure.column.title);
                cell(&samples, &name, Some(0.0))
            }));
            table.push(cells);
        }
    }
    Some(table)
}

/// A run as if its way number `n` were the only one.
fn alone(run: &RunResult, n: usize) -> Option<RunResult> {
    Some(RunResult { figures: run.ways.get(n)?.figures.clone(), ..RunResult::default() })
}
