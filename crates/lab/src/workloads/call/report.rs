//! The part of a report that is about conferences.

use airlane_report::model::{Axis, Better, Cdf, Column, Term};

use super::{NAME, Participants};
use airlane_judge::reporting::words::{count, list};
use airlane_judge::reporting::{by_actor, cdf_lines};
use airlane_sim::Results;
use airlane_sim::plan::Plan;
use airlane_sim::workload::{Headline, ReportSection, RunResult, SweepForm, TrafficDescription};

pub(super) fn about(participants: &Participants, _: &Plan) -> TrafficDescription {
    let number = participants.each().count();
    if number == 0 {
        return TrafficDescription::default();
    }
    TrafficDescription {
        who: vec![format!("a call of {}", count(number))],
        count: number,
        terms: vec![
            Term::new("Received bitrate", "Audio and video from all other participants together."),
            Term::new("Frame delay", "Time from the capture of a frame to when it is shown."),
            Term::new(
                "State",
                "I: both ends of a channel follow their congestion controllers. II: the uplink is held to a \
                 bitrate. III: the downlink is.",
            ),
            Term::new(
                "Freeze",
                "A pause between two frames of three times the mean, and of 150 ms more than it.",
            ),
        ],
        ..TrafficDescription::default()
    }
}

pub(super) fn headlines() -> Vec<Headline> {
    vec![
        Headline::new(
            Column::number("Received", "Mbit/s", 2)
                .better(Better::Higher)
                .help("Media from all others, mean over participants."),
            |r| Some(r.figures.value("received_mean_bps")? / 1e6),
        )
        .on_terminal("received")
        .in_sweep(SweepForm::Drawn),
        Headline::new(
            Column::number("Worst", "Mbit/s", 2)
                .better(Better::Higher)
                .help("Media that the participant who received least received."),
            |r| Some(r.figures.value("received_min_bps")? / 1e6),
        )
        .on_terminal("worst")
        .in_sweep(SweepForm::Table),
        Headline::new(
            Column::number("Frame delay", "ms", 0)
                .better(Better::Lower)
                .help("From capture to showing, 95th percentile, mean over participants."),
            |r| Some(1e3 * r.mean_of(NAME, "frame_delay_p95_s")?),
        )
        .on_terminal("delay")
        .in_sweep(SweepForm::Drawn),
        Headline::new(
            Column::number("Freezes", "1/min", 2)
                .better(Better::Lower)
                .help("Per video and minute, mean over participants."),
            |r| r.mean_of(NAME, "freezes_per_minute"),
        )
        .on_terminal("freezes")
        .in_sweep(SweepForm::Table),
    ]
}

/// A table with a row per participant and scheme, and how bitrates are distributed over seconds.
pub(super) fn section(results: &Results<'_>) -> ReportSection {
    let columns = vec![
        Column::text("Participant").merged(),
        Column::text("Scheme"),
        Column::number("Received", "Mbit/s", 2).help("Media from all others."),
        Column::number("Sent", "Mbit/s", 2).help("Media that was encoded."),
        Column::number("Frame delay", "ms", 0).help("From capture to showing, 95th percentile."),
        Column::number("Shown", "1/s", 1).help("Frames per second and video."),
        Column::number("Freezes", "1/min", 2).help("Per video and minute."),
        Column::number("Key frames", "1/min", 1).help("Key frames of video that it encoded."),
        Column::number("Uplink held", "%", 0).help("Share of the time in state II."),
        Column::number("Downlink held", "%", 0).help("Share of the time in state III."),
    ];
    let metrics = [
        ("received_bps", 1e-6),
        ("sent_bps", 1e-6),
        ("frame_delay_p95_s", 1e3),
        ("shown_fps", 1.0),
        ("freezes_per_minute", 1.0),
        ("key_frames_per_minute", 1.0),
        ("held_up_share", 100.0),
        ("held_down_share", 100.0),
    ];
    let table = by_actor(results, NAME, ("By participant", columns), &metrics);
    let cdfs = vec![
        distribution(
            results,
            "received_bps",
            ("Received bitrate by second", "received", "Mbit/s"),
            1e-6,
        ),
        distribution(
            results,
            "frame_delay_s",
            ("Frame delay", "from capture to showing", "ms"),
            1e3,
        ),
    ];
    ReportSection { tables: vec![table], cdfs, ..ReportSection::default() }
}

fn distribution(
    results: &Results<'_>,
    metric: &str,
    (title, axis, unit): (&str, &str, &str),
    scale: f64,
) -> Cdf {
    Cdf {
        title: title.to_owned(),
        note: "All participants together: so large a share has less.".to_owned(),
        x: Axis::new(axis, unit),
        lines: cdf_lines(results, NAME, metric, scale),
    }
}

/// The outcome in one sentence.
pub(super) fn verdict(results: &Results<'_>) -> Option<String> {
    let mut got = Vec::new();
    for (i, scheme) in results.plan.scenario.schemes.iter().enumerate() {
        let received = |r: &RunResult| r.figures.value("received_mean_bps");
        let mean = results.samples(i, received).mean()? / 1e6;
        got.push(format!("{mean:.1} Mbit/s under {}", scheme.title));
    }
    Some(format!("A participant of the call receives {} on average.", list(&got)))
}
