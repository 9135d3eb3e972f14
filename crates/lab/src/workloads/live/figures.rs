//! Figures of a stream, as `docs/design/live.md` defines them.

use airlane_base::Time;
use airlane_live::LayerSet;
use airlane_quality::stats;

use super::records::{FrameRecord, LayerOutcome};
use super::{NAME, Output, StreamOutput};
use airlane_sim::workload::{ActorResult, Figures, PartResult, Unit};

/// The time constant with which the quality of a picture that stands still decays (T0 of SQI).
const DECAY_S: f64 = 1.0;

/// Quality of one frame as a viewer sees it: its own picture, or the last one, decayed.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameQuality {
    /// SSIM in dB, decayed if the frame was not decoded.
    pub(super) ssim_db: f64,
    /// The same for SSIM itself, 0 to 1.
    pub(super) ssim: f64,
}

impl StreamOutput {
    /// The frames that count.
    fn counted(&self) -> impl Iterator<Item = &FrameRecord> {
        self.frames.iter().filter(|frame| frame.handed >= self.counted_from)
    }

    /// Quality of each frame as a viewer sees it, in order.
    pub(super) fn seen(&self) -> Vec<FrameQuality> {
        let mut last: Option<(Time, f64)> = None;
        let seen = self.frames.iter().map(|frame| {
            if let Some(shown) = frame.shown {
                last = Some((frame.handed, shown.ssim_db));
                return FrameQuality { ssim_db: shown.ssim_db, ssim: raw(shown.ssim_db) };
            }
            let Some((at, ssim_db)) = last else { return FrameQuality { ssim_db: 0.0, ssim: 0.0 } };
            let decay = (-(frame.handed - at).as_secs_f64() / DECAY_S).exp();
            FrameQuality { ssim_db: ssim_db * decay, ssim: raw(ssim_db) * decay }
        });
        seen.collect()
    }

    /// Latency of each frame that was shown, from its handing over to the last byte of what was
    /// decoded of it; seconds.
    pub(super) fn latencies(&self) -> Vec<f64> {
        let latency = |f: &FrameRecord| f.shown.map(|shown| (shown.last - f.handed).as_secs_f64());
        self.counted().filter_map(latency).collect()
    }
}

/// SSIM of its value in dB.
fn raw(ssim_db: f64) -> f64 {
    1.0 - 10_f64.powf(-ssim_db / 10.0)
}

pub(super) fn result(output: &Output) -> PartResult {
    let actors = output.0.iter().map(|stream| {
        let mut figures = Figures::default();
        let from = stream.frames.iter().position(|f| f.handed >= stream.counted_from);
        let seen = stream.seen().split_off(from.unwrap_or(stream.frames.len()));
        let was_sent: Vec<bool> = stream.counted().map(|f| !f.layers.is_empty()).collect();
        let mean = |all: bool, of: fn(&FrameQuality) -> f64| {
            let counts = seen.iter().zip(&was_sent).filter(|(_, sent)| all || **sent);
            stats::mean(&counts.map(|(seen, _)| of(seen)).collect::<Vec<_>>())
        };
        figures.add("sqi_ssim_db", Unit::DECIBELS, mean(false, |s| s.ssim_db));
        figures.add("sqi_ssim_grid_db", Unit::DECIBELS, mean(true, |s| s.ssim_db));
        figures.add("sqi_ssim", Unit::ONE, mean(false, |s| s.ssim));
        let ages = stream.ages();
        let latencies = stream.latencies();
        for (name, samples) in [("age", &ages), ("latency", &latencies)] {
            let sorted = stats::sorted(samples);
            for (rank, share) in [("p50", 0.5), ("p99", 0.99)] {
                let value = stats::nearest_rank_of_sorted(&sorted, share);
                figures.add(&format!("{name}_{rank}_s"), Unit::SECONDS, value);
            }
        }
        let (mean_age, quantile) = stream.age_over_time().unzip();
        figures.add("age_over_time_mean_s", Unit::SECONDS, mean_age);
        figures.add("age_over_time_p99_s", Unit::SECONDS, quantile);
        let frames: Vec<&FrameRecord> = stream.counted().collect();
        let shown = frames.iter().filter(|frame| frame.shown.is_some()).count();
        let span_s = frames.first().map(|first| (stream.end - first.handed).as_secs_f64());
        let share = |n: f64, of: f64| (of > 0.0).then(|| n / of);
        figures.add("shown_share", Unit::ONE, share(shown as f64, frames.len() as f64));
        figures.add("shown_fps", Unit::PER_SECOND, span_s.and_then(|s| share(shown as f64, s)));
        let bytes = |frame: &FrameRecord, layers: LayerSet| -> f64 {
            let layers = frame.layers.iter().enumerate().filter(|(number, _)| layers.has(*number));
            layers.map(|(_, layer)| f64::from(layer.bytes)).sum()
        };
        let shown_bytes: f64 =
            frames.iter().filter_map(|frame| Some(bytes(frame, frame.shown?.layers))).sum();
        let sent_bytes: f64 = frames.iter().map(|frame| bytes(frame, LayerSet::ALL)).sum();
        let rate = |bytes: f64| span_s.and_then(|s| share(8.0 * bytes, s));
        figures.add("shown_bps", Unit::BITS_PER_SECOND, rate(shown_bytes));
        figures.add("sent_bps", Unit::BITS_PER_SECOND, rate(sent_bytes));
        let came = frames.iter().flat_map(|frame| &frame.layers);
        let came = came.filter(|layer| matches!(layer.fate, LayerOutcome::Came(_)));
        let came_bps = rate(came.map(|l| f64::from(l.bytes)).sum());
        figures.add("came_bps", Unit::BITS_PER_SECOND, came_bps);
        let of_fate = |is: fn(&LayerOutcome) -> bool| -> Option<f64> {
            let layers = || frames.iter().flat_map(|frame| &frame.layers);
            let meant = layers().filter(|layer| is(&layer.fate)).map(|l| f64::from(l.bytes));
            share(meant.sum(), sent_bytes)
        };
        figures.add(
            "dropped_here_share",
            Unit::ONE,
            of_fate(|f| matches!(f, LayerOutcome::DroppedHere(_))),
        );
        figures.add(
            "dropped_there_share",
            Unit::ONE,
            of_fate(|f| matches!(f, LayerOutcome::DroppedThere(_))),
        );
        ActorResult {
            workload: NAME.to_owned(),
            name: stream.name.clone(),
            failure: stream.failure.clone(),
            rate_bps: Some(came_bps.unwrap_or(0.0)),
            figures,
            samples: vec![("age_s", ages), ("latency_s", latencies)],
            ..ActorResult::default()
        }
    });
    PartResult { actors: actors.collect(), figures: Figures::default() }
}
