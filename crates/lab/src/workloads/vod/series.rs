//! What viewers saw over time, as the report draws it.

use airlane_abr::PlayerModel;
use airlane_base::Time;
use airlane_report::model::{Draw, Panel, Series, Span};

use super::figures::buffer_s;
use super::words::{metric_title, viewer_title};
use super::{Output, Viewers};
use airlane_judge::reporting::series;
use airlane_sim::workload::{EndedRun, OverTime};

/// Chunks before the mean of their QoE says something: the first ones are of the lowest version,
/// and the step up from them costs more than all that follows.
const SETTLED: usize = 5;

/// Time between points of what is computed on a grid, seconds.
const STEP_S: f64 = 0.5;

/// Panels over time of what viewers saw.
pub(super) fn over_time(output: &Output, run: &EndedRun<'_>) -> OverTime {
    if output.0.is_empty() {
        return OverTime::default();
    }
    let (traffic, end) = (Viewers::of(&run.plan.scenario), run.at);
    OverTime {
        panels: vec![
            bitrates(output, end),
            buffers(output, end),
            qualities(traffic, output, end),
            so_far(traffic, output, end),
        ],
        spans: spans(output, end),
        ..OverTime::default()
    }
}

/// A panel with a line of what is on the screen, chunk by chunk; with a gap while the picture
/// stands still, if `gaps`.
fn chunkwise(
    output: &Output,
    end: Time,
    mut panel: Panel,
    gaps: bool,
    value: impl Fn(&PlayerModel, usize) -> f64,
) -> Panel {
    for viewer in &output.0 {
        let model = &viewer.model;
        let mut line = Series::new(viewer_title(&viewer.name));
        let mut over = Time::ZERO;
        for (i, chunk) in model.chunks().iter().enumerate().take_while(|(_, c)| c.begins < end) {
            if gaps && i > 0 && chunk.begins > over {
                line.push(over.as_secs_f64(), f64::NAN);
            }
            line.push(chunk.begins.as_secs_f64(), value(model, i));
            over = chunk.begins + model.setting().chunk();
        }
        if let Some(value) = line.values.last().copied() {
            line.push(over.min(end).as_secs_f64(), value);
        }
        panel.series.push(line);
    }
    panel
}

fn bitrates(output: &Output, end: Time) -> Panel {
    let panel = Panel::new("bitrate", "Version of the video playing", "Mbit/s", Draw::Step, 2)
        .help(
            "The mean rate of the encoding that is on the screen. The player chooses it, chunk by \
             chunk, from what it measures and holds.",
        );
    chunkwise(output, end, panel, true, |model, i| {
        model.setting().mean_rate_bps()[model.chunks()[i].rung] / 1e6
    })
}

fn qualities(traffic: &Viewers, output: &Output, end: Time) -> Panel {
    let metric = traffic.watched_metric();
    let title = format!("Picture quality ({})", metric_title(metric));
    let panel = Panel::new("quality", title, traffic.unit(), Draw::Step, 1).help(
        "How good the chunk on the screen looks. Chunks of one encoding differ: hard scenes look \
         worse.",
    );
    chunkwise(output, end, panel, true, |model, i| model.chunks()[i].quality)
}

fn so_far(traffic: &Viewers, output: &Output, end: Time) -> Panel {
    let unit = traffic.unit();
    let mut panel = Panel::new("qoe", "Experience so far (QoE)", unit, Draw::Step, 1)
        .help(
            "Mean over the chunks played so far, from the fifth on: quality, less a penalty for \
             stalls and one for changes of version.",
        )
        .last_at_rest();
    // QoE is far from zero: an axis from zero would hide the differences.
    panel.range = None;
    chunkwise(output, end, panel, false, |model, i| {
        if i + 1 < SETTLED {
            return f64::NAN;
        }
        let sum: f64 = model.chunks()[..=i].iter().map(|c| c.qoe).sum();
        sum / (i + 1) as f64
    })
}

fn buffers(output: &Output, end: Time) -> Panel {
    let mut panel = Panel::new("buffer", "Buffer", "s", Draw::Line, 1).help(
        "Seconds of video that the player holds. When it is empty, the picture stands still.",
    );
    for viewer in &output.0 {
        let steps = (end.as_secs_f64() / STEP_S).floor() as u64;
        let points = (0..=steps).map(|i| {
            let t = i as f64 * STEP_S;
            (t, buffer_s(&viewer.model, Time::from_secs_f64(t)))
        });
        let from = viewer.model.start().as_secs_f64();
        panel.series.push(series(viewer_title(&viewer.name), points.filter(|p| p.0 >= from)));
    }
    panel
}

fn spans(output: &Output, end: Time) -> Vec<Span> {
    let mut spans = Vec::new();
    for viewer in &output.0 {
        let model = &viewer.model;
        let mut add = |kind: &str, start: Time, until: Time| {
            if until > start {
                spans.push(Span {
                    actor: viewer_title(&viewer.name),
                    kind: kind.to_owned(),
                    start_s: start.as_secs_f64(),
                    end_s: until.as_secs_f64(),
                });
            }
        };
        add("start-up", model.start(), model.chunks().first().map_or(end, |c| c.begins).min(end));
        for pair in model.chunks().windows(2) {
            add("stall", pair[0].begins + model.setting().chunk(), pair[1].begins.min(end));
        }
        if let Some(last) = model.chunks().last()
            && last.chunk + 1 < model.setting().chunks()
        {
            add("stall", last.begins + model.setting().chunk(), end);
        }
    }
    spans
}
