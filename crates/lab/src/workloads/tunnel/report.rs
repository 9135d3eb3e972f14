//! What the report says of tunnels.

use airlane_report::model::{Better, Column};

use super::{NAME, Tunnels};
use airlane_judge::reporting::by_actor;
use airlane_judge::reporting::words::{count, list};
use airlane_sim::Results;
use airlane_sim::workload::{Headline, ReportSection, RunResult, SweepForm, TrafficDescription};

/// A figure of the first tunnel.
fn first(run: &RunResult, metric: &str) -> Option<f64> {
    run.of(NAME).find(|actor| !actor.part)?.value(metric)
}

pub(super) fn about(tunnels: &Tunnels) -> TrafficDescription {
    let who = match tunnels.0.len() {
        1 => "one stream of data over several radios".to_owned(),
        n => format!("{} streams of data over several radios", count(n)),
    };
    TrafficDescription { who: vec![who], count: tunnels.0.len(), ..TrafficDescription::default() }
}

pub(super) fn headlines() -> Vec<Headline> {
    vec![
        Headline::new(
            Column::number("Data in order", "Mbit/s", 1)
                .better(Better::Higher)
                .help("What the application could read over the time that counts."),
            |r| Some(first(r, "goodput_bps")? / 1e6),
        )
        .on_terminal("in order")
        .in_sweep(SweepForm::Drawn),
        Headline::new(
            Column::number("Latency", "ms", 1)
                .better(Better::Lower)
                .help("From being written to being there in order: the median over bytes."),
            |r| first(r, "latency_ms"),
        )
        .on_terminal("latency")
        .in_sweep(SweepForm::Table),
        Headline::new(
            Column::number("Waits for order", "ms", 1).better(Better::Lower).help(
                "From coming over a radio to being there in order: 99 % of all bytes wait no longer.",
            ),
            |r| first(r, "delay_p99_ms"),
        ),
        Headline::new(
            Column::number("Sent twice", "%", 2)
                .better(Better::Lower)
                .help("Bytes that a second radio sent, as they had not come over the first."),
            |r| Some(100.0 * first(r, "redundant_share")?),
        ),
    ]
}

/// A table with a row per tunnel or radio and scheme.
pub(super) fn section(results: &Results<'_>) -> ReportSection {
    let columns = vec![
        Column::text("Stream, radio").merged(),
        Column::text("Scheme"),
        Column::number("In order", "Mbit/s", 1).help("What the application could read."),
        Column::number("Waits for order, median", "ms", 1).help(
            "From coming over a radio to being there in order: half of all bytes wait no longer.",
        ),
        Column::number("99th percentile", "ms", 1).help("The same for 99 % of all bytes."),
        Column::number("Latency, 99th percentile", "ms", 1)
            .help("99 % of all bytes were there in order so long after they were written."),
        Column::number("Share of the bytes", "%", 1).help("How much the radio was first to bring."),
    ];
    let metrics = [
        ("goodput_bps", 1e-6),
        ("delay_ms", 1.0),
        ("delay_p99_ms", 1.0),
        ("latency_p99_ms", 1.0),
        ("byte_share", 100.0),
    ];
    let table = by_actor(results, NAME, ("By stream and radio", columns), &metrics);
    ReportSection { tables: vec![table], ..ReportSection::default() }
}

/// Result of the runs, in one sentence.
pub(super) fn verdict(results: &Results<'_>) -> Option<String> {
    let mut got = Vec::new();
    for (i, scheme) in results.plan.scenario.schemes.iter().enumerate() {
        let mean = results.samples(i, |r| first(r, "goodput_bps")).mean()?;
        got.push(format!("{:.1} Mbit/s under {}", mean / 1e6, scheme.title));
    }
    Some(format!("In order arrive {}.", list(&got)))
}
