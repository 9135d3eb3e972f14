//! Hazard of each information bit behind a decoder: the probability that an error starts there.

use std::f64::consts::{LN_2, SQRT_2};

use super::bicm::Channel;

/// Error events by their weight, of the convolutional code of constraint length 7 (133, 171) with the
/// puncturing of 802.11-2020, 17.3.5.6 and 19.3.11.6: the lowest weight, and how many events of that one
/// and of each that follows start in one period. Haccoun and Begin ("High-rate punctured convolutional
/// codes", IEEE Trans. Comm. 37, 1989) and Frenger et al. ("Multi-rate convolutional codes", Chalmers
/// 1998) list them; a test of this file counts them anew in the trellis.
struct Spectrum {
    /// Information bits in a period of the puncturing.
    period: u32,
    lowest: u32,
    /// Distance from one weight to the next: rate 1/2 has even ones only.
    stride: u32,
    events: &'static [f64],
}

const HALF: Spectrum = Spectrum {
    period: 1,
    lowest: 10,
    stride: 2,
    events: &[11.0, 38.0, 193.0, 1_331.0, 7_275.0, 40_406.0, 234_969.0, 1_337_714.0],
};
const TWO_THIRDS: Spectrum = Spectrum {
    period: 2,
    lowest: 6,
    stride: 1,
    events: &[1.0, 16.0, 48.0, 158.0, 642.0, 2_435.0, 9_174.0, 34_701.0, 131_533.0, 499_312.0],
};
const THREE_QUARTERS: Spectrum = Spectrum {
    period: 3,
    lowest: 5,
    stride: 1,
    events: &[8.0, 31.0, 160.0, 892.0, 4_512.0, 23_297.0, 120_976.0, 624_304.0, 3_229_885.0],
};
const FIVE_SIXTHS: Spectrum = Spectrum {
    period: 5,
    lowest: 4,
    stride: 1,
    events: &[14.0, 69.0, 654.0, 4_996.0, 39_677.0, 314_973.0, 2_503_576.0, 19_875_546.0],
};

/// Bits of a codeword, coded, and the distance in dB of real decoders from what such a code could do at
/// best. 802.11 has LDPC codewords of 648, 1296 and 1944 bits. Both were fitted to the curves of ns-3's
/// table-based model, which come from simulated receivers (docs/design/wifi.md): with these two
/// alone all twelve MCS stay within half a dB.
const CODEWORD_BITS: f64 = 648.0;
pub(super) const LDPC_LOSS_DB: f64 = 1.0;

/// No bit does worse than a guess.
const MAX_EXPONENT: f64 = LN_2;

/// The convolutional code, decoded softly: the union bound over error events (Viterbi 1971), with the
/// probability of each by the saddlepoint approximation for bit-interleaved coded modulation (Martinez,
/// Guillen i Fabregas, Caire: "Error probability analysis of bit-interleaved coded modulation", IEEE
/// Trans. Inf. Theory 52, 2006, Lugannani and Rice's form).
pub(super) fn convolutional(channel: &Channel, num: u32, den: u32) -> f64 {
    let spectrum = match (num, den) {
        (2, 3) => TWO_THIRDS,
        (3, 4) => THREE_QUARTERS,
        (5, 6) => FIVE_SIXTHS,
        _ => HALF,
    };
    let weights = (spectrum.lowest..).step_by(spectrum.stride as usize);
    let sum: f64 = weights.zip(spectrum.events).map(|(d, n)| n * pairwise(channel, d)).sum();
    (sum / f64::from(spectrum.period)).min(MAX_EXPONENT)
}

/// Probability that the decoder takes one sequence for another that differs in so many coded bits.
fn pairwise(channel: &Channel, weight: u32) -> f64 {
    let weight = f64::from(weight);
    let lambda = 0.5 * (weight * channel.curvature).sqrt();
    // exp(lambda^2 / 2) Q(lambda), whose limit is needed where the exponential is too large.
    let factor = if lambda < 30.0 {
        (lambda * lambda / 2.0).exp() * q(lambda)
    } else {
        1.0 / (lambda * std::f64::consts::TAU.sqrt())
    };
    (weight * channel.cumulant).exp() * factor
}

