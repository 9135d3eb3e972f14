//! Moving point clouds: what each layer of each cell of a frame costs in bytes, and how good a picture
//! is with so many layers of each (Octopus, section 6.3).
//!
//! A frame is cut into cells, one half of them towards the viewer and each of these with one behind it.
//! A cell's layers are parts of its points, drawn at random and encoded on their own: how a cell looks
//! depends on how many of them there are, not on which. Two formats are read, `airlane-clouds`, our own,
//! and the text files that the authors of Octopus recorded; `docs/reference/cloud-tables.md`
//! describes both.

pub(crate) mod recorded;
pub(crate) mod table;

pub use table::{FORMAT, VERSION};

/// Front cells of a frame at most.
pub const MAX_FRONTS: usize = 4;
/// Layers of a cell at most.
pub const MAX_LAYERS: usize = 8;
/// SSIM in dB of a picture that differs from its source in nothing.
const MAX_SSIM_DB: f64 = 100.0;

/// A clip as point clouds.
#[derive(Clone, Debug, PartialEq)]
pub struct CloudTable {
    /// Layers of each cell.
    pub layers: usize,
    /// The front cells, each with the one behind it; never empty.
    pub pairs: Vec<CloudPair>,
    /// The frames; never empty.
    pub frames: Vec<CloudFrame>,
    /// True if sizes of whole cells were derived from those of layers, and SSIM from a mapping of
    /// ours.
    pub derived: bool,
}

/// Quality of a front cell and of the one behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct CloudPair {
    /// Its share of the picture, 0 to 1.
    pub share: f64,
    /// SSIM of that part of the picture, 0 to 1: by layers of the front cell, then of the one behind.
    pub ssim: Vec<Vec<f64>>,
}

/// A frame's sizes: front cells first, then those behind in the same order.
#[derive(Clone, Debug, PartialEq)]
pub struct CloudFrame {
    /// By cell, then by layer.
    pub layer_bytes: Vec<Vec<u32>>,
    /// By cell, then by density: the cell encoded whole with the points of one layer, of two, and so on.
    pub whole_bytes: Vec<Vec<u32>>,
}

impl CloudTable {
    /// Front cells, of as many again behind.
    pub fn fronts(&self) -> usize {
        self.pairs.len()
    }

    /// Frame `n` of a stream: clips are played over and over.
    pub fn frame(&self, n: u32) -> &CloudFrame {
        &self.frames[n as usize % self.frames.len()]
    }

    /// SSIM in dB, -10 log10(1 - SSIM), of a picture with so many layers of each cell.
    ///
    /// # Panics
    /// If it is not told of every cell, or a cell has more layers than there are.
    pub fn ssim_db(&self, layers: &[usize]) -> f64 {
        let fronts = self.fronts();
        let ssim: f64 = self
            .pairs
            .iter()
            .enumerate()
            .map(|(i, pair)| pair.share * pair.ssim[layers[i]][layers[i + fronts]])
            .sum();
        (-10.0 * (1.0 - ssim).log10()).clamp(0.0, MAX_SSIM_DB)
    }

    /// Bytes of frame `n` with whole cells of `front` densities in front and `behind` behind; 0 leaves
    /// cells out.
    pub fn whole_bytes(&self, n: u32, front: usize, behind: usize) -> u32 {
        let cells = self.frame(n).whole_bytes.iter().enumerate();
        let of = |(cell, densities): (usize, &Vec<u32>)| {
            let density = if cell < self.fronts() { front } else { behind };
            density.checked_sub(1).map_or(0, |at| densities[at])
        };
        cells.map(of).sum()
    }
}
