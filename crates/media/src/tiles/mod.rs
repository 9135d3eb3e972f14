//! 360-degree content: what each tile of each GoP costs and loses at each level, and what it costs
//! to leave it out.
//!
//! A [`TiledVideo`] is the table of one video; [`TileContent`] is the videos of a folder, or those
//! that come with Airlane. Tiles are numbered in raster order from the top left of the equirectangular
//! panorama. Two formats are read ([`parse`]): `airlane-tiles`, our own, and the segment sizes of
//! the 360-Video-DASH data set, whose distortions are modelled ([`model`]). Both are described in
//! `docs/reference/tile-tables.md`.

mod content;
pub mod model;
mod render;
mod sizes;
mod table;

use std::time::Duration;

use airlane_base::{Fnv64, InputError};

pub use content::TileContent;
pub use table::{FORMAT, VERSION, parse, to_json};

/// Columns or rows of a tiling at most.
pub const MAX_SIDE: usize = 64;
/// Levels of a tile at most.
pub const MAX_LEVELS: usize = 256;
/// GoPs of a video at most.
pub const MAX_GOPS: usize = 10_000;
/// A mean squared error is at most that of white for black, in squared steps of 8-bit samples.
pub const MAX_MSE: f64 = 255.0 * 255.0;

/// One encoding of a tile of a GoP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TileLevel {
    /// Bytes of the encoded tile, with all that is needed to decode it; at least 1.
    pub bytes: u64,
    /// Mean squared error of luma against the source, over the pictures of the GoP.
    pub mse: f64,
}

/// A tile of one GoP.
#[derive(Clone, Debug, PartialEq)]
pub struct Tile {
    /// Its levels, in the order of [`TiledVideo::levels`].
    pub levels: Vec<TileLevel>,
    /// Mean squared error of luma if the display still holds the source's last picture of the GoP
    /// before: what a missing tile costs, but for the coding error of that picture. For the first
    /// GoP it is the last one's, so that a video can be played over and over.
    pub change_mse: f64,
    /// Mean squared error of luma if the display shows mid-grey (128) instead.
    pub grey_mse: f64,
}

/// Origin of the distortions of a video. Sizes are measured always.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distortion {
    /// Measured against the source.
    Measured,
    /// Modelled from sizes ([`model`]).
    Modelled,
}

/// The table of a 360-degree video. All GoPs have all tiles, and all tiles have all levels.
#[derive(Clone, Debug, PartialEq)]
pub struct TiledVideo {
    /// Its name, unique within a [`TileContent`]: as [`crate::name::is_name`] allows.
    pub name: String,
    /// Its title, for people.
    pub title: String,
    /// Source of the video, for people.
    pub source: String,
    /// Columns of tiles, from the left edge of the panorama to its right edge.
    pub columns: usize,
    /// Rows of tiles, from the top to the bottom.
    pub rows: usize,
    /// Duration of a GoP.
    pub gop: Duration,
    /// Names of the levels, from the smallest to the largest over the whole video. A single tile
    /// may have levels that are not worth having.
    pub levels: Vec<String>,
    /// Origin of the distortions.
    pub distortion: Distortion,
    /// The tiles of each GoP, in raster order.
    pub gops: Vec<Vec<Tile>>,
}

impl TiledVideo {
    /// Columns times rows.
    pub fn tiles(&self) -> usize {
        self.columns * self.rows
    }

    /// The tiles of the n-th GoP of the video played over and over.
    pub fn gop(&self, n: usize) -> &[Tile] {
        &self.gops[n % self.gops.len()]
    }

    /// Mean rate of all tiles at a level, in bits/s.
    ///
    /// # Panics
    /// If there is no such level.
    pub fn rate_bps(&self, level: usize) -> f64 {
        let bytes: u64 = self.gops.iter().flatten().map(|tile| tile.levels[level].bytes).sum();
        bytes as f64 * 8.0 / (self.gops.len() as f64 * self.gop.as_secs_f64())
    }

    /// Checks that all that the type promises is so.
    ///
    /// # Errors
    /// What is not.
    pub fn check(&self) -> Result<(), InputError> {
        let wrong = |key: &str, found: String, expected: &str| {
            Err(InputError::new(found, format!("expected {expected}")).at_key(key))
        };
        if !crate::name::is_name(&self.name) {
            return wrong("video", format!("{:?}", self.name), crate::name::EXPECTED);
        }
        for (key, side) in [("columns", self.columns), ("rows", self.rows)] {
            if side == 0 || side > MAX_SIDE {
                return wrong(key, side.to_string(), &format!("1 to {MAX_SIDE}"));
            }
        }
        if !(Duration::from_millis(1)..=Duration::from_secs(60)).contains(&self.gop) {
            return wrong("gop_s", self.gop.as_secs_f64().to_string(), "0.001 to 60");
        }
        let levels = self.levels.len();
        if levels == 0 || levels > MAX_LEVELS {
            return wrong("levels", format!("{levels} levels"), &format!("1 to {MAX_LEVELS}"));
        }
        let gops = self.gops.len();
        if gops == 0 || gops > MAX_GOPS {
            return wrong("gops", format!("{gops} GoPs"), &format!("1 to {MAX_GOPS}"));
        }
        for (gop, tiles) in self.gops.iter().enumerate() {
            if tiles.len() != self.tiles() {
                let expected = format!("{}, columns times rows", self.tiles());
                return wrong(&format!("gops[{gop}]"), format!("{} tiles", tiles.len()), &expected);
            }
            for (number, tile) in tiles.iter().enumerate() {
                let at = |member: &str| format!("gops[{gop}].{member}[{number}]");
                if tile.levels.len() != levels {
                    let found = format!("{} levels", tile.levels.len());
                    return wrong(&at("bytes"), found, &format!("{levels}"));
                }
                if tile.levels.iter().any(|level| level.bytes == 0) {
                    return wrong(&at("bytes"), "0".into(), "at least 1 byte");
                }
                let coded = tile.levels.iter().map(|level| ("mse", level.mse));
                let shown = [("change_mse", tile.change_mse), ("grey_mse", tile.grey_mse)];
                for (member, mse) in coded.chain(shown) {
                    if !(0.0..=MAX_MSE).contains(&mse) {
                        let expected = format!("a mean squared error, 0 to {MAX_MSE}");
                        return wrong(&at(member), mse.to_string(), &expected);
                    }
                }
            }
        }
        let rates: Vec<f64> = (0..levels).map(|level| self.rate_bps(level)).collect();
        if let Some(at) = rates.windows(2).position(|pair| pair[1] <= pair[0]) {
            let found = format!("a mean of {:.0} bits/s after {:.0}", rates[at + 1], rates[at]);
            let expected = "levels in rising order of their mean rate";
            return wrong(&format!("levels[{}]", at + 1), found, expected);
        }
        Ok(())
    }

    /// A hash over all that a result can depend on: not the title and the source.
    pub fn content_hash(&self) -> u64 {
        let mut h = Fnv64::new();
        h.write(self.name.as_bytes());
        for count in [self.columns, self.rows, self.levels.len(), self.gops.len()] {
            h.write_u64(count as u64);
        }
        h.write_u64(self.gop.as_nanos() as u64);
        for tile in self.gops.iter().flatten() {
            for level in &tile.levels {
                h.write_u64(level.bytes);
                h.write_u64(level.mse.to_bits());
            }
            h.write_u64(tile.change_mse.to_bits());
            h.write_u64(tile.grey_mse.to_bits());
        }
        h.finish()
    }
}