/// LDPC: the normal approximation of the best code of finite length (Polyanskiy, Poor, Verdu: "Channel
/// coding rate in the finite blocklength regime", IEEE Trans. Inf. Theory 56, 2010, equation 223) with
/// the information and dispersion of the modulation's bits. The caller takes [`LDPC_LOSS_DB`] off the SNR.
pub(super) fn ldpc(channel: &Channel, num: u32, den: u32) -> f64 {
    let rate = f64::from(num) / f64::from(den);
    let above = CODEWORD_BITS * (channel.information - rate) + 0.5 * CODEWORD_BITS.log2();
    let spread = (CODEWORD_BITS * channel.dispersion).sqrt();
    let error = q(above / spread.max(1e-9));
    (-(-error).ln_1p() / (CODEWORD_BITS * rate)).min(MAX_EXPONENT)
}

/// The tail of the normal distribution.
pub(super) fn q(x: f64) -> f64 {
    0.5 * libm::erfc(x / SQRT_2)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const GENERATORS: [u32; 2] = [0o133, 0o171];

    /// Events by weight, up to `most`, counted in the trellis from each place of the period on.
    fn count(pattern: &[[u32; 2]], most: u32) -> BTreeMap<u32, u64> {
        let weight = |register: u32, place: usize| -> u32 {
            let kept = pattern[place % pattern.len()];
            (0..2).map(|i| kept[i] * ((register & GENERATORS[i]).count_ones() & 1)).sum()
        };
        let mut events = BTreeMap::new();
        for start in 0..pattern.len() {
            let first = 1 << 6;
            let mut paths = BTreeMap::from([((first >> 1, weight(first, start)), 1_u64)]);
            let mut place = start;
            while !paths.is_empty() {
                place += 1;
                let mut longer = BTreeMap::new();
                for ((state, so_far), paths) in paths {
                    for bit in [0, first] {
                        let register = bit | state;
                        let total = so_far + weight(register, place);
                        if total > most {
                            continue;
                        }
                        match register >> 1 {
                            0 => *events.entry(total).or_insert(0) += paths,
                            state => *longer.entry((state, total)).or_insert(0) += paths,
                        }
                    }
                }
                paths = longer;
            }
        }
        events
    }

    #[test]
    fn spectra_are_those_of_the_trellis() {
        for (spectrum, pattern) in [
            (HALF, &[[1, 1]][..]),
            (TWO_THIRDS, &[[1, 1], [1, 0]]),
            (THREE_QUARTERS, &[[1, 1], [1, 0], [0, 1]]),
            (FIVE_SIXTHS, &[[1, 1], [1, 0], [0, 1], [1, 0], [0, 1]]),
        ] {
            assert_eq!(spectrum.period as usize, pattern.len());
            // The last weights take long to count and matter least.
            let events = &spectrum.events[..spectrum.events.len() - 2];
            let weights = (spectrum.lowest..).step_by(spectrum.stride as usize);
            let listed: BTreeMap<u32, u64> =
                weights.zip(events).map(|(weight, &n)| (weight, n as u64)).collect();
            let most = *listed.keys().last().expect("weights");
            assert_eq!(count(pattern, most), listed);
        }
    }

    #[test]
    fn bpsk_is_what_books_have() {
        // Without labels the saddlepoint approximation must give Q(sqrt(2 d SNR)).
        for (snr, weight) in [(0.5, 10), (1.0, 10), (1.0, 5), (3.0, 5)] {
            let exact = q((2.0 * f64::from(weight) * snr).sqrt());
            let ours = pairwise(&Channel::of(1, snr), weight);
            assert!((ours / exact - 1.0).abs() < 1e-3, "{snr} {weight}: {ours} {exact}");
        }
        // The capacity of BPSK at 0 dB of Es/N0 is 0.7214 bits.
        assert!((Channel::of(1, 1.0).information - 0.7214).abs() < 1e-3);
        assert!((Channel::of(10, 1e5).information - 1.0).abs() < 1e-6);
    }
}
