//! A stream over time, as the report draws it.

use std::time::Duration;

use airlane_base::Time;
use airlane_report::model::{Draw, Fill, Frame, Grid, Kind, Panel, Series};

use super::records::{FrameRecord, LayerOutcome, LayerRecord};
use super::{Output, StreamOutput};
use airlane_sim::workload::OverTime;

/// From one moment of the grid to the next.
const MOMENT: Duration = Duration::from_millis(100);
/// Frames that a moment shows: the latest that were captured.
const SHOWN: usize = 36;
/// With more layers than this their lines could not be told apart: what waits is told of all together.
const TOLD_APART: usize = 4;

pub(super) fn of(output: &Output) -> OverTime {
    if output.0.is_empty() {
        return OverTime::default();
    }
    let mut quality = Panel::new("ssim", "SSIM", "dB", Draw::Step, 1)
        .help("How close the picture is to the original, frame by frame; a picture that stands still decays.");
    let mut age = Panel::new("age", "Age of the picture", "ms", Draw::Line, 0)
        .help("How long ago the freshest picture that can be shown was captured.");
    let mut rates = Panel::new("live-rate", "Encoder", "Mbit/s", Draw::Step, 2)
        .help("What the controller takes the path to carry; bits of frames as they are handed over, and of what is shown of them, by half seconds.");
    let mut dropped = Panel::new("live-dropped", "Dropped", "Mbit/s", Draw::Step, 2)
        .help("Bits of layers that the sender's own buffer dropped, and that left and did not come, by half seconds.");
    let mut waiting = Panel::new("live-waiting", "Waits or on its way", "KB", Draw::Step, 0).help(
        "What was handed over and has neither come nor been dropped, layer by layer: in the sender's \
         buffer, in the queue and on the link. What the network dropped counts until something later comes.",
    );
    for stream in &output.0 {
        let name = &stream.name;
        waiting.series.extend(waits(stream));
        let mut line = Series::new(name.clone());
        for (frame, seen) in stream.frames.iter().zip(stream.seen()) {
            line.push(frame.handed.as_secs_f64(), seen.ssim_db);
        }
        quality.series.push(line);
        age.series.push(ages(stream));
        rates.series.push(per_half_second(stream, format!("{name}, handed over"), |_, _, _| true));
        let mut estimate = Series::new(format!("{name}, estimate"));
        for frame in &stream.frames {
            let mbps = frame.estimate_bps.map_or(f64::NAN, |bps| bps / 1e6);
            estimate.push(frame.handed.as_secs_f64(), mbps);
        }
        rates.series.push(estimate);
        rates.series.push(per_half_second(stream, format!("{name}, shown"), |frame, layer, _| {
            frame.shown.is_some_and(|shown| shown.layers.has(layer))
        }));
        let here = |_: &FrameRecord, _: usize, layer: &LayerRecord| {
            matches!(layer.fate, LayerOutcome::DroppedHere(_))
        };
        let there = |_: &FrameRecord, _: usize, layer: &LayerRecord| {
            matches!(layer.fate, LayerOutcome::DroppedThere(_))
        };
        dropped.series.push(per_half_second(stream, format!("{name}, by the sender"), here));
        dropped.series.push(per_half_second(stream, format!("{name}, on the way"), there));
    }
    let grids = output.0.iter().map(grid).collect();
    let panels = vec![quality, age, rates, waiting, dropped];
    OverTime { panels, grids, ..OverTime::default() }
}

/// The age of the freshest picture: it rises with time and falls when a fresher one can be shown.
fn ages(stream: &StreamOutput) -> Series {
    let mut line = Series::new(stream.name.clone());
    let mut push = |at: Time, captured: Time| {
        line.push(at.as_secs_f64(), (at - captured).as_secs_f64() * 1e3);
    };
    let mut before: Option<Time> = None;
    for frame in stream.fresh_frames() {
        if let Some(captured) = before {
            push(frame.at, captured);
        }
        push(frame.at, frame.captured);
        before = Some(frame.captured);
    }
    if let Some(captured) = before {
        push(stream.end, captured);
    }
    line
}

