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
/// Ticks of the RTP timestamp of video in a second.
const CLOCK_HZ: f64 = 90e3;
/// Width of a class of delays, ms, and the delays that have one, relative to the first frame's.
const DELAY_STEP_MS: i64 = 5;
const MIN_DELAY_MS: i64 = -2000;
const MAX_DELAY_MS: i64 = 10_000;

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
    /// Arrival and timestamp of the first frame, and how many frames there are of each delay.
    delay_origin: Option<(Time, u32)>,
    delays: Vec<u32>,
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
    /// Delay of frames beyond that of the fastest one, s: the median, and what 95 and 99 of 100 frames stay below.
    pub delay_p50_s: f64,
    /// See `delay_p50_s`.
    pub delay_p95_s: f64,
    /// See `delay_p50_s`.
    pub delay_p99_s: f64,
    /// Packets of audio.
    pub audio_packets: u64,
}

impl Reception {
    /// Counts a frame that can be shown.
    pub(super) fn on_frame(&mut self, at: Time, timestamp: u32, bytes: usize) {
        self.frames += 1;
        self.bytes += bytes as u64;
        self.count_delay(at, timestamp);
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

    fn count_delay(&mut self, at: Time, timestamp: u32) {
        let (origin, first) = *self.delay_origin.get_or_insert((at, timestamp));
        // Its sign tells of frames from before the first.
        let media = f64::from(timestamp.wrapping_sub(first) as i32) / CLOCK_HZ;
        let delay_ms = ((at.since(origin).as_secs_f64() - media) * 1e3) as i64;
        let class = (delay_ms.clamp(MIN_DELAY_MS, MAX_DELAY_MS) - MIN_DELAY_MS) / DELAY_STEP_MS;
        let class = class as usize;
        if self.delays.len() <= class {
            self.delays.resize(class + 1, 0);
        }
        self.delays[class] += 1;
    }

    /// Delay that this share of the frames, 0 to 1, does not exceed, beyond the least, s.
    fn delay_s(&self, share: f64) -> f64 {
        let Some(least) = self.delays.iter().position(|frames| *frames > 0) else { return 0.0 };
        let wanted = (self.frames as f64 * share).ceil();
        let mut sum = 0.0;
        let reached = self.delays.iter().position(|frames| {
            sum += f64::from(*frames);
            sum >= wanted
        });
        let classes = reached.map_or(0, |reached| reached.saturating_sub(least));
        (classes as i64 * DELAY_STEP_MS) as f64 / 1e3
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
            delay_p50_s: self.delay_s(0.5),
            delay_p95_s: self.delay_s(0.95),
            delay_p99_s: self.delay_s(0.99),
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
            let timestamp = reception.frames as u32 * 3600;
            reception.on_frame(at, timestamp, 1000);
        };
        (0..31).for_each(|_| frame(40, &mut reception));
        frame(180, &mut reception);
        assert_eq!(reception.freezes, 0);
        frame(400, &mut reception);
        let summary = reception.summary("ann");
        assert_eq!((summary.freezes, summary.frozen_s, summary.frames), (1, 0.4, 33));
        assert!((summary.frame_rate - 32.0 / 1.78).abs() < 0.01, "{summary:?}");
        // The last two frames came 140 and 500 ms later than all others; delays are told in steps of 5 ms.
        let [p50, p95, p99] = [summary.delay_p50_s, summary.delay_p95_s, summary.delay_p99_s];
        assert!(p50 < 0.006 && (p95 - 0.14).abs() < 0.006 && (p99 - 0.5).abs() < 0.006);
    }
}
