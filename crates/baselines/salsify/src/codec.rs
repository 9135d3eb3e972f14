//! Salsify's codec, as its authors' encoder was measured: what frames take at each quantiser, and the two
//! candidates that its sender has of each frame (`docs/design/salsify.md#codec`).

use std::ops::RangeInclusive;

/// Quantiser indices that the sender uses, of VP8's 0 to 127.
pub const QUANTISERS: RangeInclusive<u8> = 3..=127;
/// Quantiser index at which frames look as those that a [`Clip`] is told from.
pub const SAME_QUALITY: u8 = 14;

/// Quantiser index before the first frame.
const FIRST: u8 = 64;
/// Distance of the better candidate from the quantiser index of the frame sent last,
const FINER: u8 = 17;
/// and of the worse one.
const COARSER: u8 = 23;
/// Frames that are left out one after the other at most.
const MAX_SKIPPED: u32 = 3;

/// Figures of the encoder at a quantiser index, beside those of libvpx's VP8 at one fixed quantiser.
struct Measured {
    quantiser: f64,
    /// Mean bytes of a frame, as a multiple of the other's.
    size: f64,
    /// Bytes of a key frame, as a multiple of the other's.
    key_size: f64,
    /// Exponent of the frames' sizes around their mean: at 0 all are alike, at 1 they differ as the
    /// other's do.
    spread: f64,
    /// Quality less that of the other, in octaves of rate.
    octaves: f64,
}

/// Means of three clips, sizes geometric.
const MEASURED: [Measured; 7] = [
    Measured { quantiser: 9.0, size: 1.919, key_size: 1.300, spread: 0.93, octaves: 0.53 },
    Measured { quantiser: 18.0, size: 1.103, key_size: 0.830, spread: 0.97, octaves: -0.37 },
    Measured { quantiser: 30.0, size: 0.735, key_size: 0.603, spread: 0.91, octaves: -1.15 },
    Measured { quantiser: 45.0, size: 0.550, key_size: 0.444, spread: 0.82, octaves: -1.85 },
    Measured { quantiser: 64.0, size: 0.403, key_size: 0.317, spread: 0.67, octaves: -2.73 },
    Measured { quantiser: 88.0, size: 0.319, key_size: 0.234, spread: 0.53, octaves: -3.65 },
    Measured { quantiser: 115.0, size: 0.241, key_size: 0.178, spread: 0.39, octaves: -4.40 },
];

impl Measured {
    /// Figures at any quantiser index: between two that were measured, and in line with the nearest two
    /// beyond.
    fn at(quantiser: u8) -> Self {
        let quantiser = f64::from(quantiser);
        let above = MEASURED.partition_point(|known| known.quantiser < quantiser);
        let above = above.clamp(1, MEASURED.len() - 1);
        let (low, high) = (&MEASURED[above - 1], &MEASURED[above]);
        let share = (quantiser - low.quantiser) / (high.quantiser - low.quantiser);
        let line = |low: f64, high: f64| low + share * (high - low);
        let curve = |low: f64, high: f64| line(low.ln(), high.ln()).exp();
        Self {
            quantiser,
            size: curve(low.size, high.size),
            key_size: curve(low.key_size, high.key_size),
            spread: line(low.spread, high.spread).clamp(0.0, 1.0),
            octaves: line(low.octaves, high.octaves),
        }
    }
}

/// Frame of a clip that libvpx's VP8 encoded at a fixed quantiser.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Encoded {
    /// Its bytes when it builds on another.
    pub bytes: u32,
    /// Its bytes when it stands alone.
    pub key_bytes: u32,
    /// SSIM in dB.
    pub ssim_db: f64,
}

/// A frame as Salsify's encoder makes it at a quantiser.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Quantiser index.
    pub quantiser: u8,
    /// Its bytes.
    pub bytes: u32,
    /// SSIM in dB.
    pub ssim_db: f64,
}

