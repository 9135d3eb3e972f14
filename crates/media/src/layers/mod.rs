//! Layered real-time video: what each frame costs in each layer of each encoding, and how good it is
//! with the layers up to there.
//!
//! A [`LayeredVideo`] is the table of one clip; [`LayerContent`] is the clips of a folder, or those
//! that come with Airlane, moving point clouds ([`crate::clouds`]) among them. Two formats are read:
//! `airlane-layers`, our own, and the text files that the authors of Octopus recorded. [`Packed`] is a
//! clip with its bytes. All are described in `docs/reference/layer-tables.md`.

pub mod clouds;
mod content;
mod ladder;
mod packed;
mod rates;
mod recorded;
mod single;
mod table;

use airlane_base::{Fnv64, InputError};

pub use content::LayerContent;
pub use packed::{MAX_TABLE_BYTES, Packed, write_head};
pub use rates::{GOP, LAYERS, layer_kbps, usual_rates};
pub(crate) use recorded::numbers;
pub use single::{SingleEncoding, SingleFrame, SingleLadder};
pub use table::{FORMAT, VERSION};

use clouds::CloudTable;

/// Frames of a clip at most.
pub const MAX_FRAMES: usize = 100_000;
/// Quality layers of a frame at most.
pub const MAX_LAYERS: usize = 8;
/// Encodings of a clip at most.
pub const MAX_ENCODINGS: usize = 64;
/// Bytes of a frame or layer at most.
pub(crate) const MAX_BYTES: u64 = 1 << 24;
/// SSIM in dB at most: of a picture that differs from its source in nothing.
const MAX_SSIM_DB: f64 = 100.0;

/// A layer of a frame, or a frame that has one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layer {
    /// Its bytes, at least 1.
    pub bytes: u32,
    /// SSIM of luma against the source in dB, -10 log10(1 - SSIM), with this layer and those below.
    pub ssim_db: f64,
}

/// A clip that was encoded in quality layers at several rates.
#[derive(Clone, Debug, PartialEq)]
pub struct QualityTable {
    /// Frames from one that needs no other to the next.
    pub gop: usize,
    /// Layers of each frame.
    pub layers: usize,
    /// Encodings, the rates of all layers rising.
    pub encodings: Vec<QualityEncoding>,
}

impl QualityTable {
    /// The layers of frame `n` of a stream in an encoding: clips are played over and over, up to their
    /// last whole GoP.
    pub fn frame(&self, encoding: usize, n: u32) -> &[Layer] {
        &self.encodings[encoding].frames[self.place(n)]
    }

    /// Frame of the clip that is frame `n` of a stream. All encodings have as many.
    fn place(&self, n: u32) -> usize {
        let frames = self.encodings.first().map_or(1, |encoding| encoding.frames.len());
        n as usize % whole_gops(frames, self.gop)
    }
}

/// Frames of whole GoPs, one at least.
fn whole_gops(frames: usize, gop: usize) -> usize {
    (frames / gop * gop).max(1)
}

/// One encoding in quality layers.
#[derive(Clone, Debug, PartialEq)]
pub struct QualityEncoding {
    /// The mean rate of each layer with those below, bits/s of media, as measured.
    pub layer_bps: Vec<f64>,
    /// By frame, then by layer.
    pub frames: Vec<Vec<Layer>>,
}

impl QualityEncoding {
    /// The mean rate of all layers, bits/s of media.
    pub fn bps(&self) -> f64 {
        self.layer_bps.last().copied().unwrap_or(0.0)
    }
}

/// A clip that was encoded in temporal layers at a fixed quantiser.
#[derive(Clone, Debug, PartialEq)]
pub struct TemporalTable {
    /// Frames from one that needs no other to the next.
    pub gop: usize,
    /// The frames.
    pub frames: Vec<Layer>,
    /// True if the SSIM of the table means anything: in one recorded file it does not.
    pub has_quality: bool,
}

impl TemporalTable {
    /// Frame `n` of a stream: clips are played over and over, up to their last whole GoP.
    pub fn frame(&self, n: u32) -> Layer {
        self.frames[n as usize % whole_gops(self.frames.len(), self.gop)]
    }
}

