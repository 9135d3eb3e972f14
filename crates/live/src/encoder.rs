//! What a frame is sent as: layers, their sizes and their markings.

use std::sync::Arc;

use airlane_media::clouds::CloudTable;
use airlane_media::layers::{QualityTable, TemporalTable};
use airlane_octopus::{MAX_PRIORITY, Marking};

use super::rates::{EncodingRates, marked_kbps};
use super::{Cells, PAPER_THRESHOLDS, Structure, Thresholds};
use crate::media_path::Estimate;

/// A layer to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodedLayer {
    /// Its bytes.
    pub bytes: u32,
    /// Marking, which says when it may be dropped.
    pub marking: Marking,
}

/// A frame to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// Number of the clip's encoding that it is of.
    pub encoding: u8,
    /// Its layers, the lowest first.
    pub layers: Vec<EncodedLayer>,
}

/// Makes frames.
pub trait Encoder: Send {
    /// Structure of the video's encoding.
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

/// Marks of layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerMarks {
    /// Layers of quality above the lowest have the rate of their encoding up to there as their bitrate.
    pub bitrates: bool,
    /// The lowest layer of a GoP's first frame drops all that is older; of point clouds the first message
    /// of each frame what `thresholds` says.
    pub droppers: bool,
    /// Maximum time that a layer of quality may wait before it is dropped, ms, by layer.
    pub slack_ms: [u16; 3],
    /// The same for every layer of a cell.
    pub cell_slack_ms: u16,
    /// Thresholds by which the droppers of point clouds drop older messages, frame by frame.
    pub thresholds: Thresholds,
    /// Fields of the marking of temporal layers.
    pub temporal: TemporalFields,
}

/// Fields of the markings of temporal layers, to see what each is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TemporalFields {
    /// Priority and threshold (Octopus, Fig. 7).
    #[default]
    Both,
    /// The threshold of each frame is 1: it drops all older ones, also those that it needs.
    Priority,
    /// The priority of each frame is 1: the first of a GoP alone drops older ones, by its threshold.
    Threshold,
}

impl LayerMarks {
    /// As in sections 6.2 and 6.3 of the paper.
    pub const PAPER: Self = Self {
        bitrates: true,
        droppers: true,
        slack_ms: [0; 3],
        cell_slack_ms: 0,
        thresholds: PAPER_THRESHOLDS,
        temporal: TemporalFields::Both,
    };
    /// Nothing may be dropped.
    pub const NONE: Self = Self { bitrates: false, droppers: false, ..Self::PAPER };

    /// True if a message says anything: without a priority no queue drops it on purpose.
    fn mark_anything(&self) -> bool {
        self.bitrates || self.droppers
    }

    /// Of a layer of quality, whose rate is so high with those below it; `first`: of a GoP's first frame.
    pub(super) fn of_quality(&self, first: bool, layer: usize, ip_bps: f64) -> Marking {
        Marking {
            // A higher layer matters less: droppers do not look at it, queues that go by priority do.
            priority: match self.mark_anything() {
                true => (layer as u8 + 1).min(MAX_PRIORITY),
                false => 0,
            },
            drops: (self.droppers && first && layer == 0).then_some(1),
            bitrate_kbps: if self.bitrates && layer > 0 { marked_kbps(ip_bps) } else { 0 },
            slack_ms: self.slack_ms.get(layer).copied().unwrap_or(0),
        }
    }
}

/// A clip in layers of quality, whose encoding is chosen for each GoP (section 6.2).
#[derive(Clone, Debug)]
pub struct QualityEncoder {
    table: Arc<QualityTable>,
    marks: LayerMarks,
    rates: EncodingRates,
    /// Share of the path's rate that is asked for.
    share: f64,
    /// The encoding of the GoP that is being sent.
    encoding: usize,
}

impl QualityEncoder {
    /// An encoder of a clip at `fps` frames a second; `ip_bytes` says how many IP bytes a message of
    /// so many bytes takes.
    pub fn new(
        table: Arc<QualityTable>,
        fps: f64,
        marks: LayerMarks,
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
        let rates = EncodingRates::new(ip_bps.collect());
        Self { rates, table, marks, share: 1.0, encoding: 0 }
    }

    /// With encodings that ask for this share of the path's rate, and not for all of it.
    #[must_use]
    pub fn with_share(self, share: f64) -> Self {
        Self { share, ..self }
    }
}

impl Encoder for QualityEncoder {
    fn structure(&self) -> Structure {
        Structure::Quality { gop: self.table.gop as u32, layers: self.table.layers as u8 }
    }

