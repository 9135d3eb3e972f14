//! Bit-interleaved coded modulation over white noise: what a decoder gets from each coded bit.

use std::f64::consts::LN_2;

/// Mean value of a coded bit of a modulation at one SNR, over the bits of its labels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Channel {
    /// The log of its Bhattacharyya parameter: the cumulant generating function of its log-likelihood
    /// ratio at the saddlepoint, 1/2.
    pub(super) cumulant: f64,
    /// The second derivative of that function there.
    pub(super) curvature: f64,
    /// Mutual information, bits.
    pub(super) information: f64,
    /// The variance of the information density, bits^2.
    pub(super) dispersion: f64,
}

/// Step of the integrals, standard deviations of the noise. The integrands are smooth: halving it
/// changes nothing that is shown.
const STEP: f64 = 0.25;
/// Distance that they go beyond the outermost points.
const MARGIN: f64 = 8.0;
/// In place of a likelihood that is too small to have a logarithm.
const TINY: f64 = 1e-300;

impl Channel {
    /// The value for a modulation of so many bits a symbol (1: BPSK; 2, 4, ... 10: square QAM with Gray
    /// labels), at an SNR of so many times.
    pub(super) fn of(bits: u32, snr: f64) -> Self {
        // One dimension is enough: QAM is the same on both, with half of the energy each.
        let (bits, energy) = if bits == 1 { (1, snr) } else { (bits / 2, snr / 2.0) };
        let points = 1_usize << bits;
        // Points at odd multiples of `unit`, the noise of one dimension having a variance of 1.
        let unit = (energy * 2.0 * 3.0 / ((points * points - 1) as f64)).sqrt();
        let position = |point: usize| (2.0 * point as f64 - (points - 1) as f64) * unit;
        // Labels are symmetric, so one half of the axis is as good as both.
        let outermost = position(points - 1) + MARGIN;
        let steps = (outermost / STEP).ceil() as usize;
        let mut sum = Sums::default();
        for step in 0..=steps {
            let y = step as f64 * STEP;
            let weight = if step == 0 { STEP / 2.0 } else { STEP };
            sum.add(bits, weight, |point| (-(y - position(point)).powi(2) / 2.0).exp());
        }
        sum.channel()
    }
}

/// The integrals, over half of the axis and all bits of a label.
#[derive(Default)]
struct Sums {
    total: f64,
    bhattacharyya: f64,
    squares: f64,
    information: f64,
    information_squares: f64,
}

impl Sums {
    fn add(&mut self, bits: u32, weight: f64, likelihood: impl Fn(usize) -> f64) {
        let points = 1_usize << bits;
        // By bit: the likelihoods of 0 and of 1.
        let mut sides = [[0.0_f64; 2]; 5];
        for point in 0..points {
            let value = likelihood(point);
            if value == 0.0 {
                continue;
            }
            let label = point ^ (point >> 1);
            for (bit, side) in sides.iter_mut().enumerate().take(bits as usize) {
                side[(label >> bit) & 1] += value;
            }
        }
        for &[zero, one] in sides.iter().take(bits as usize) {
            let (zero, one) = (zero.max(TINY), one.max(TINY));
            let ratio = (one / zero).ln();
            let root = (zero * one).sqrt();
            self.total += weight * (zero + one);
            self.bhattacharyya += weight * 2.0 * root;
            self.squares += weight * 2.0 * root * ratio * ratio;
            for side in [zero, one] {
                let density = (2.0 * side / (zero + one)).ln() / LN_2;
                self.information += weight * side * density;
                self.information_squares += weight * side * density * density;
            }
        }
    }

    fn channel(&self) -> Channel {
        let information = self.information / self.total;
        Channel {
            cumulant: (self.bhattacharyya / self.total).min(1.0).ln(),
            curvature: self.squares / self.bhattacharyya,
            information,
            dispersion: (self.information_squares / self.total - information * information)
                .max(0.0),
        }
    }
}