/// A clip in the hands of Salsify's encoder, told from the same clip at a fixed quantiser.
#[derive(Clone, Debug)]
pub struct Clip {
    frames: Vec<Encoded>,
    /// Means over the frames.
    bytes: f64,
    ssim_db: f64,
    /// Mean quality of a single layer of the same rate, in dB, and how much of it an octave of rate is
    /// worth.
    layer_db: f64,
    db_per_octave: f64,
    /// Mean of the frames' sizes around their mean under the exponent of each quantiser index.
    spreads: Vec<f64>,
}

impl Clip {
    /// Clip of these frames; a single layer of the same rate has `layer_db` of quality, and `db_per_octave`
    /// less at half the rate. `None` if there are no frames.
    pub fn new(frames: Vec<Encoded>, layer_db: f64, db_per_octave: f64) -> Option<Self> {
        let count = frames.len() as f64;
        let mean = |of: &dyn Fn(&Encoded) -> f64| frames.iter().map(of).sum::<f64>() / count;
        if frames.is_empty() {
            return None;
        }
        let bytes = mean(&|frame| f64::from(frame.bytes)).max(1.0);
        let ssim_db = mean(&|frame| frame.ssim_db);
        let spread = |quantiser| {
            let Measured { spread, .. } = Measured::at(quantiser);
            mean(&|frame| (f64::from(frame.bytes) / bytes).powf(spread)).max(f64::MIN_POSITIVE)
        };
        let spreads = (0..=*QUANTISERS.end()).map(spread).collect();
        Some(Self { frames, bytes, ssim_db, layer_db, db_per_octave, spreads })
    }

    /// Frame `n` of the clip played over and over at a quantiser index, which is brought within
    /// [`QUANTISERS`]; `alone` if it builds on no other.
    pub fn frame(&self, n: u32, quantiser: u8, alone: bool) -> Candidate {
        let quantiser = quantiser.clamp(*QUANTISERS.start(), *QUANTISERS.end());
        let frame = &self.frames[n as usize % self.frames.len()];
        let at = Measured::at(quantiser);
        let bytes = if alone {
            f64::from(frame.key_bytes) * at.key_size
        } else {
            let around = (f64::from(frame.bytes) / self.bytes).powf(at.spread);
            self.bytes * at.size * around / self.spreads[usize::from(quantiser)]
        };
        let ssim_db = self.layer_db + self.db_per_octave * at.octaves;
        Candidate {
            quantiser,
            bytes: (bytes.round() as u32).max(1),
            ssim_db: (ssim_db + frame.ssim_db - self.ssim_db).max(0.0),
        }
    }
}

/// Salsify's codec with the part of its sender that chooses: two candidates of each frame, at fixed
/// distances from the quantiser of the frame sent last. The larger one that fits is sent, else none;
/// after three that were left out, the worse one is sent whatever its size.
#[derive(Clone, Debug)]
pub struct Codec {
    clip: Clip,
    quantiser: u8,
    skipped: u32,
}

impl Codec {
    /// Codec before the first frame.
    pub fn new(clip: Clip) -> Self {
        Self { clip, quantiser: FIRST, skipped: 0 }
    }

    /// Candidates of frame `n`, the better one first; `alone` if it builds on no other.
    pub fn candidates(&self, n: u32, alone: bool) -> [Candidate; 2] {
        let finer = self.quantiser.saturating_sub(FINER);
        let coarser = self.quantiser.saturating_add(COARSER);
        [finer, coarser].map(|quantiser| self.clip.frame(n, quantiser, alone))
    }

    /// Candidate of frame `n` that is sent where `budget` bytes fit: larger than that if it is sent
    /// whatever its size. `None` if the frame is left out.
    pub fn choose(&mut self, n: u32, alone: bool, budget: usize) -> Option<Candidate> {
        let candidates = self.candidates(n, alone);
        let fits = |candidate: &Candidate| candidate.bytes as usize <= budget;
        // Of two that are as large, the better one.
        let fitting = candidates.into_iter().rev().filter(fits).max_by_key(|c| c.bytes);
        let forced = || (self.skipped >= MAX_SKIPPED).then_some(candidates[1]);
        let chosen = fitting.or_else(forced);
        match chosen {
            Some(candidate) => (self.quantiser, self.skipped) = (candidate.quantiser, 0),
            None => self.skipped += 1,
        }
        chosen
    }
}