    fn frame(&mut self, n: u32, estimate: &Estimate) -> Encoded {
        let first = (n as usize).is_multiple_of(self.table.gop);
        if first {
            self.encoding = self.rates.choose(estimate, 1.0 / self.share).unwrap_or(0);
        }
        let frame = self.table.frame(self.encoding, n);
        let layers = frame.iter().enumerate().map(|(layer, size)| {
            let ip_bps = self.rates.ip_bps(self.encoding, layer);
            let marking = self.marks.of_quality(first, layer, ip_bps);
            EncodedLayer { bytes: size.bytes, marking }
        });
        Encoded { encoding: self.encoding as u8, layers: layers.collect() }
    }
}

/// A clip in temporal layers at one quality, every frame of which is sent (section 6.1).
#[derive(Clone, Debug)]
pub struct TemporalEncoder {
    table: Arc<TemporalTable>,
    marks: LayerMarks,
}

impl TemporalEncoder {
    /// An encoder of a clip, whose frames are marked if `marks` has droppers.
    pub fn new(table: Arc<TemporalTable>, marks: LayerMarks) -> Self {
        Self { table, marks }
    }
}

impl Encoder for TemporalEncoder {
    fn structure(&self) -> Structure {
        Structure::Temporal { gop: self.table.gop as u32 }
    }

    fn frame(&mut self, n: u32, _: &Estimate) -> Encoded {
        let bytes = self.table.frame(n).bytes;
        let whole = self.structure().temporal_marking(n);
        let marking = match (self.marks.droppers, self.marks.temporal) {
            (false, _) => Marking::default(),
            (true, TemporalFields::Both) => whole,
            (true, TemporalFields::Priority) => Marking { drops: Some(1), ..whole },
            (true, TemporalFields::Threshold) => Marking { priority: 1, ..whole },
        };
        Encoded { encoding: 0, layers: vec![EncodedLayer { bytes, marking }] }
    }
}

/// A clip as point clouds, every layer of every cell of which is sent (section 6.3).
#[derive(Clone, Debug)]
pub struct CloudEncoder {
    table: Arc<CloudTable>,
    marks: LayerMarks,
    cells: Cells,
}

impl CloudEncoder {
    /// An encoder of a clip.
    pub fn new(table: Arc<CloudTable>, marks: LayerMarks) -> Self {
        let cells = Cells { fronts: table.fronts() as u8, layers: table.layers as u8 };
        Self { table, marks, cells }
    }

    fn marking(&self, n: u32, message: u8) -> Marking {
        if !self.marks.mark_anything() {
            return Marking::default();
        }
        let thresholds = self.marks.droppers.then_some(self.marks.thresholds);
        let slack_ms = self.marks.cell_slack_ms;
        Marking { slack_ms, ..self.cells.marking(n, message, thresholds) }
    }
}

impl Encoder for CloudEncoder {
    fn structure(&self) -> Structure {
        Structure::Clouds(self.cells)
    }

    fn frame(&mut self, n: u32, _: &Estimate) -> Encoded {
        let frame = self.table.frame(n);
        let layers = (0..self.cells.all()).map(|message| {
            let place = self.cells.place(message);
            let bytes = frame.layer_bytes[usize::from(place.cell)][usize::from(place.layer)];
            EncodedLayer { bytes, marking: self.marking(n, message) }
        });
        Encoded { encoding: 0, layers: layers.collect() }
    }
}

#[cfg(test)]
mod tests {
    use airlane_media::layers::LayerContent;

    use super::*;

    #[test]
    fn fields_of_temporal_layers_go_one_at_a_time() {
        let content = LayerContent::embedded().unwrap();
        let table = content.videos.iter().find_map(|clip| clip.temporal.clone()).unwrap();
        let marks = |temporal, droppers| {
            let marks = LayerMarks { temporal, droppers, ..LayerMarks::PAPER };
            let mut encoder = TemporalEncoder::new(Arc::new(table.clone()), marks);
            let frames = (0..16).map(|n| encoder.frame(n, &Estimate::default()).layers[0].marking);
            frames.map(|marking| (marking.priority, marking.drops)).collect::<Vec<_>>()
        };
        let both = marks(TemporalFields::Both, true);
        assert_eq!(both[..4], [(1, Some(1)), (3, Some(3)), (2, Some(2)), (3, Some(3))]);
        let priority = marks(TemporalFields::Priority, true);
        let threshold = marks(TemporalFields::Threshold, true);
        for (n, (p, drops)) in both.iter().enumerate() {
            assert_eq!(priority[n], (*p, Some(1)));
            assert_eq!(threshold[n], (1, *drops));
        }
        assert!(marks(TemporalFields::Both, false).iter().all(|marks| *marks == (0, None)));
    }
}
