//! Random GoPs, for tests and benches: no figure of a claim comes from them.
//!
//! Bits of a tile's levels rise by a constant factor, 64 from the lowest to the highest; its
//! distortion falls with a power of the bits, with noise, so that some levels lie above the hull.
//! Complexity, exponent and what a missing tile costs differ by tile; a quarter of the tiles is seen
//! by nobody. Throughput is lognormal around its mean, with seconds of outage.

use airlane_base::{Rng, Seed};
use rand::RngExt;

use crate::curve::{Level, TileCurve};
use crate::throughput::Throughput;

/// A GoP that was drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Gop {
    /// The curve of each tile.
    pub curves: Vec<TileCurve>,
    /// P(t) of each tile; they sum to 1.
    pub probabilities: Vec<f64>,
    /// The deadline of each tile, 1 s.
    pub deadlines_s: Vec<f64>,
    /// 30 samples.
    pub throughput: Throughput,
    /// C_agg: the mean of the samples in a second. It lies between all tiles at their lowest level
    /// and all at their highest.
    pub capacity_bits: u64,
}

/// A GoP of so many tiles with so many levels each; both at least 1.
pub fn gop(seed: Seed, tiles: usize, levels: usize) -> Gop {
    let mut rng = seed.rng();
    let curves: Vec<TileCurve> = (0..tiles).map(|_| curve(&mut rng, levels)).collect();
    let mut probabilities: Vec<f64> = (0..tiles)
        .map(|_| if rng.random_bool(0.75) { exponential(&mut rng) } else { 0.0 })
        .collect();
    let total: f64 = probabilities.iter().sum();
    if total > 0.0 {
        probabilities.iter_mut().for_each(|p| *p /= total);
    } else {
        probabilities.fill(1.0 / tiles as f64);
    }
    let end = |pick: fn(&TileCurve) -> Option<&Level>| -> f64 {
        curves.iter().filter_map(pick).map(|level| level.bits as f64).sum()
    };
    let (least, most) = (end(|c| c.levels().first()), end(|c| c.levels().last()));
    let mean = least + rng.random_range(0.1..0.8) * (most - least);
    let (spread, outage) = (rng.random_range(0.05..0.6), rng.random_range(0.0..0.1));
    let mut samples: Vec<f64> = (0..30)
        .map(|_| {
            let dark = if rng.random_bool(outage) { 0.1 } else { 1.0 };
            dark * (spread * normal(&mut rng)).exp()
        })
        .collect();
    let scale = mean * samples.len() as f64 / samples.iter().sum::<f64>();
    samples.iter_mut().for_each(|sample| *sample *= scale);
    Gop {
        curves,
        probabilities,
        deadlines_s: vec![1.0; tiles],
        throughput: Throughput::new(samples).expect("finite samples"),
        capacity_bits: mean as u64,
    }
}

fn curve(rng: &mut Rng, levels: usize) -> TileCurve {
    let lowest = 5_000.0 * (0.7 * normal(rng)).exp();
    let growth = 64f64.powf(1.0 / (levels.max(2) - 1) as f64);
    let (worst, exponent) = (rng.random_range(80.0..600.0), rng.random_range(0.5..1.0));
    let all: Vec<Level> = (0..levels as i32)
        .map(|level| {
            let ratio = growth.powi(level);
            let noise = 1.0 + rng.random_range(-0.05..0.05);
            Level { bits: (lowest * ratio) as u64 + 1, mse: worst * ratio.powf(-exponent) * noise }
        })
        .collect();
    TileCurve::new(&all, worst * rng.random_range(1.5..12.0)).expect("finite levels")
}

pub(crate) fn exponential(rng: &mut Rng) -> f64 {
    -(1.0 - rng.random::<f64>()).ln()
}

/// A standard normal draw (Box and Muller 1958).
pub(crate) fn normal(rng: &mut Rng) -> f64 {
    let radius = (2.0 * exponential(rng)).sqrt();
    radius * (std::f64::consts::TAU * rng.random::<f64>()).cos()
}
