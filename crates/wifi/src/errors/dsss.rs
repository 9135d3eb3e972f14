//! 802.11b, by the formulas of IEEE 802.15.2-2003.

use std::f64::consts::{LN_2, PI, SQRT_2};

use super::codes::q;

/// Noise is counted over this width, in MHz: that of the SNR.
const MHZ: f64 = 22.0;

/// The hazard of a bit, of the rate at this place (0: 1 Mbit/s, 3: 11), at an SNR of so many times.
pub(super) fn hazard(place: u8, snr: f64) -> f64 {
    let (error, bits) = match place {
        // DBPSK: half exp(-Eb/N0).
        0 => (0.5 * (-snr * MHZ).exp(), 1.0),
        // DQPSK: the approximation of Proakis, for SNRs at which packets get through.
        1 => {
            let bit = snr * MHZ / 2.0;
            let scale = (SQRT_2 + 1.0) / (8.0 * PI * SQRT_2).sqrt() / bit.sqrt();
            (scale * (-(2.0 - SQRT_2) * bit).exp(), 1.0)
        }
        // CCK: the union bound over the words that one may be taken for; a word has 4 or 8 bits.
        2 => (words(snr, &[(14.0, 8.0), (1.0, 16.0)]), 4.0),
        _ => {
            let neighbours =
                [(24.0, 4.0), (16.0, 6.0), (174.0, 8.0), (16.0, 10.0), (24.0, 12.0), (1.0, 16.0)];
            (words(snr, &neighbours), 8.0)
        }
    };
    // No worse than a guess of each bit.
    (-(-error.min(0.999)).ln_1p() / bits).min(LN_2)
}

/// Numbers of words at each distance that may be taken for the right one.
fn words(snr: f64, neighbours: &[(f64, f64)]) -> f64 {
    neighbours.iter().map(|(count, distance)| count * q((distance * snr).sqrt())).sum()
}