/// Kilobytes that wait or are on their way at each moment, a line per layer.
fn waits(stream: &StreamOutput) -> Vec<Series> {
    let layers = layers_of(stream);
    let lines = if layers > TOLD_APART { 1 } else { layers };
    let mut changes: Vec<Vec<(Time, i64)>> = vec![Vec::new(); lines];
    for frame in &stream.frames {
        for (layer, record) in frame.layers.iter().enumerate() {
            let of_line = &mut changes[if lines == 1 { 0 } else { layer }];
            of_line.push((frame.handed, i64::from(record.bytes)));
            let until = match record.fate {
                LayerOutcome::Came(at) | LayerOutcome::DroppedHere(at) => Some(at),
                LayerOutcome::DroppedThere(overtaken) => overtaken,
            };
            of_line.extend(until.map(|at| (at, -i64::from(record.bytes))));
        }
    }
    let line = |(number, mut changes): (usize, Vec<(Time, i64)>)| {
        let name = match (lines, layers) {
            (1, 1) => stream.name.clone(),
            (1, _) => format!("{}, all layers", stream.name),
            _ => format!("{}, layer {}", stream.name, number + 1),
        };
        let mut line = Series::new(name);
        changes.sort_unstable();
        let (mut bytes, mut next) = (0, 0);
        for now in moments(stream) {
            while let Some((_, change)) = changes.get(next).filter(|(at, _)| *at <= now) {
                bytes += change;
                next += 1;
            }
            line.push(now.as_secs_f64(), bytes as f64 / 1e3);
        }
        line
    };
    changes.into_iter().enumerate().map(line).collect()
}

/// The moments of a stream that are told.
fn moments(stream: &StreamOutput) -> impl Iterator<Item = Time> {
    let end = stream.end;
    (0..).map(|n| Time::ZERO + MOMENT * n).take_while(move |now| *now <= end)
}

/// The most layers of a frame; at least one.
fn layers_of(stream: &StreamOutput) -> usize {
    stream.frames.iter().map(|frame| frame.layers.len()).max().unwrap_or(1).max(1)
}

/// Bits per second of the layers that `counts`, by half seconds.
fn per_half_second(
    stream: &StreamOutput,
    name: String,
    counts: impl Fn(&FrameRecord, usize, &LayerRecord) -> bool,
) -> Series {
    const SPAN_S: f64 = 0.5;
    let mut line = Series::new(name);
    let slot = |frame: &FrameRecord| (frame.handed.as_secs_f64() / SPAN_S) as u64;
    for frames in stream.frames.chunk_by(|a, b| slot(a) == slot(b)) {
        let layers = frames.iter().flat_map(|f| f.layers.iter().enumerate().map(move |l| (f, l)));
        let meant = layers.filter(|(frame, (layer, record))| counts(frame, *layer, record));
        let bits: f64 = meant.map(|(_, (_, record))| 8.0 * f64::from(record.bytes)).sum();
        line.push(slot(&frames[0]) as f64 * SPAN_S, bits / SPAN_S / 1e6);
    }
    line
}

/// State of a layer at a moment, in the order of the legend.
#[derive(Clone, Copy)]
enum State {
    Shown,
    InVain,
    OnItsWay,
    DroppedHere,
    DroppedThere,
    NotYet,
}

fn state(frame: &FrameRecord, number: usize, layer: &LayerRecord, now: Time) -> State {
    if frame.handed > now {
        return State::NotYet;
    }
    let shown = frame.shown.is_some_and(|shown| shown.layers.has(number));
    match layer.fate {
        LayerOutcome::Came(at) if at <= now => {
            // What waits for another layer may still be shown.
            if shown { State::Shown } else { State::InVain }
        }
        LayerOutcome::DroppedHere(at) if at <= now => State::DroppedHere,
        LayerOutcome::DroppedThere(Some(at)) if at <= now => State::DroppedThere,
        _ => State::OnItsWay,
    }
}

