//! How good what a client showed was.

use airlane_viewport::{Concealment, Display, viewport_psnr_db, ws_psnr_db};

use super::title::Title;

/// The quality of a GoP.
#[derive(Clone, Debug, PartialEq)]
pub struct GopQuality {
    /// PSNR of what the user looked at, dB.
    pub viewport_db: f64,
    /// WS-PSNR of the panorama, dB.
    pub panorama_db: f64,
    /// Mean squared error of each tile.
    pub mse: Vec<f64>,
}

/// The quality of GoPs of which these levels arrived in time, for a user whose viewport the tiles
/// filled as `viewports` says: shares by GoP that sum to 1. A missing tile shows what `concealment`
/// says.
///
/// # Panics
/// If a GoP has another number of tiles than the title, or fewer viewports than GoPs are given.
pub fn quality<'a>(
    title: &Title,
    viewports: impl IntoIterator<Item = &'a [f64]>,
    arrived: &[Vec<Option<u8>>],
    concealment: Concealment,
) -> Vec<GopQuality> {
    let mut display = Display::new(title.tiling().tiles(), concealment);
    let mut viewports = viewports.into_iter();
    let of_gop = |(number, levels): (usize, &Vec<Option<u8>>)| {
        let tiles = title.tiles(number);
        let gop: Vec<_> = tiles
            .iter()
            .zip(levels)
            .map(|(tile, level)| {
                (tile.content, level.map(|level| tile.levels[usize::from(level)].mse))
            })
            .collect();
        let mse = display.show(&gop);
        let viewport = viewports.next().expect("a viewport per GoP");
        GopQuality {
            viewport_db: viewport_psnr_db(viewport, &mse),
            panorama_db: ws_psnr_db(title.tiling(), &mse),
            mse,
        }
    };
    arrived.iter().enumerate().map(of_gop).collect()
}
