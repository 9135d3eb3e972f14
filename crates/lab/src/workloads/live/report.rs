//! What the report says of streams.

use airlane_report::model::{Axis, Better, Cdf, Column, Term};

use super::{NAME, Streams};
use airlane_judge::reporting::words::{count, list};
use airlane_judge::reporting::{by_actor, cdf_lines};
use airlane_sim::Results;
use airlane_sim::plan::Plan;
use airlane_sim::workload::{Headline, ReportSection, SweepForm, TrafficDescription};

pub(super) fn about(streams: &Streams, _: &Plan) -> TrafficDescription {
    let who = match streams.0.len() {
        0 => Vec::new(),
        1 => vec!["one stream of live video".to_owned()],
        n => vec![format!("{} streams of live video", count(n))],
    };
    let term = |term: &str, meaning: &str| Term { term: term.into(), meaning: meaning.into() };
    let terms = vec![
        term(
            "Layer",
            "A part of a frame that improves it and that can be left out: the lowest layer alone is \
             a coarse picture.",
        ),
        term("GoP", "A group of pictures that can be decoded without those before."),
        term(
            "SQI-SSIM",
            "Structural similarity of what is shown, in dB; a frame that is not shown counts as the \
             last one that was, less and less.",
        ),
        term("Age", "How long ago the freshest picture was captured when the next one comes."),
        term("Latency", "From the capture of a frame to its last byte that is shown."),
    ];
    let terms = if streams.0.is_empty() { Vec::new() } else { terms };
    TrafficDescription {
        who,
        count: streams.0.len(),
        constants: vec!["Clips"],
        terms,
        ..TrafficDescription::default()
    }
}

pub(super) fn headlines() -> Vec<Headline> {
    vec![
        Headline::new(
            Column::number("SQI-SSIM", "dB", 2)
                .better(Better::Higher)
                .help("How good what is shown is, frames that are missing included."),
            |r| r.mean_of(NAME, "sqi_ssim_db"),
        )
        .on_terminal("SQI-SSIM")
        .in_sweep(SweepForm::DrawnInRange),
        Headline::new(
            Column::number("99 % latency", "ms", 0)
                .better(Better::Lower)
                .help("One frame of a hundred that are shown takes longer."),
            |r| Some(1e3 * r.mean_of(NAME, "latency_p99_s")?),
        )
        .on_terminal("99 % latency")
        .in_sweep(SweepForm::Drawn),
        Headline::new(
            Column::number("Shown", "frames/s", 1)
                .better(Better::Higher)
                .help("Frames that could be decoded."),
            |r| r.mean_of(NAME, "shown_fps"),
        )
        .on_terminal("shown")
        .in_sweep(SweepForm::Table),
        Headline::new(
            Column::number("99 % age", "ms", 0)
                .better(Better::Lower)
                .help("One picture of a hundred is older when the next one comes."),
            |r| Some(1e3 * r.mean_of(NAME, "age_p99_s")?),
        )
        .in_sweep(SweepForm::Table),
    ]
}

/// A table with a row per stream and scheme, and how latency and age are distributed.
pub(super) fn section(results: &Results<'_>) -> ReportSection {
    let columns = vec![
        Column::text("Stream").merged(),
        Column::text("Scheme"),
        Column::number("SQI-SSIM", "dB", 2).better(Better::Higher),
        Column::number("Latency, median", "ms", 0).better(Better::Lower),
        Column::number("99 %", "ms", 0).better(Better::Lower),
        Column::number("Age, median", "ms", 0).better(Better::Lower),
        Column::number("99 %", "ms", 0).better(Better::Lower),
        Column::number("Shown", "% of frames", 1).better(Better::Higher),
        Column::number("Handed over", "Mbit/s", 2).help("Bits of all frames and layers."),
        Column::number("Shown", "Mbit/s", 2).help("Bits of what is shown."),
        Column::number("Dropped by the sender", "%", 1).help("Of the bytes handed over."),
        Column::number("On the way", "%", 1).help("Bytes that left and did not come."),
    ];
    let metrics = [
        ("sqi_ssim_db", 1.0),
        ("latency_p50_s", 1e3),
        ("latency_p99_s", 1e3),
        ("age_p50_s", 1e3),
        ("age_p99_s", 1e3),
        ("shown_share", 100.0),
        ("sent_bps", 1e-6),
        ("shown_bps", 1e-6),
        ("dropped_here_share", 100.0),
        ("dropped_there_share", 100.0),
    ];
    let table = by_actor(results, NAME, ("By stream", columns), &metrics);
    let cdfs = vec![
        cdf(results, "latency_s", "Latency of frames", "latency"),
        cdf(results, "age_s", "Age of the picture", "age"),
    ];
    ReportSection { tables: vec![table], cdfs, ..ReportSection::default() }
}

fn cdf(results: &Results<'_>, samples: &'static str, title: &str, axis: &str) -> Cdf {
    Cdf {
        title: title.to_owned(),
        note: "The further to the left, the better: so large a share has at most that.".to_owned(),
        x: Axis::new(axis, "ms"),
        lines: cdf_lines(results, NAME, samples, 1e3),
    }
}

/// Result of the runs, in one sentence.
pub(super) fn verdict(results: &Results<'_>) -> Option<String> {
    let mut got = Vec::new();
    for (i, scheme) in results.plan.scenario.schemes.iter().enumerate() {
        let quality = results.samples(i, |r| r.mean_of(NAME, "sqi_ssim_db")).mean()?;
        let latency = results.samples(i, |r| r.mean_of(NAME, "latency_p99_s")).mean()?;
        got.push(format!(
            "{quality:.1} dB and at most {:.0} ms for 99 % of frames under {}",
            1e3 * latency,
            scheme.title
        ));
    }
    Some(format!("What is shown has {}.", list(&got)))
}
