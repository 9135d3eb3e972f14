//! A run over time, as the report draws it.

use airlane_abr::PlayerModel;
use airlane_base::Time;
use airlane_report::model::{Actor, Draw, Panel, Run, Series, Span};

use super::figures::{buffer_s, metric_unit, watched_metric};
use super::words::{actor_name, metric_title, video_words};
use crate::plan::Plan;
use crate::scenario::{Capacity, Control};
use crate::world::{FlowSample, LinkSampleRow, RunOutput};

/// What the link did is a mean over so many seconds: short enough to show how queues swing.
const LINK_WINDOW_S: f64 = 2.0;

/// Rates of connections are means over so many seconds, about as long as a chunk: over less, the
/// pauses between chunks hide who gets how much.
const RATE_WINDOW_S: f64 = 4.0;

/// Chunks before the mean of their QoE says something: the first ones are of the lowest version,
/// and the step up from them costs more than all that follows.
const SETTLED: usize = 5;

/// Time between points of what is computed on a grid, seconds.
const STEP_S: f64 = 0.5;

/// The run over time: who got what from the link, and what came of it on the screen.
pub(crate) fn run(plan: &Plan, output: &RunOutput) -> Run {
    let scenario = &plan.scenario;
    let case = &plan.cases[output.key.case];
    let scheme = &scenario.schemes[output.key.scheme];
    let end = output.ended;
    let viewers = output.viewers.iter().zip(&case.videos);
    let actors: Vec<Actor> = viewers
        .map(|(v, video)| Actor::new(actor_name(&v.name), video_words(video)))
        .chain(output.bulk.iter().map(|b| Actor::new(b.name.clone(), "transfer")))
        .collect();
    let mut panels = vec![rates(output)];
    if !output.viewers.is_empty() {
        panels.extend([
            bitrates(output, end),
            buffers(output, end),
            qualities(plan, output, end),
            so_far(plan, output, end),
        ]);
    }
    // Whoever neither is weighted nor stands beside somebody who is has nothing to show here.
    let weighted = scenario.schemes.iter().any(|s| s.minerva.is_some());
    if weighted && matches!(scheme.control, Control::Cubic { .. } | Control::Fast { .. }) {
        panels.push(weights(output));
    }
    panels.extend(link(plan, &output.link_rows));
    Run {
        case: if plan.cases.len() > 1 { format!("case {}", case.name) } else { String::new() },
        scheme: scheme.name.clone(),
        seed: output.key.seed,
        label: String::new(),
        actors,
        panels,
        spans: spans(output, end),
    }
}

fn flows(output: &RunOutput) -> impl Iterator<Item = (String, &[FlowSample])> {
    let viewers = output.viewers.iter().map(|v| (actor_name(&v.name), v.samples.as_slice()));
    viewers.chain(output.bulk.iter().map(|b| (b.name.clone(), b.samples.as_slice())))
}

fn rates(output: &RunOutput) -> Panel {
    let mut panel = Panel::new("rate", "Delivery rate", "Mbit/s", Draw::Line, 2).help(
        "What each connection got from the link, over the last four seconds. A player pauses \
         between chunks, and longer when its buffer is full.",
    );
    for (name, samples) in flows(output) {
        let bits = |s: &FlowSample| s.acked_bytes as f64 * 8.0;
        let points = over_window(
            RATE_WINDOW_S,
            samples,
            |s| s.at,
            |then, now, s| (bits(now) - bits(then)) / s,
        );
        panel.series.push(series(name, points.map(|(t, bps)| (t, bps / 1e6))));
    }
    panel
}

fn weights(output: &RunOutput) -> Panel {
    let mut panel = Panel::new("weight", "Weight", "connections", Draw::Step, 2).help(
        "How many ordinary connections each one counts for when they compete: twice the weight, \
         twice the rate.",
    );
    for (name, samples) in flows(output) {
        let points = samples.iter().map(|s| (s.at.as_secs_f64(), s.weight));
        panel.series.push(series(name, points));
    }
    panel
}

