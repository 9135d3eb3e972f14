//! The equirectangular panorama and its tiles.
//!
//! Longitude runs from -pi at the left edge of the picture over 0 in its middle to pi at its right
//! edge; latitude from pi/2 at the top to -pi/2 at the bottom. Tiles have equal sides in the
//! picture, so their solid angles differ by row.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

/// Columns or rows of a tiling at most.
pub const MAX_SIDE: usize = 64;

/// A tiling with no columns or rows, or with too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a tiling has 1 to {MAX_SIDE} columns and rows, not {columns}x{rows}")]
pub struct TilingError {
    /// Columns that were asked for.
    pub columns: usize,
    /// Rows that were asked for.
    pub rows: usize,
}

/// A panorama cut into columns and rows of equal width and height.
///
/// A tile is named by its number in raster order: row 0 is the top row, column 0 the left column,
/// and tile `row * columns + column` follows its left neighbour. This is also the default placement
/// of Algorithm 1, line 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiling {
    columns: usize,
    rows: usize,
}

impl Tiling {
    /// 12 columns and 8 rows.
    pub const REFERENCE: Self = Self { columns: 12, rows: 8 };

    /// A tiling of so many columns and rows.
    ///
    /// # Errors
    /// If a side is 0 or above [`MAX_SIDE`].
    pub const fn new(columns: usize, rows: usize) -> Result<Self, TilingError> {
        if columns == 0 || rows == 0 || columns > MAX_SIDE || rows > MAX_SIDE {
            return Err(TilingError { columns, rows });
        }
        Ok(Self { columns, rows })
    }

    /// Columns.
    pub const fn columns(self) -> usize {
        self.columns
    }

    /// Rows.
    pub const fn rows(self) -> usize {
        self.rows
    }

    /// Columns times rows.
    pub const fn tiles(self) -> usize {
        self.columns * self.rows
    }

    /// Longitude, in radians, of the left edge of a column; that of `columns` is pi.
    pub fn left_edge(self, column: usize) -> f64 {
        TAU * column as f64 / self.columns as f64 - PI
    }

    /// Latitude, in radians, of the top edge of a row; that of `rows` is -pi/2.
    pub fn top_edge(self, row: usize) -> f64 {
        FRAC_PI_2 - PI * row as f64 / self.rows as f64
    }

    /// The tile in which a direction lies. Any longitude will do: it is taken modulo 2 pi.
    pub fn tile_at(self, longitude: f64, latitude: f64) -> usize {
        let across = (longitude + PI).rem_euclid(TAU) / TAU;
        let down = (FRAC_PI_2 - latitude) / PI;
        let place = |share: f64, side: usize| ((share * side as f64) as usize).min(side - 1);
        place(down, self.rows) * self.columns + place(across, self.columns)
    }

    /// Solid angle of a tile in steradians. Those of all tiles sum to 4 pi.
    pub fn solid_angle(self, tile: usize) -> f64 {
        let row = tile / self.columns;
        let height = self.top_edge(row).sin() - self.top_edge(row + 1).sin();
        TAU / self.columns as f64 * height
    }

    /// Each tile's share of the sphere; they sum to 1.
    ///
    /// These are the weights of WS-PSNR (Sun, Lu, Yu, IEEE Signal Processing Letters 2017), summed
    /// over a tile's pixels and normalised, in the limit of many pixels: see [`ws_row_weight`].
    pub fn sphere_shares(self) -> Vec<f64> {
        (0..self.tiles()).map(|tile| self.solid_angle(tile) / (2.0 * TAU)).collect()
    }
}

/// The weight that WS-PSNR gives to each pixel of a row of an equirectangular picture: the cosine of
/// the latitude of the row's middle. `row` is below `height`, both in pixels.
pub fn ws_row_weight(row: usize, height: usize) -> f64 {
    ((row as f64 + 0.5) * PI / height as f64 - FRAC_PI_2).cos()
}
