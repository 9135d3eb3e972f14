//! Peak signal-to-noise ratio of viewports and of the panorama.

use crate::tiling::Tiling;

/// The squared error at the peak of 8-bit samples.
const PEAK: f64 = 255.0 * 255.0;

/// The PSNR of a picture without any error: a mean squared error below that of 100 dB counts as it,
/// so that means over GoPs stay finite.
pub const MAX_PSNR_DB: f64 = 100.0;

/// `10 log10(255^2 / MSE)` in dB, [`MAX_PSNR_DB`] at most.
pub fn psnr_db(mse: f64) -> f64 {
    (10.0 * (PEAK / mse).log10()).min(MAX_PSNR_DB)
}

/// The mean squared error of a part of the sphere, from each tile's share of its solid angle and
/// each tile's mean squared error.
///
/// # Panics
/// If there are not as many of one as of the other.
pub fn weighted_mse(shares: &[f64], mse: &[f64]) -> f64 {
    assert_eq!(shares.len(), mse.len(), "one share per tile");
    shares.iter().zip(mse).map(|(share, mse)| share * mse).sum()
}

/// The PSNR, in dB, of the true viewport of a GoP: `shares` are those of the user's own viewport
/// over the GoP ([`Audience::viewport`](crate::Audience::viewport)), `mse` is what the display shows
/// of each tile ([`Display`](crate::Display)).
pub fn viewport_psnr_db(shares: &[f64], mse: &[f64]) -> f64 {
    psnr_db(weighted_mse(shares, mse))
}

/// The WS-PSNR of the panorama in dB: every tile counts as its share of the sphere.
pub fn ws_psnr_db(tiling: Tiling, mse: &[f64]) -> f64 {
    psnr_db(weighted_mse(&tiling.sphere_shares(), mse))
}

/// The PSNR of the panorama as a flat picture, in dB: every tile counts as much, as all have as many
/// pixels. The poles, of which nearly nothing is seen, count too much.
pub fn panorama_psnr_db(mse: &[f64]) -> f64 {
    psnr_db(mse.iter().sum::<f64>() / mse.len() as f64)
}

/// The viewport PSNR of a session: the mean over GoPs, in dB. `None` without GoPs.
pub fn session_psnr_db(gops_db: &[f64]) -> Option<f64> {
    (!gops_db.is_empty()).then(|| gops_db.iter().sum::<f64>() / gops_db.len() as f64)
}
