//! What a server has of a 360-degree video: the levels of every tile of every GoP.

use std::time::Duration;

use airlane_viewport::{Level, MAX_LEVELS, TileContent, Tiling};

use super::wire::{MAX_GOPS, MAX_TILE_BYTES, MIN_GOP};

/// One tile of one GoP.
#[derive(Clone, Debug, PartialEq)]
pub struct Tile {
    /// Its encodings. Messages name a level by its place in this list.
    pub levels: Vec<Level>,
    /// Error of the tile when it is missing.
    pub content: TileContent,
}

/// A 360-degree video, cut into tiles and GoPs.
#[derive(Clone, Debug, PartialEq)]
pub struct Title {
    name: String,
    tiling: Tiling,
    gop: Duration,
    gops: Vec<Vec<Tile>>,
}

/// Error in the tiles of a title.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TitleError {
    /// A name that no message holds.
    #[error("found a name of {0} bytes; expected 1 to 255")]
    Name(usize),
    /// A duration that no session has.
    #[error("found GoPs of {0:?}; expected whole milliseconds, {MIN_GOP:?} to one minute")]
    Gop(Duration),
    /// No GoPs, or too many.
    #[error("found {0} GoPs; expected 1 to {MAX_GOPS}")]
    Gops(usize),
    /// A GoP with another number of tiles than the tiling has.
    #[error("GoP {gop} has {found} tiles; expected {expected}")]
    Tiles {
        /// The GoP.
        gop: usize,
        /// Number of tiles of the GoP.
        found: usize,
        /// Number of tiles of the tiling.
        expected: usize,
    },
    /// A tile with no levels, with too many, with an empty or a very large one, or with a distortion
    /// that is below 0 or not finite.
    #[error("tile {tile} of GoP {gop} has {problem}")]
    Tile {
        /// The GoP.
        gop: usize,
        /// The tile.
        tile: usize,
        /// Fault of the tile.
        problem: &'static str,
    },
}

impl Title {
    /// A title of these GoPs, each with the tiles of `tiling` in raster order.
    ///
    /// # Errors
    /// If a session could not send them.
    pub fn new(
        name: impl Into<String>,
        tiling: Tiling,
        gop: Duration,
        gops: Vec<Vec<Tile>>,
    ) -> Result<Self, TitleError> {
        let name = name.into();
        if !(1..=255).contains(&name.len()) {
            return Err(TitleError::Name(name.len()));
        }
        let is_whole = gop.subsec_nanos().is_multiple_of(1_000_000);
        if !is_whole || gop < MIN_GOP || gop > Duration::from_secs(60) {
            return Err(TitleError::Gop(gop));
        }
        if gops.is_empty() || gops.len() > MAX_GOPS as usize {
            return Err(TitleError::Gops(gops.len()));
        }
        for (number, tiles) in gops.iter().enumerate() {
            if tiles.len() != tiling.tiles() {
                let (found, expected) = (tiles.len(), tiling.tiles());
                return Err(TitleError::Tiles { gop: number, found, expected });
            }
            if let Some((tile, problem)) =
                tiles.iter().enumerate().find_map(|(i, tile)| Some((i, problem(tile)?)))
            {
                return Err(TitleError::Tile { gop: number, tile, problem });
            }
        }
        Ok(Self { name, tiling, gop, gops })
    }

    /// The title without the `lowest` levels of each tile; a tile that has no more keeps its last.
    pub fn without_lowest(&self, lowest: usize) -> Self {
        let mut title = self.clone();
        for tile in title.gops.iter_mut().flatten() {
            let left_out = lowest.min(tile.levels.len() - 1);
            tile.levels.drain(..left_out);
        }
        title
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Tiling by which its frames are cut.
    pub fn tiling(&self) -> Tiling {
        self.tiling
    }

    /// Duration of a GoP.
    pub fn gop(&self) -> Duration {
        self.gop
    }

    /// Number of GoPs.
    pub fn gops(&self) -> usize {
        self.gops.len()
    }

    /// The tiles of a GoP; after the last GoP the title begins again.
    pub fn tiles(&self, gop: usize) -> &[Tile] {
        &self.gops[gop % self.gops.len()]
    }
}

fn problem(tile: &Tile) -> Option<&'static str> {
    if tile.levels.is_empty() || tile.levels.len() > MAX_LEVELS {
        return Some("no levels, or too many");
    }
    if tile.levels.iter().any(|level| level.bits == 0 || bytes_of(*level) > MAX_TILE_BYTES.into()) {
        return Some("a level that is empty or too large");
    }
    let TileContent { change_mse, grey_mse } = tile.content;
    let errors = tile.levels.iter().map(|level| level.mse).chain([change_mse, grey_mse]);
    let is_wrong = |mse: f64| !(mse.is_finite() && mse >= 0.0);
    errors.into_iter().any(is_wrong).then_some("a mean squared error that is no number from 0")
}

/// Bytes of a tile at a level.
pub(super) fn bytes_of(level: Level) -> u64 {
    level.bits.div_ceil(8)
}
