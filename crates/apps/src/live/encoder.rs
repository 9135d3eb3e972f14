//! What a frame is sent as: layers, their sizes and their markings.

use std::sync::Arc;

use airlane_base::Rate;
use airlane_media::layers::{QualityTable, TemporalTable};
use airlane_octopus::{MAX_BITRATE_KBPS, MAX_PRIORITY, Marking};

use super::Structure;
use crate::media_path::Estimate;

/// A layer to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodedLayer {
    /// Its bytes.
    pub bytes: u32,
    /// When it may be dropped.
    pub marking: Marking,
}

/// A frame to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// Which encoding of the clip it is of.
    pub encoding: u8,
    /// Its layers, the lowest first.
    pub layers: Vec<EncodedLayer>,
}

/// Makes frames.
pub trait Encoder: Send {
    /// How the video is coded.
    fn structure(&self) -> Structure;

    /// The next frame, number `n`, given what is known of the path.
    fn frame(&mut self, n: u32, estimate: &Estimate) -> Encoded;
}

impl<E: Encoder + ?Sized> Encoder for Box<E> {
    fn structure(&self) -> Structure {
        (**self).structure()
    }

    fn frame(&mut self, n: u32, estimate: &Estimate) -> Encoded {
        (**self).frame(n, estimate)
    }
}

/// What the layers of quality are marked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QualityMarks {
    /// Layers above the lowest have the rate of their encoding up to there as their bitrate.
    pub bitrates: bool,
    /// The lowest layer of a GoP's first frame drops all that is older.
    pub droppers: bool,
    /// How long a layer may wait before it is dropped, ms, by layer.
    pub slack_ms: [u16; 3],
}

impl QualityMarks {
    /// As in section 6.2 of the paper.
    pub const PAPER: Self = Self { bitrates: true, droppers: true, slack_ms: [0; 3] };
    /// Nothing may be dropped.
    pub const NONE: Self = Self { bitrates: false, droppers: false, slack_ms: [0; 3] };
}

/// A clip in layers of quality, whose encoding is chosen for each GoP (section 6.2).
#[derive(Clone, Debug)]
pub struct QualityEncoder {
    table: Arc<QualityTable>,
    marks: QualityMarks,
    /// By encoding, then by layer: its mean rate with those below, IP bits/s.
    ip_bps: Vec<Vec<f64>>,
    /// The encoding of the GoP that is being sent.
    encoding: usize,
}

impl QualityEncoder {
    /// An encoder of a clip at `fps` frames a second; `ip_bytes` says how many IP bytes a message of
    /// so many bytes takes.
    pub fn new(
        table: Arc<QualityTable>,
        fps: f64,
        marks: QualityMarks,
        ip_bytes: impl Fn(usize) -> u64,
    ) -> Self {
        let ip_bps = table.encodings.iter().map(|encoding| {
            let frames = encoding.frames.len() as f64;
            let mut sum = 0.0;
            (0..table.layers)
                .map(|layer| {
                    let sizes = encoding.frames.iter().map(|f| f[layer].bytes as usize);
                    sum += sizes.map(|bytes| ip_bytes(bytes) as f64).sum::<f64>();
                    sum * 8.0 * fps / frames
                })
                .collect()
        });
        Self { ip_bps: ip_bps.collect(), table, marks, encoding: 0 }
    }

    /// The highest encoding that the path is taken to carry; the lowest if nothing is known.
    fn choose(&self, estimate: &Estimate) -> usize {
        let Some(rate) = estimate.target.map(Rate::as_f64) else {
            return 0;
        };
        let fits = |layers: &Vec<f64>| layers.last().is_some_and(|bps| *bps <= rate);
        self.ip_bps.iter().rposition(fits).unwrap_or(0)
    }
}

impl Encoder for QualityEncoder {
    fn structure(&self) -> Structure {
        Structure::Quality { gop: self.table.gop as u32, layers: self.table.layers as u8 }
    }

    fn frame(&mut self, n: u32, estimate: &Estimate) -> Encoded {
        let first = (n as usize).is_multiple_of(self.table.gop);
        if first {
            self.encoding = self.choose(estimate);
        }
        let frame = self.table.frame(self.encoding, n);
        let marks = &self.marks;
        let is_marked = marks.bitrates || marks.droppers;
        let layers = frame.iter().enumerate().map(|(layer, size)| {
            let kbps = (self.ip_bps[self.encoding][layer] / 1e3).round() as u32;
            let marking = Marking {
                // A higher layer matters less: droppers do not look at it, queues that go by priority do.
                priority: if is_marked { (layer as u8 + 1).min(MAX_PRIORITY) } else { 0 },
                drops: (marks.droppers && first && layer == 0).then_some(1),
                bitrate_kbps: match marks.bitrates && layer > 0 {
                    true => kbps.min(MAX_BITRATE_KBPS),
                    false => 0,
                },
                slack_ms: marks.slack_ms.get(layer).copied().unwrap_or(0),
            };
            EncodedLayer { bytes: size.bytes, marking }
        });
        Encoded { encoding: self.encoding as u8, layers: layers.collect() }
    }
}

/// A clip in temporal layers at one quality, every frame of which is sent (section 6.1).
#[derive(Clone, Debug)]
pub struct TemporalEncoder {
    table: Arc<TemporalTable>,
    /// Frames are marked.
    marked: bool,
}

impl TemporalEncoder {
    /// An encoder of a clip; `marked`: a frame drops what the paper has it drop.
    pub fn new(table: Arc<TemporalTable>, marked: bool) -> Self {
        Self { table, marked }
    }
}

impl Encoder for TemporalEncoder {
    fn structure(&self) -> Structure {
        Structure::Temporal { gop: self.table.gop as u32 }
    }

    fn frame(&mut self, n: u32, _: &Estimate) -> Encoded {
        let bytes = self.table.frame(n).bytes;
        let marking = match self.marked {
            true => self.structure().temporal_marking(n),
            false => Marking::default(),
        };
        Encoded { encoding: 0, layers: vec![EncodedLayer { bytes, marking }] }
    }
}
