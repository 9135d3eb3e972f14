//! A video as a ladder of rungs with sizes and qualities per chunk.

use std::collections::BTreeMap;
use std::time::Duration;

use airlane_base::Rate;

/// A measure of perceptual quality.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// VMAF, 0 to 100, television at standard distance.
    Vmaf,
    /// VMAF, phone model.
    VmafPhone,
    /// VMAF, 4K television model.
    Vmaf4k,
    /// Peak signal to noise ratio, dB.
    PsnrDb,
    /// Structural similarity, 0 to 1.
    Ssim,
}

/// One encoding of a video.
#[derive(Clone, Debug, PartialEq)]
pub struct Rung {
    /// Name, such as `360p-1000k`.
    pub name: String,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// The rate that the encoder was asked for.
    pub nominal: Rate,
    /// Bytes of each chunk.
    pub size_bytes: Vec<u64>,
    /// Quality of each chunk by metric; each list is as long as `size_bytes`.
    pub quality: BTreeMap<Metric, Vec<f64>>,
}

/// A video: rungs in rising order of nominal rate, all with the same number of chunks.
///
/// Built by the readers of this crate only, which check that no size is zero, no quality NaN and
/// no rung missing.
#[derive(Clone, Debug, PartialEq)]
pub struct Video {
    /// Name, unique in its corpus.
    pub name: String,
    /// What kind of content it is, for people.
    pub character: String,
    /// Length of a chunk.
    pub chunk: Duration,
    /// How many of the chunks are distinct; the rest repeats them in order.
    pub distinct_chunks: usize,
    /// The ladder, rising.
    pub rungs: Vec<Rung>,
}

impl Video {
    /// Number of chunks.
    pub fn chunks(&self) -> usize {
        self.rungs.first().map_or(0, |r| r.size_bytes.len())
    }

    /// Bytes of chunk `chunk` at rung `rung`.
    ///
    /// # Panics
    /// If there is no such chunk or rung.
    pub fn size_bytes(&self, rung: usize, chunk: usize) -> u64 {
        self.rungs[rung].size_bytes[chunk]
    }

    /// Quality of chunk `chunk` at rung `rung`, `None` if the metric was not measured.
    pub fn quality(&self, metric: Metric, rung: usize, chunk: usize) -> Option<f64> {
        self.rungs.get(rung)?.quality.get(&metric)?.get(chunk).copied()
    }
}
