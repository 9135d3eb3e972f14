//! How video is encoded in layers of quality here: by `airlane pack --layered`, and as it comes.

use airlane_base::Rate;

use crate::dash::FrameRate;

/// Frames from one key frame to the next.
pub const GOP: u32 = 10;
/// Layers of quality.
pub const LAYERS: usize = 3;
/// Shares of the rate up to and with each layer, percent.
const SHARES: [u32; LAYERS] = [20, 50, 100];

/// Rates of 1280x720 at 30 frames/s, bits/s: those of the embedded tables.
const RATES_720P: [f64; 10] = [1.2e6, 2.05e6, 3e6, 4e6, 5e6, 6e6, 7e6, 10e6, 12e6, 15e6];
/// More pictures want less than their share: the exponent that the ladders of titles have between
/// 360p and 1080p.
const EXPONENT: f64 = 0.75;
/// No rate is lower, bits/s.
const MIN_RATE_BPS: f64 = 100e3;

/// The rates at which pictures of a size are encoded unless others are asked for, all layers together:
/// rising, one at least.
pub fn usual_rates(width: u32, height: u32, fps: FrameRate) -> Vec<Rate> {
    let pixels = f64::from(width) * f64::from(height) * fps.as_f64();
    let factor = (pixels / (1280.0 * 720.0 * 30.0)).powf(EXPONENT);
    let rate = |bps: f64| Rate::from_bps_f64(two_digits((bps * factor).max(MIN_RATE_BPS)));
    let mut rates: Vec<Rate> = RATES_720P.map(rate).to_vec();
    rates.dedup();
    rates
}

/// Rate of each layer alone, of a rate of all together, in kbit/s, the lowest first.
pub fn layer_kbps(kbps: u32) -> [u32; LAYERS] {
    let mut below = 0;
    SHARES.map(|share| {
        let alone = kbps * (share - below) / 100;
        below = share;
        alone
    })
}

/// Rounds to two digits.
fn two_digits(bps: f64) -> f64 {
    let unit = 10_f64.powf(bps.log10().floor() - 1.0);
    (bps / unit).round() * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_the_tables_at_720p_and_fewer_for_less() {
        assert_eq!(two_digits(1_234_567.0), 1_200_000.0);
        assert_eq!(two_digits(99_600.0), 100_000.0);
        assert_eq!(two_digits(371_000.0), 370_000.0);
        let fps = FrameRate { frames: 30, seconds: 1 };
        let bps = |rates: Vec<Rate>| rates.iter().map(|rate| rate.bps()).collect::<Vec<_>>();
        let hd = bps(usual_rates(1280, 720, fps));
        assert_eq!((hd.len(), hd[0], hd[9]), (10, 1_200_000, 15_000_000));
        assert_eq!(bps(usual_rates(640, 360, fps))[0], 420_000);
        assert_eq!(bps(usual_rates(16, 16, fps)), [100_000]);
        assert_eq!(layer_kbps(1000), [200, 300, 500]);
    }
}
