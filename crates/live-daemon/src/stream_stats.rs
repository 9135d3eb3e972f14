//! What could have been shown.

use std::time::Duration;

use airlane_base::Time;
use airlane_live::ReceivedLayer;
use airlane_live::wire::Answer;
use airlane_quality::stats;
use serde::Serialize;

/// Frames whose times are kept at most: the latest of a day are enough for a report.
const MAX_KEPT: usize = 1 << 22;

/// A frame that could be shown.
#[derive(Clone, Copy, Debug)]
struct Frame {
    number: u32,
    /// Number of layers that could be shown.
    layers: u8,
    /// From its handing over by the sender's clock to the last byte of the best of it by ours, ns: the
    /// clocks begin at different times, so that only differences of these mean something.
    took: i64,
}

/// One second of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Second {
    /// Seconds since the beginning.
    pub at_s: f64,
    /// Frames that could be shown in it.
    pub frames: u64,
    /// Of these the share that had all their layers.
    pub top_share: f64,
    /// Bits of layers that came.
    pub bps: f64,
    /// Difference between the slowest frame's time and the fastest one's of all so far, ms.
    pub slowest_ms: f64,
}

/// A stream from its beginning to its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Seconds from the first frame on.
    pub seconds: f64,
    /// Frames that the sender handed over meanwhile, as far as is known: those of a silence at the end
    /// are counted as if it had gone on.
    pub sent: u64,
    /// Frames that could be shown.
    pub shown: u64,
    /// Of these, how many had one layer, how many two, and so on.
    pub by_layer: Vec<u64>,
    /// Bits per second of layers that came.
    pub bps: f64,
    /// Difference between frames' times and the fastest one's, ms: median and 99th percentile.
    pub latency_p50_ms: f64,
    /// The same, 99th percentile.
    pub latency_p99_ms: f64,
    /// Reason for which the sender counts as lost, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

#[derive(Debug)]
pub(super) struct StreamStats {
    begin: Time,
    layers: u8,
    frame_time: Duration,
    frames: Vec<Frame>,
    bytes: u64,
    first: Option<u32>,
    newest: u32,
    fastest: i64,
    last: Mark,
}

/// Beginning of a second.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    frames: usize,
    bytes: u64,
}

impl StreamStats {
    pub(super) fn new(begin: Time, answer: Answer) -> Self {
        Self {
            begin,
            layers: answer.structure.layers(),
            frame_time: answer.frame_time,
            frames: Vec::new(),
            bytes: 0,
            first: None,
            newest: 0,
            fastest: i64::MAX,
            last: Mark::default(),
        }
    }

    pub(super) fn add(&mut self, layer: &ReceivedLayer) {
        self.bytes += u64::from(layer.bytes);
        self.first.get_or_insert(layer.header.frame);
        self.newest = self.newest.max(layer.header.frame);
        // By the sender's word, which may be any number.
        let handed = layer.header.handed.as_nanos() as i64;
        let took = (layer.at.as_nanos() as i64).saturating_sub(handed);
        for decoded in &layer.decoded {
            let frame = Frame { number: decoded.frame, layers: decoded.layers.count(), took };
            self.fastest = self.fastest.min(took);
            // A frame of which more came was shown before.
            let is_better = self.frames.last().is_some_and(|last| last.number == decoded.frame);
            if is_better {
                self.frames.pop();
            }
            if self.frames.len() < MAX_KEPT {
                self.frames.push(frame);
            }
        }
    }

    fn late_ms(&self, frame: &Frame) -> f64 {
        frame.took.saturating_sub(self.fastest) as f64 / 1e6
    }

    pub(super) fn second(&mut self, now: Time) -> Second {
        let frames = &self.frames[self.last.frames..];
        let top = frames.iter().filter(|f| f.layers == self.layers).count();
        let second = Second {
            at_s: now.since(self.begin).as_secs_f64(),
            frames: frames.len() as u64,
            top_share: if frames.is_empty() { 0.0 } else { top as f64 / frames.len() as f64 },
            bps: 8.0 * (self.bytes - self.last.bytes) as f64,
            slowest_ms: frames.iter().map(|f| self.late_ms(f)).fold(0.0, f64::max),
        };
        self.last = Mark { frames: self.frames.len(), bytes: self.bytes };
        second
    }

    /// The whole, up to `now`, when the sender had been silent for `silent`.
    pub(super) fn report(&self, now: Time, silent: Duration) -> Report {
        let seconds = now.since(self.begin).as_secs_f64();
        let late: Vec<f64> = self.frames.iter().map(|f| self.late_ms(f)).collect();
        let late = stats::sorted(&late);
        let quantile = |share| stats::nearest_rank_of_sorted(&late, share).unwrap_or(0.0);
        let of_layers = |n: u8| self.frames.iter().filter(|f| f.layers == n).count() as u64;
        Report {
            seconds,
            sent: self.first.map_or(0, |first| u64::from(self.newest - first.min(self.newest)) + 1)
                + (silent.as_nanos() / self.frame_time.as_nanos().max(1)) as u64,
            shown: self.frames.len() as u64,
            by_layer: (1..=self.layers).map(of_layers).collect(),
            bps: if seconds > 0.0 { 8.0 * self.bytes as f64 / seconds } else { 0.0 },
            latency_p50_ms: quantile(0.5),
            latency_p99_ms: quantile(0.99),
            lost: None,
        }
    }
}
