//! Distortions of tiles of which only sizes are known, from a model that is fitted to the embedded
//! tables.
//!
//! Resolution and encoder of a file of sizes are not known, so the model sees ratios only. With
//! `b` the size of a tile of a GoP at a level, `t` the geometric mean of the sizes of that tile over
//! its levels, and `v` the geometric mean of all sizes of the video:
//!
//! ```text
//! ln MSE        = coded.level  + coded.busy  ln(t / v) - slope ln(b / t)
//! ln change_mse = change.level + change.busy ln(t / v)
//! ln grey_mse   = grey.level   + grey.busy   ln(t / v)
//! ```
//!
//! That is a power law of rate and distortion, the same exponent for all tiles, around a mean that
//! depends on how much busier than the mean of its video a tile is. How well it holds for the content
//! that it was fitted to is in `docs/reference/tile-tables.md`. No claim is judged on modelled
//! distortions.

use super::sizes::Sizes;
use super::{Distortion, MAX_MSE, Tile, TileLevel, TiledVideo};

/// A line: the value at 0 and the rise per unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// The natural logarithm of the distortion of a tile that is as busy as the mean.
    pub level: f64,
    /// Its rise per natural logarithm of how much busier a tile is.
    pub busy: f64,
    /// Standard deviation of the logarithms around the line.
    pub spread: f64,
}

/// The model's coefficients; natural logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// Of the coding error, in the middle of the levels.
    pub coded: Line,
    /// Fall of the coding error's logarithm per logarithm of size.
    pub slope: f64,
    /// Of the previous GoP in its place.
    pub change: Line,
    /// Of mid-grey in its place.
    pub grey: Line,
}

/// Fitted to the embedded tables by [`fit`], rounded; a test repeats it.
pub const FITTED: Model = Model {
    coded: Line { level: 2.072, busy: 0.930, spread: 0.774 },
    slope: 0.893,
    change: Line { level: 3.365, busy: 2.021, spread: 1.781 },
    grey: Line { level: 7.940, busy: -0.299, spread: 0.920 },
};

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0usize), |(sum, n), value| (sum + value, n + 1));
    sum / count.max(1) as f64
}

fn log(value: f64) -> f64 {
    // An error of 0 has no logarithm; below a thousandth of a squared step nobody sees a difference.
    value.max(1e-3).ln()
}

/// By least squares, all tiles of all GoPs alike.
pub fn fit<'a>(videos: impl Iterator<Item = &'a TiledVideo>) -> Model {
    let (mut busy, mut middle, mut change, mut grey) = (vec![], vec![], vec![], vec![]);
    let (mut products, mut squares, mut within) = (0.0, 0.0, vec![]);
    for video in videos {
        let size = |level: &TileLevel| (level.bytes as f64).ln();
        let all = || video.gops.iter().flatten();
        let of_video = mean(all().flat_map(|tile| &tile.levels).map(size));
        for tile in all() {
            let of_tile = mean(tile.levels.iter().map(size));
            let error = mean(tile.levels.iter().map(|level| log(level.mse)));
            busy.push(of_tile - of_video);
            middle.push(error);
            change.push(log(tile.change_mse));
            grey.push(log(tile.grey_mse));
            for level in &tile.levels {
                let (x, y) = (size(level) - of_tile, log(level.mse) - error);
                products += x * y;
                squares += x * x;
                within.push((x, y));
            }
        }
    }
    let slope = -products / squares;
    let around = mean(within.iter().map(|(x, y)| (y + slope * x).powi(2)));
    let mut coded = line(&busy, &middle);
    coded.spread = coded.spread.hypot(around.sqrt());
    Model { coded, slope, change: line(&busy, &change), grey: line(&busy, &grey) }
}

/// The line of least squares.
fn line(x: &[f64], y: &[f64]) -> Line {
    let (x_mean, y_mean) = (mean(x.iter().copied()), mean(y.iter().copied()));
    let pairs = || x.iter().zip(y).map(|(x, y)| (x - x_mean, y - y_mean));
    let busy = mean(pairs().map(|(x, y)| x * y)) / mean(pairs().map(|(x, _)| x * x));
    let spread = mean(pairs().map(|(x, y)| (y - busy * x).powi(2))).sqrt();
    Line { level: y_mean - busy * x_mean, busy, spread }
}

/// A video of which only sizes are known, with the distortions of [`FITTED`].
pub fn complete(sizes: &Sizes) -> TiledVideo {
    let log = |&bytes: &u64| (bytes as f64).ln();
    let of_video = mean(sizes.bytes.iter().flatten().flatten().map(log));
    let tile = |bytes: &Vec<u64>| {
        let of_tile = mean(bytes.iter().map(log));
        let busy = of_tile - of_video;
        let at = |line: Line| (line.level + line.busy * busy).exp().min(MAX_MSE);
        let middle = FITTED.coded.level + FITTED.coded.busy * busy;
        let level = |bytes: &u64| TileLevel {
            bytes: *bytes,
            mse: (middle - FITTED.slope * (log(bytes) - of_tile)).exp().min(MAX_MSE),
        };
        Tile {
            levels: bytes.iter().map(level).collect(),
            // Two pictures of one brightness that have nothing in common differ by no more.
            change_mse: at(FITTED.change).min(2.0 * at(FITTED.grey)),
            grey_mse: at(FITTED.grey),
        }
    };
    TiledVideo {
        name: sizes.name.clone(),
        title: sizes.name.clone(),
        source: "360-Video-DASH data set: sizes; distortions are modelled".to_owned(),
        columns: sizes.columns,
        rows: sizes.rows,
        gop: sizes.gop,
        levels: sizes.targets_bps.iter().map(|bps| format!("{bps}bps")).collect(),
        distortion: Distortion::Modelled,
        gops: sizes.bytes.iter().map(|tiles| tiles.iter().map(tile).collect()).collect(),
    }
}