/// The table of a clip.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayeredVideo {
    /// Its name, unique within a [`LayerContent`].
    pub name: String,
    /// Its title, for people.
    pub title: String,
    /// Source of the clip, for people.
    pub source: String,
    /// Frames per second.
    pub fps: f64,
    /// In quality layers.
    pub quality: Option<QualityTable>,
    /// In temporal layers.
    pub temporal: Option<TemporalTable>,
    /// In a single layer at several rates, for those that do not have layers.
    pub single: Option<SingleLadder>,
    /// In a single layer at the fixed quantiser of the temporal layers.
    pub single_quantiser: Option<SingleEncoding>,
    /// The same with a key frame in each GoP, where it was encoded so.
    pub single_keyed: Option<SingleEncoding>,
    /// As point clouds.
    pub clouds: Option<CloudTable>,
    /// True if the single layers were derived from the layered ones, and not encoded.
    pub derived: bool,
}

impl LayeredVideo {
    /// A hash of all that is in it.
    pub fn content_hash(&self) -> u64 {
        let mut hash = Fnv64::new();
        // What `Debug` prints is all of it: numbers are printed so that they can be read back.
        hash.write(format!("{self:?}").as_bytes());
        hash.finish()
    }

    /// The same clip with single layers that are as large as all layers together: what one layer would be
    /// if layers cost nothing.
    #[must_use]
    pub fn with_layered_sizes(&self) -> Self {
        let (quality, temporal) = (self.quality.as_ref(), self.temporal.as_ref());
        Self {
            single: quality.map(|table| SingleLadder::of_quality(table, self.fps, 1.0)),
            single_quantiser: temporal
                .map(|table| SingleEncoding::keyed(&table.frames, table.gop, self.fps, 1.0)),
            derived: true,
            ..self.clone()
        }
    }

    /// The same clip with single layers at a fixed quantiser that have a key frame in each GoP, as temporal
    /// layers have: as they were encoded, or where only layers were, with the key frames of these.
    #[must_use]
    pub fn with_key_frames(&self) -> Self {
        let derived = || {
            let gop = self.temporal.as_ref()?.gop;
            Some(SingleEncoding { gop: Some(gop), ..self.single_quantiser.clone()? })
        };
        Self { single_quantiser: self.single_keyed.clone().or_else(derived), ..self.clone() }
    }

    /// Checks what all formats have to keep.
    fn check(&self) -> Result<(), InputError> {
        let wrong = |what: String, expected: &str| Err(InputError::new(what, expected));
        if !crate::name::is_name(&self.name) {
            let expected = format!("expected {}", crate::name::EXPECTED);
            return Err(InputError::new(format!("{:?}", self.name), expected).at_key("video"));
        }
        if !(self.fps.is_finite() && (1.0..=1000.0).contains(&self.fps)) {
            return wrong(format!("{} frames per second", self.fps), "expected 1 to 1000");
        }
        if let Some(quality) = &self.quality {
            let frames = quality.encodings[0].frames.len();
            if quality.encodings.iter().any(|e| e.frames.len() != frames) {
                return wrong(
                    "encodings of different lengths".to_owned(),
                    "expected as many frames in each",
                );
            }
            let rates: Vec<f64> = quality.encodings.iter().map(QualityEncoding::bps).collect();
            if !rates.windows(2).all(|w| w[0] < w[1]) {
                return wrong(format!("encodings of {rates:?} bits/s"), "expected rates that rise");
            }
        }
        if self.quality.is_none() && self.temporal.is_none() && self.clouds.is_none() {
            return wrong("no layers".to_owned(), "expected quality or temporal layers, or clouds");
        }
        Ok(())
    }
}

/// The mean rate of frames, bits/s.
fn mean_bps(bytes: impl Iterator<Item = u64>, fps: f64) -> f64 {
    let (total, count) = bytes.fold((0, 0_u64), |(total, count), b| (total + b, count + 1));
    if count == 0 { 0.0 } else { total as f64 * 8.0 * fps / count as f64 }
}
