//! What 360-degree content holds, as aligned plain text.

use std::f64::consts::PI;
use std::fmt;

use super::{Distortion, MAX_MSE, TileContent, TiledVideo};
use crate::render::columns;

impl fmt::Display for TileContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: {} videos; content {:016x}",
            self.name,
            self.videos.len(),
            self.content_hash()
        )?;
        writeln!(
            f,
            "Mbit/s and WS-PSNR: of all tiles at their lowest and at their highest level; still: \
             of the sphere, where the last picture of the GoP before is as good as the lowest level"
        )?;
        writeln!(f)?;
        let head =
            ["video", "tiles", "GoPs", "GoP s", "levels", "Mbit/s", "WS-PSNR", "MSE", "still"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        rows.extend(self.videos.iter().map(|video| row(video)));
        write!(f, "{}", columns(&rows, 1))
    }
}

fn row(video: &TiledVideo) -> Vec<String> {
    let last = video.levels.len() - 1;
    vec![
        video.name.clone(),
        format!("{}x{}", video.columns, video.rows),
        video.gops.len().to_string(),
        format!("{}", video.gop.as_secs_f64()),
        video.levels.len().to_string(),
        format!("{:.2}-{:.2}", video.rate_bps(0) / 1e6, video.rate_bps(last) / 1e6),
        format!("{:.1}-{:.1}", ws_psnr_db(video, 0), ws_psnr_db(video, last)),
        match video.distortion {
            Distortion::Measured => "measured",
            Distortion::Modelled => "modelled",
        }
        .to_owned(),
        format!("{:.0} %", 100.0 * still(video)),
    ]
}

/// Each tile's share of the sphere, in raster order.
fn shares(video: &TiledVideo) -> Vec<f64> {
    let sine = |edge: usize| (PI * (0.5 - edge as f64 / video.rows as f64)).sin();
    let share = |row: usize| (sine(row) - sine(row + 1)) / 2.0 / video.columns as f64;
    (0..video.tiles()).map(|tile| share(tile / video.columns)).collect()
}

/// Mean over GoPs, in dB, of the panorama with all tiles at a level.
fn ws_psnr_db(video: &TiledVideo, level: usize) -> f64 {
    let shares = shares(video);
    let of_gop = |tiles: &Vec<super::Tile>| -> f64 {
        let mse: f64 = shares.iter().zip(tiles).map(|(w, tile)| w * tile.levels[level].mse).sum();
        (10.0 * (MAX_MSE / mse).log10()).min(100.0)
    };
    video.gops.iter().map(of_gop).sum::<f64>() / video.gops.len() as f64
}

/// Share of the sphere, mean over GoPs, where a missing tile costs no more than the lowest level.
fn still(video: &TiledVideo) -> f64 {
    let shares = shares(video);
    let of_gop = |tiles: &Vec<super::Tile>| -> f64 {
        let pairs = shares.iter().zip(tiles);
        pairs.filter(|(_, tile)| tile.change_mse <= tile.levels[0].mse).map(|(w, _)| w).sum()
    };
    video.gops.iter().map(of_gop).sum::<f64>() / video.gops.len() as f64
}
