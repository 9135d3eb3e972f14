//! Account of the media that a client received from one person.

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::Time;
use serde::Serialize;

/// Frames whose mean interval says when the next one is late.
const FRAMES: usize = 30;
/// Time by which a frame must be late for a freeze, and multiple of the mean interval: the larger one counts (W3C,
/// Identifiers for WebRTC's Statistics API, `freezeCount`).
const FREEZE_MARGIN: Duration = Duration::from_millis(150);
const FREEZE_FACTOR: u32 = 3;

/// Account of the video and audio of one person.
#[derive(Clone, Debug, Default)]
pub(super) struct Reception {
    frames: u64,
    bytes: u64,
    audio_packets: u64,
    first: Option<Time>,
    last: Option<Time>,
    intervals: VecDeque<Duration>,
    freezes: u64,
    frozen: Duration,
}

/// Summary of what came from one person.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReceivedSummary {
    /// Name of the person.
    pub name: String,
    /// Frames of video that could be decoded.
    pub frames: u64,
    /// Frames per second, from the first to the last.
    pub frame_rate: f64,
    /// Bitrate of the video, bit/s, from the first to the last.
    pub bitrate_bps: f64,
    /// Freezes: pauses above 150 ms and three times what is usual.
    pub freezes: u64,
    /// Time in freezes, s.
    pub frozen_s: f64,
    /// Packets of audio.
    pub audio_packets: u64,
}

impl Reception {
    /// Counts a frame that can be shown.
    pub(super) fn on_frame(&mut self, at: Time, bytes: usize) {
        self.frames += 1;
        self.bytes += bytes as u64;
        self.first.get_or_insert(at);
        let Some(last) = self.last.replace(at) else { return };
        let interval = at.since(last);
        if self.intervals.len() == FRAMES {
            let mean = self.intervals.iter().sum::<Duration>() / FRAMES as u32;
            if interval > (mean * FREEZE_FACTOR).max(mean + FREEZE_MARGIN) {
                self.freezes += 1;
                self.frozen += interval;
            }
            self.intervals.pop_front();
        }
        self.intervals.push_back(interval);
    }

    pub(super) fn on_audio(&mut self) {
        self.audio_packets += 1;
    }

    pub(super) fn summary(&self, name: &str) -> ReceivedSummary {
        let span =
            self.last.zip(self.first).map_or(0.0, |(last, first)| last.since(first).as_secs_f64());
        let per_second = |count: f64| if span > 0.0 { count / span } else { 0.0 };
        ReceivedSummary {
            name: name.to_owned(),
            frames: self.frames,
            frame_rate: per_second(self.frames.saturating_sub(1) as f64),
            bitrate_bps: per_second(self.bytes as f64 * 8.0),
            freezes: self.freezes,
            frozen_s: self.frozen.as_secs_f64(),
            audio_packets: self.audio_packets,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_a_freeze_where_it_is_much_longer_than_usual() {
        let mut reception = Reception::default();
        let mut at = Time::ZERO;
        let mut frame = |after_ms: u64, reception: &mut Reception| {
            at += Duration::from_millis(after_ms);
            reception.on_frame(at, 1000);
        };
        (0..31).for_each(|_| frame(40, &mut reception));
        frame(180, &mut reception);
        assert_eq!(reception.freezes, 0);
        frame(400, &mut reception);
        let summary = reception.summary("ann");
        assert_eq!((summary.freezes, summary.frozen_s, summary.frames), (1, 0.4, 33));
        assert!((summary.frame_rate - 32.0 / 1.78).abs() < 0.01, "{summary:?}");
    }
}
