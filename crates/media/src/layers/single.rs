//! The same clip in a single layer: for transports that have no use for several.

use super::{Layer, QualityTable, TemporalTable, mean_bps};

/// Ratio of the size of layered frames to that of frames of a single layer (Octopus, section 6.1:
/// 15 to 18 %).
pub(super) const LAYERED_OVERHEAD: f64 = 1.165;

/// A frame in a single layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SingleFrame {
    /// Its bytes when it refers to the frame before.
    pub bytes: u32,
    /// Its bytes when it refers to none.
    pub key_bytes: u32,
    /// SSIM in dB.
    pub ssim_db: f64,
}

/// An encoding in a single layer.
#[derive(Clone, Debug, PartialEq)]
pub struct SingleEncoding {
    /// The mean rate without key frames, bits/s of media.
    pub bps: f64,
    /// Its frames.
    pub frames: Vec<SingleFrame>,
    /// The first frame of each so many that is sent is a key frame. `None`: only that of all.
    pub gop: Option<usize>,
}

/// Encodings in a single layer, rates rising.
#[derive(Clone, Debug, PartialEq)]
pub struct SingleLadder {
    /// The encodings; never empty.
    pub encodings: Vec<SingleEncoding>,
}

impl SingleEncoding {
    pub(super) fn new(frames: Vec<SingleFrame>, fps: f64) -> Self {
        let bps = mean_bps(frames.iter().map(|f| u64::from(f.bytes)), fps);
        Self { bps, frames, gop: None }
    }

    /// With a key frame in each GoP, of layers that are one.
    pub(super) fn keyed(layers: &[Layer], gop: usize, fps: f64, overhead: f64) -> Self {
        let frames = layers.iter().enumerate().map(|(n, frame)| {
            let first = layers[n / gop * gop];
            SingleFrame {
                bytes: scaled(frame.bytes, 1.0 / overhead),
                key_bytes: scaled(first.bytes.max(frame.bytes), 1.0 / overhead),
                ssim_db: frame.ssim_db,
            }
        });
        Self { gop: Some(gop), ..Self::new(frames.collect(), fps) }
    }

    /// Frame `n` of the clip played over and over.
    pub fn frame(&self, n: u32) -> SingleFrame {
        self.frames[n as usize % self.frames.len()]
    }

    /// Its bytes where frame `before` was the last that was sent.
    pub fn bytes(&self, n: u32, before: Option<u32>) -> u32 {
        let frame = self.frame(n);
        let gop_of = |n: u32| self.gop.map(|gop| n as usize / gop);
        match before {
            Some(before) if gop_of(before) == gop_of(n) => frame.bytes,
            _ => frame.key_bytes,
        }
    }

    /// Encoding that a clip in temporal layers would be in one: smaller by what layers cost.
    pub(super) fn of_temporal(table: &TemporalTable, fps: f64) -> Self {
        let keyed = Self::keyed(&table.frames, table.gop, fps, LAYERED_OVERHEAD);
        Self { gop: None, ..keyed }
    }
}

impl SingleLadder {
    /// Ladder that a clip in quality layers would be in one: all layers as one, smaller by the
    /// factor `overhead`, and the bytes of the key frames that it does not need spread over the
    /// other frames.
    pub(super) fn of_quality(table: &QualityTable, fps: f64, overhead: f64) -> Self {
        let encodings = table.encodings.iter().map(|encoding| {
            let whole: Vec<Layer> = encoding
                .frames
                .iter()
                .map(|layers| Layer {
                    bytes: layers.iter().map(|layer| layer.bytes).sum(),
                    ssim_db: layers.last().map_or(0.0, |layer| layer.ssim_db),
                })
                .collect();
            let gops = whole.chunks(table.gop);
            let frames = gops.flat_map(|gop| {
                let sum = |frames: &[Layer]| -> f64 {
                    frames.iter().map(|frame| f64::from(frame.bytes)).sum()
                };
                let (key, rest) = (gop[0], &gop[1..]);
                // In the place of the key frame a frame like the others.
                let mean = if rest.is_empty() { sum(gop) } else { sum(rest) / rest.len() as f64 };
                let spread = sum(gop) / (mean * gop.len() as f64);
                gop.iter().enumerate().map(move |(n, frame)| SingleFrame {
                    bytes: scaled(
                        if n == 0 { mean as u32 } else { frame.bytes },
                        spread / overhead,
                    ),
                    key_bytes: scaled(key.bytes, 1.0 / overhead),
                    ssim_db: frame.ssim_db,
                })
            });
            SingleEncoding::new(frames.collect(), fps)
        });
        Self { encodings: encodings.collect() }
    }

    /// Frame `n` of the clip played over and over, as an encoder makes it that was told to make
    /// `bps`: between two encodings, by rate; outside of them, with bytes in proportion and the
    /// quality of the nearest, less 3 dB for each halving below.
    pub fn frame(&self, n: usize, bps: f64) -> SingleFrame {
        let above = self.encodings.partition_point(|e| e.bps < bps);
        let at = |i: usize| {
            let frames = &self.encodings[i].frames;
            frames[n % frames.len()]
        };
        let last = self.encodings.len() - 1;
        if above == 0 {
            let frame = at(0);
            let factor = bps.max(1.0) / self.encodings[0].bps;
            return SingleFrame {
                bytes: scaled(frame.bytes, factor),
                key_bytes: scaled(frame.key_bytes, factor),
                ssim_db: (frame.ssim_db + 10.0 * factor.log10()).max(0.0),
            };
        }
        if above > last {
            return at(last);
        }
        let (low, high) = (at(above - 1), at(above));
        let (from, to) = (self.encodings[above - 1].bps, self.encodings[above].bps);
        let share = (bps - from) / (to - from);
        let mix = |a: f64, b: f64| a + share * (b - a);
        SingleFrame {
            bytes: mix(low.bytes.into(), high.bytes.into()).round() as u32,
            key_bytes: mix(low.key_bytes.into(), high.key_bytes.into()).round() as u32,
            ssim_db: mix(low.ssim_db, high.ssim_db),
        }
    }

    /// Mean SSIM at a rate in bits/s, in dB, and what an octave of rate is worth there: the slope down to
    /// the lowest encoding.
    pub fn quality_at(&self, bps: f64) -> (f64, f64) {
        let lowest = &self.encodings[0];
        let mean = |bps: f64| {
            let all = (0..lowest.frames.len()).map(|n| self.frame(n, bps).ssim_db);
            all.sum::<f64>() / lowest.frames.len() as f64
        };
        let above = bps.max(2.0 * lowest.bps);
        (mean(bps), (mean(above) - mean(lowest.bps)) / (above / lowest.bps).log2())
    }

    /// The rate of the best encoding, bits/s.
    pub fn max_bps(&self) -> f64 {
        self.encodings.last().map_or(0.0, |e| e.bps)
    }
}

pub(super) fn scaled(bytes: u32, factor: f64) -> u32 {
    ((f64::from(bytes) * factor).round() as u32).max(1)
}
