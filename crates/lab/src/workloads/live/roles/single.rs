//! Records of streams of one layer, frame by frame.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::Time;
use airlane_live::LayerSet;
use airlane_live::wire::LayerHeader;

use super::super::records::{FrameRecord, LayerOutcome, LayerRecord, ShownFrame};
use super::StreamRecords;
use airlane_sim::world::{FlowSample, SAMPLE_EVERY};
use parking_lot::Mutex;

/// A frame that was captured.
#[derive(Clone, Copy, Debug)]
pub(super) struct CapturedFrame {
    pub(super) at: Time,
    /// Target rate of the encoder, bits/s.
    pub(super) target_bps: f64,
    /// Its bytes and SSIM in dB; `None` if it was left out.
    pub(super) encoded: Option<(u32, f64)>,
}

/// Records of both ends so far.
#[derive(Default)]
pub(super) struct EndRecords {
    pub(super) captured: Vec<CapturedFrame>,
    /// By frame: when it could be decoded, and the bytes that it had.
    shown: BTreeMap<u32, (Time, u64)>,
    pub(super) problem: Option<String>,
}

impl EndRecords {
    /// A frame could be decoded.
    pub(super) fn show(&mut self, data: &[u8], at: Time) {
        match LayerHeader::read(data) {
            Ok(header) => {
                self.shown.insert(header.frame, (at, data.len() as u64));
            }
            Err(e) => self.problem = Some(e.to_string()),
        }
    }
}

/// Stream whose records are read at the end of the run.
pub(super) struct RecordedStream {
    pub(super) both: Arc<Mutex<EndRecords>>,
    /// The round-trip time of late, as the sender has it.
    pub(super) rtt: Box<dyn Fn() -> Option<Duration> + Send>,
    pub(super) end: Time,
}

impl StreamRecords for RecordedStream {
    fn frames(&self) -> Vec<FrameRecord> {
        let both = self.both.lock();
        // A frame that a later one was shown after, and that was not shown itself, will not be.
        let later = |n: u32| both.shown.range(n..).map(|(_, (at, _))| *at).min();
        let frames = both.captured.iter().zip(0_u32..).map(|(captured, number)| {
            let shown = both.shown.get(&number).map(|(at, _)| *at);
            let layers = captured.encoded.map(|(bytes, _)| LayerRecord {
                bytes,
                fate: match shown {
                    Some(at) => LayerOutcome::Came(at),
                    None => LayerOutcome::DroppedThere(later(number)),
                },
            });
            FrameRecord {
                number,
                handed: captured.at,
                estimate_bps: Some(captured.target_bps),
                layers: layers.into_iter().collect(),
                shown: shown.zip(captured.encoded).map(|(at, (_, ssim_db))| ShownFrame {
                    first: at,
                    last: at,
                    layers: LayerSet::lowest(1),
                    ssim_db,
                }),
            }
        });
        frames.collect()
    }

    /// Bytes sent and shown over time: these transports do not say what was acknowledged.
    fn samples(&self) -> Vec<FlowSample> {
        let both = self.both.lock();
        let rtt_s = (self.rtt)().map(|rtt| rtt.as_secs_f64());
        let sent = |at: Time| {
            let frames = both.captured.iter().take_while(|frame| frame.at <= at);
            frames.filter_map(|frame| Some(u64::from(frame.encoded?.0))).sum()
        };
        let shown = |at: Time| {
            both.shown.values().filter(|(shown, _)| *shown <= at).map(|(_, bytes)| bytes).sum()
        };
        let times = (0..).map(|n| Time::ZERO + SAMPLE_EVERY * n).take_while(|at| *at <= self.end);
        let sample = |at| FlowSample {
            at,
            acked_bytes: shown(at),
            sent_bytes: sent(at),
            lost_bytes: 0,
            window_bytes: 0,
            rtt_s,
            weight: 1.0,
            busy: Duration::ZERO,
        };
        times.map(sample).collect()
    }
}
