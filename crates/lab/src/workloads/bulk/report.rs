//! What the report says of transfers.

use airlane_report::model::{Better, Column, Table};

use super::{NAME, Transfers};
use airlane_judge::reporting::words::{count, list, sentence};
use airlane_judge::reporting::{cell, over};
use airlane_sim::Results;
use airlane_sim::Samples;
use airlane_sim::workload::{Headline, ReportSection, RunResult, SweepForm, TrafficDescription};

/// Goodput of each transfer, bits/s; `None` if one has none.
fn goodput(run: &RunResult) -> Option<Vec<f64>> {
    let all: Option<Vec<f64>> =
        run.of(NAME).filter(|a| !a.part).map(|a| a.value("goodput_bps")).collect();
    all.filter(|all| !all.is_empty())
}

fn slowest(run: &RunResult) -> Option<f64> {
    goodput(run)?.into_iter().min_by(f64::total_cmp)
}

pub(super) fn about(transfers: &Transfers) -> TrafficDescription {
    let count_all = transfers.count();
    let who = match count_all {
        1 => "one transfer of data".to_owned(),
        n => format!("{} transfers of data", count(n)),
    };
    TrafficDescription { who: vec![who], count: count_all, ..TrafficDescription::default() }
}

pub(super) fn headlines() -> Vec<Headline> {
    vec![
        Headline::new(
            Column::number("Slowest transfer", "Mbit/s", 2).better(Better::Higher),
            |r| Some(slowest(r)? / 1e6),
        )
        .in_sweep(SweepForm::Drawn),
        Headline::new(Column::number("All transfers", "Mbit/s", 2).better(Better::Higher), |r| {
            Some(goodput(r)?.into_iter().sum::<f64>() / 1e6)
        })
        .on_terminal("goodput")
        .in_sweep(SweepForm::Table),
        Headline::new(
            Column::number("Evenness of rates", "", 3).help(
                "Jain's index of the rates: 1 if all have the same, 1/n if one has everything.",
            ),
            |r| r.value("jain_rates"),
        )
        .on_terminal("evenness"),
    ]
}

/// A table with a row per transfer and scheme.
pub(super) fn section(results: &Results<'_>) -> ReportSection {
    let columns = vec![
        Column::text("Transfer").merged(),
        Column::text("Scheme"),
        Column::number("Goodput", "Mbit/s", 2).help("Application bytes over the time it ran."),
    ];
    let mut table = Table::new("By transfer", columns);
    table.note = over(results);
    for (n, name) in results.actors(NAME).into_iter().enumerate() {
        for (i, scheme) in results.plan.scenario.schemes.iter().enumerate() {
            let samples =
                results.samples(i, |r| Some(r.of(NAME).nth(n)?.value("goodput_bps")? / 1e6));
            let goodput = cell(&samples, &format!("{name}/{}", scheme.name), Some(0.0));
            table.push(vec![name.into(), scheme.title.as_str().into(), goodput]);
        }
    }
    let tables = std::iter::once(table).chain(waits(results));
    ReportSection { tables: tables.collect(), ..ReportSection::default() }
}

/// A table with a row per scheme, of one transfer at the only link: what of it was used, and how long
/// packets waited there.
fn waits(results: &Results<'_>) -> Option<Table> {
    let only = results.plan.scenario.network.bottleneck().is_some();
    if !only || results.actors(NAME).len() != 1 {
        return None;
    }
    let columns = vec![
        Column::text("Scheme"),
        Column::number("In use", "%", 1).better(Better::Higher),
        Column::number("Wait, median", "ms", 1).better(Better::Lower),
        Column::number("99 %", "ms", 1).better(Better::Lower),
        Column::number("99.9 %", "ms", 1).better(Better::Lower),
        Column::number("Longest", "ms", 1).better(Better::Lower),
    ];
    let metrics = [
        ("link_utilisation", 100.0),
        ("queue_p50_ms", 1.0),
        ("queue_p99_ms", 1.0),
        ("queue_p999_ms", 1.0),
        ("queue_max_ms", 1.0),
    ];
    let mut table = Table::new("At the link", columns);
    table.note = over(results);
    for (i, scheme) in results.plan.scenario.schemes.iter().enumerate() {
        let mut row = vec![scheme.title.as_str().into()];
        row.extend(metrics.iter().map(|(metric, scale)| {
            let samples = results.samples(i, |r| Some(scale * r.value(metric)?));
            cell(&samples, &format!("{}/{metric}", scheme.name), Some(0.0))
        }));
        table.push(row);
    }
    Some(table)
}

/// Result of the runs, in one sentence.
pub(super) fn verdict(transfers: &Transfers, results: &Results<'_>) -> String {
    let sides: Vec<(String, Samples, Samples)> = results
        .plan
        .scenario
        .schemes
        .iter()
        .enumerate()
        .map(|(i, s)| {
            let used = results.samples(i, |r| r.value("link_utilisation"));
            (s.title.clone(), results.samples(i, slowest), used)
        })
        .collect();
    on_transfers(transfers.count(), &sides)
}

/// The verdict on transfers: per scheme the slowest transfer's goodput in bits/s and the
/// share of the link that was used.
pub fn on_transfers(transfers: usize, sides: &[(String, Samples, Samples)]) -> String {
    let who = match transfers {
        1 => "the transfer".to_owned(),
        2 => "the slower of two transfers".to_owned(),
        n => format!("the slowest of {} transfers", count(n)),
    };
    let got: Vec<String> = sides
        .iter()
        .filter_map(|(title, slowest, used)| {
            let used = used.mean().map_or_else(String::new, |u| {
                format!(" with {:.1} % of the link in use", 100.0 * u)
            });
            Some(format!("{:.2} Mbit/s under {title}{used}", slowest.mean()? / 1e6))
        })
        .collect();
    if got.is_empty() {
        return "No run has the figures that a comparison needs.".to_owned();
    }
    format!("{} gets {}.", sentence(&who), list(&got))
}