/// State of the layers of the latest frames, moment by moment.
fn grid(stream: &StreamOutput) -> Grid {
    let kind = |name: &str, fill| Kind { name: name.to_owned(), fill };
    let kinds = vec![
        kind("shown", Fill::Scale(1.0)),
        kind("came in vain", Fill::Scale(0.35)),
        kind("waits or on its way", Fill::Scale(0.0)),
        kind("dropped by the sender", Fill::Broken),
        kind("dropped on the way", Fill::Broken),
        kind("not captured yet", Fill::Nothing),
    ];
    let layers = layers_of(stream);
    let frames = moments(stream).map(|now| {
        let captured = stream.frames.partition_point(|frame| frame.handed <= now);
        let from = captured.saturating_sub(SHOWN);
        let mut cells = Vec::with_capacity(SHOWN * layers);
        // The highest layer on top.
        for layer in (0..layers).rev() {
            for place in from..from + SHOWN {
                let frame = stream.frames.get(place);
                let record = frame.and_then(|frame| Some((frame, frame.layers.get(layer)?)));
                let state = record
                    .map_or(State::NotYet, |(frame, record)| state(frame, layer, record, now));
                cells.push(state as u8);
            }
        }
        Frame { at_s: now.as_secs_f64(), cells, marks: Vec::new(), note: String::new() }
    });
    Grid {
        id: format!("live-{}", stream.name),
        title: format!("What became of the latest {SHOWN} frames of {}", stream.name),
        help: "A column is a frame, the newest on the right; a row is a layer, the lowest or first sent \
               at the bottom."
            .to_owned(),
        columns: SHOWN,
        rows: layers,
        aspect: 4.0,
        kinds,
        mark: String::new(),
        frames: frames.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(number: u32, handed_ms: u64, layers: &[(u32, LayerOutcome)]) -> FrameRecord {
        FrameRecord {
            number,
            handed: Time::from_millis(handed_ms),
            estimate_bps: None,
            layers: layers.iter().map(|&(bytes, fate)| LayerRecord { bytes, fate }).collect(),
            shown: None,
        }
    }

    fn waiting(layers_of_first: &[(u32, LayerOutcome)]) -> Vec<(String, Vec<f64>)> {
        let dropped = LayerOutcome::DroppedHere(Time::from_millis(150));
        let stream = StreamOutput {
            name: "phone".to_owned(),
            counted_from: Time::ZERO,
            end: Time::from_millis(500),
            frames: vec![frame(0, 0, layers_of_first), frame(1, 100, &[(500, dropped)])],
            failure: None,
            samples: Vec::new(),
        };
        waits(&stream).into_iter().map(|line| (line.name, line.values)).collect()
    }

    #[test]
    fn a_layer_waits_until_it_comes_or_is_dropped() {
        let came = LayerOutcome::Came(Time::from_millis(250));
        let overtaken = LayerOutcome::DroppedThere(Some(Time::from_millis(500)));
        let lines = waiting(&[(1000, came), (2000, overtaken)]);
        let [low, high] = lines.as_slice() else { panic!("{lines:?}") };
        assert_eq!((low.0.as_str(), high.0.as_str()), ("phone, layer 1", "phone, layer 2"));
        assert_eq!(low.1, [1.0, 1.5, 1.0, 0.0, 0.0, 0.0]);
        assert_eq!(high.1, [2.0, 2.0, 2.0, 2.0, 2.0, 0.0]);
        // What nothing has overtaken is never known to be lost.
        let lines = waiting(&[(1000, LayerOutcome::DroppedThere(None))]);
        assert_eq!(lines, [("phone".to_owned(), vec![1.0, 1.5, 1.0, 1.0, 1.0, 1.0])]);
    }

    #[test]
    fn many_layers_are_told_of_together() {
        let came = LayerOutcome::Came(Time::from_millis(250));
        let lines = waiting(&[(100, came); 20]);
        assert_eq!(lines, [("phone, all layers".to_owned(), vec![2.0, 2.5, 2.0, 0.0, 0.0, 0.0])]);
    }
}
