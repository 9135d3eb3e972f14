//! What the report says of sessions.

use airlane_report::model::{Axis, Better, Cdf, Column, Term};

use super::{NAME, Sessions};
use airlane_judge::reporting::words::{count, list};
use airlane_judge::reporting::{by_actor, cdf_lines};
use airlane_sim::Results;
use airlane_sim::plan::Plan;
use airlane_sim::workload::{Headline, ReportSection, SweepForm, TrafficDescription};

pub(super) fn about(sessions: &Sessions, _: &Plan) -> TrafficDescription {
    let who = match sessions.0.len() {
        0 => Vec::new(),
        1 => vec!["one viewer of a 360-degree video".to_owned()],
        n => vec![format!("{} viewers of 360-degree videos", count(n))],
    };
    let term = |term: &str, meaning: &str| Term { term: term.into(), meaning: meaning.into() };
    let terms = vec![
        term("Tile", "A part of the panorama that is encoded and sent by itself, for one GoP."),
        term("GoP", "A group of pictures, here of one second; its tiles are shown together."),
        term("Viewport", "The part of the panorama that the user sees."),
        term(
            "Viewport PSNR",
            "Peak signal-to-noise ratio of what the user sees, by solid angle; a tile that is \
             missing shows the one before it.",
        ),
    ];
    let terms = if sessions.0.is_empty() { Vec::new() } else { terms };
    TrafficDescription {
        who,
        count: sessions.0.len(),
        constants: vec!["Titles, heads"],
        terms,
        ..TrafficDescription::default()
    }
}

pub(super) fn headlines() -> Vec<Headline> {
    vec![
        Headline::new(
            Column::number("Viewport PSNR", "dB", 1)
                .better(Better::Higher)
                .help("How close what the user looked at is to the original, mean over GoPs."),
            |r| r.mean_of(NAME, "viewport_psnr_db"),
        )
        .on_terminal("viewport")
        .in_sweep(SweepForm::DrawnInRange),
        Headline::new(
            Column::number("Worst tenth", "dB", 1)
                .better(Better::Higher)
                .help("A tenth of all GoPs have less."),
            |r| r.mean_of(NAME, "viewport_psnr_p10_db"),
        )
        .in_sweep(SweepForm::Table),
        Headline::new(
            Column::number("Missing tiles", "%", 1)
                .better(Better::Lower)
                .help("Tiles that were not there when their GoP was shown."),
            |r| Some(100.0 * r.mean_of(NAME, "late_share")?),
        )
        .on_terminal("missing")
        .in_sweep(SweepForm::Drawn),
        Headline::new(
            Column::number("In time", "Mbit/s", 1).help("Bits of tiles that were there in time."),
            |r| Some(r.mean_of(NAME, "used_bps")? / 1e6),
        )
        .on_terminal("in time")
        .in_sweep(SweepForm::Table),
    ]
}

/// A table with a row per session or radio and scheme, and how quality is distributed over GoPs.
pub(super) fn section(results: &Results<'_>) -> ReportSection {
    let columns = vec![
        Column::text("Viewer, radio").merged(),
        Column::text("Scheme"),
        Column::number("Viewport PSNR", "dB", 1).help("A missing tile shows the one before it."),
        Column::number("With grey", "dB", 1).help("The same, if a missing tile were mid-grey."),
        Column::number("WS-PSNR", "dB", 1).help("Of the whole panorama, by solid angle."),
        Column::number("Throughput", "Mbit/s", 1).help("While there was something to send."),
        Column::number("Share of the bytes", "%", 1).help("How much the radio was first to bring."),
    ];
    let metrics = [
        ("viewport_psnr_db", 1.0),
        ("viewport_psnr_grey_db", 1.0),
        ("ws_psnr_db", 1.0),
        ("throughput_bps", 1e-6),
        ("byte_share", 100.0),
    ];
    let table = by_actor(results, NAME, ("By viewer and radio", columns), &metrics);
    ReportSection { tables: vec![table], cdfs: vec![by_gop(results)], ..ReportSection::default() }
}

fn by_gop(results: &Results<'_>) -> Cdf {
    Cdf {
        title: "Viewport PSNR by GoP".to_owned(),
        note: "The further to the right, the better: so large a share of all GoPs has less."
            .to_owned(),
        x: Axis::new("viewport PSNR", "dB"),
        lines: cdf_lines(results, NAME, "viewport_psnr_db", 1.0),
    }
}

/// Result of the runs, in one sentence.
pub(super) fn verdict(results: &Results<'_>) -> Option<String> {
    let mut got = Vec::new();
    for (i, scheme) in results.plan.scenario.schemes.iter().enumerate() {
        let mean = results.samples(i, |r| r.mean_of(NAME, "viewport_psnr_db")).mean()?;
        got.push(format!("{mean:.1} dB under {}", scheme.title));
    }
    Some(format!("What the user looks at has {}.", list(&got)))
}