/// A panel with a line of what is on the screen, chunk by chunk; with a gap while the picture
/// stands still, if `gaps`.
fn chunkwise(
    output: &RunOutput,
    end: Time,
    mut panel: Panel,
    gaps: bool,
    value: impl Fn(&PlayerModel, usize) -> f64,
) -> Panel {
    for viewer in &output.viewers {
        let model = &viewer.model;
        let mut line = Series::new(actor_name(&viewer.name));
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

fn bitrates(output: &RunOutput, end: Time) -> Panel {
    let panel = Panel::new("bitrate", "Version of the video playing", "Mbit/s", Draw::Step, 2)
        .help(
            "The mean rate of the encoding that is on the screen. The player chooses it, chunk by \
             chunk, from what it measures and holds.",
        );
    chunkwise(output, end, panel, true, |model, i| {
        model.setting().mean_rate_bps()[model.chunks()[i].rung] / 1e6
    })
}

fn qualities(plan: &Plan, output: &RunOutput, end: Time) -> Panel {
    let metric = watched_metric(&plan.scenario);
    let title = format!("Picture quality ({})", metric_title(metric));
    let panel = Panel::new("quality", title, metric_unit(metric), Draw::Step, 1).help(
        "How good the chunk on the screen looks. Chunks of one encoding differ: hard scenes look \
         worse.",
    );
    chunkwise(output, end, panel, true, |model, i| model.chunks()[i].quality)
}

fn so_far(plan: &Plan, output: &RunOutput, end: Time) -> Panel {
    let unit = metric_unit(watched_metric(&plan.scenario));
    let mut panel = Panel::new("qoe", "Experience so far (QoE)", unit, Draw::Step, 1)
        .help(
            "Mean over the chunks played so far, from the fifth on: quality, less a penalty for \
             stalls and one for changes of version.",
        )
        .last_at_rest();
    // Nobody's experience is near zero, and differences should be seen.
    panel.range = None;
    chunkwise(output, end, panel, false, |model, i| {
        if i + 1 < SETTLED {
            return f64::NAN;
        }
        let sum: f64 = model.chunks()[..=i].iter().map(|c| c.qoe).sum();
        sum / (i + 1) as f64
    })
}

fn buffers(output: &RunOutput, end: Time) -> Panel {
    let mut panel = Panel::new("buffer", "Buffer", "s", Draw::Line, 1).help(
        "Seconds of video that the player holds. When it is empty, the picture stands still.",
    );
    for viewer in &output.viewers {
        let steps = (end.as_secs_f64() / STEP_S).floor() as u64;
        let points = (0..=steps).map(|i| {
            let t = i as f64 * STEP_S;
            (t, buffer_s(&viewer.model, Time::from_secs_f64(t)))
        });
        let from = viewer.model.start().as_secs_f64();
        panel.series.push(series(actor_name(&viewer.name), points.filter(|p| p.0 >= from)));
    }
    panel
}

fn link(plan: &Plan, rows: &[LinkSampleRow]) -> Vec<Panel> {
    if rows.len() < 2 {
        return Vec::new();
    }
    let mut panels = Vec::new();
    let capacity =
        |then: &LinkSampleRow, now: &LinkSampleRow| now.capacity_bytes - then.capacity_bytes;
    let carried = |then: &LinkSampleRow, now: &LinkSampleRow| {
        now.carried_bytes.saturating_sub(then.carried_bytes) as f64
    };
    let at = |r: &LinkSampleRow| r.at;
    if !matches!(plan.scenario.link.capacity, Capacity::Constant(_)) {
        let points =
            over_window(LINK_WINDOW_S, rows, at, |then, now, s| capacity(then, now) * 8e-6 / s);
        let mut panel = Panel::new("capacity", "Link capacity", "Mbit/s", Draw::Line, 2)
            .help("What the link could carry, over the last two seconds.");
        panel.series.push(series("Link", points));
        panels.push(panel);
    }
    let used = over_window(LINK_WINDOW_S, rows, at, |then, now, _| {
        100.0 * carried(then, now) / capacity(then, now)
    });
    let mut panel = Panel::new("link", "Link use", "%", Draw::Line, 1)
        .range(0.0, 100.0)
        .help("What the link carried of what it could carry, over the last two seconds.");
    panel.series.push(series("Link", used));
    panels.push(panel);
    // What waits now, at the rate of the last two seconds.
    let waits = over_window(LINK_WINDOW_S, rows, at, |then, now, s| {
        1e3 * now.queue_bytes as f64 * s / capacity(then, now)
    });
    let mut panel = Panel::new("queue", "Queueing delay", "ms", Draw::Line, 1).help(
        "How long what waits at the link takes to leave: every packet behind it comes so \
               much later.",
    );
    panel.series.push(series("Link", waits));
    panels.push(panel);
    panels
}

fn spans(output: &RunOutput, end: Time) -> Vec<Span> {
    let mut spans = Vec::new();
    for viewer in &output.viewers {
        let model = &viewer.model;
        let mut add = |kind: &str, start: Time, until: Time| {
            if until > start {
                spans.push(Span {
                    actor: actor_name(&viewer.name),
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

fn series(name: impl Into<String>, points: impl Iterator<Item = (f64, f64)>) -> Series {
    let mut series = Series::new(name);
    for (t, value) in points {
        series.push(t, value);
    }
    series
}

/// For every sample but the first: its time in seconds, and `value` of the latest sample at least
/// `window_s` before (else the first), of itself and of the seconds between them. What is no
/// number becomes a gap.
fn over_window<'a, S>(
    window_s: f64,
    samples: &'a [S],
    at: impl Fn(&S) -> Time + 'a,
    value: impl Fn(&S, &S, f64) -> f64 + 'a,
) -> impl Iterator<Item = (f64, f64)> + 'a {
    let mut then = 0;
    (1..samples.len()).map(move |i| {
        let now = at(&samples[i]).as_secs_f64();
        while then + 1 < i && now - at(&samples[then + 1]).as_secs_f64() >= window_s - 1e-9 {
            then += 1;
        }
        let span = now - at(&samples[then]).as_secs_f64();
        (now, value(&samples[then], &samples[i], span))
    })
}
