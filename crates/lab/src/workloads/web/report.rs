//! What the report says of web traffic.

use airlane_report::model::{Cell, Column, Table};

use super::{NAME, WebTraffic};
use airlane_judge::reporting::{cell, over, words};
use airlane_sim::Results;
use airlane_sim::workload::{ActorResult, ReportSection, TrafficDescription};

pub(super) fn about(traffic: &WebTraffic) -> TrafficDescription {
    let who = traffic.0.iter().map(|entry| {
        let (load, servers) = (words::mbps(entry.load.as_f64()), entry.servers);
        format!("web traffic of {load} from {servers} servers")
    });
    // Even one entry is many connections.
    TrafficDescription { who: who.collect(), count: 2, ..TrafficDescription::default() }
}

/// A table with a row per entry and scheme.
pub(super) fn section(results: &Results<'_>) -> ReportSection {
    let columns = vec![
        Column::text("Traffic").merged(),
        Column::text("Scheme"),
        Column::number("Offered", "Mbit/s", 2).help("Bodies asked for."),
        Column::number("Goodput", "Mbit/s", 2).help("Bodies received."),
        Column::number("Transfers", "", 0),
        Column::number("Mean time", "s", 3).help("Of a transfer, its handshake included."),
        Column::number("95th percentile", "s", 3),
    ];
    let mut table = Table::new("Web traffic", columns);
    table.note = over(results);
    type Figure = (&'static str, fn(&ActorResult) -> Option<f64>);
    let figures: [Figure; 5] = [
        ("offered", |w| Some(w.value("offered_bps")? / 1e6)),
        ("goodput", |w| Some(w.value("goodput_bps")? / 1e6)),
        ("transfers", |w| w.value("transfers")),
        ("mean", |w| w.value("took_mean_s")),
        ("p95", |w| w.value("took_p95_s")),
    ];
    for (n, name) in results.actors(NAME).into_iter().enumerate() {
        for (i, scheme) in results.plan.scenario.schemes.iter().enumerate() {
            let mut cells: Vec<Cell> = vec![name.into(), scheme.title.as_str().into()];
            cells.extend(figures.iter().map(|(figure, of)| {
                let samples = results.samples(i, |r| of(r.of(NAME).nth(n)?));
                cell(&samples, &format!("{name}/{figure}/{}", scheme.name), Some(0.0))
            }));
            table.push(cells);
        }
    }
    ReportSection { tables: vec![table], ..ReportSection::default() }
}
