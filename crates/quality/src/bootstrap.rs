//! Confidence intervals by seeded resampling (percentile bootstrap, Efron 1979).
//!
//! The unit that is resampled is the independent one: a pair of runs with everything but the
//! scheme equal, or a mix of videos with its seeds nested in it. The same seed gives the same
//! interval on every machine.
//!
//! Plain percentile intervals of few units are too narrow: they lack both the factor
//! `sqrt(n / (n - 1))` between the spread of a sample and that of a population, and the tails of
//! Student's t. So the percentiles are moved outwards by as much as these two would ask for if
//! the statistic were normal (the expanded percentile interval of Hesterberg, The American
//! Statistician 69(4), 2015). With 10 units the tails of a 95 % interval are 0.9 % each, with 44
//! they are 2.1 %, with many 2.5 %.

use airlane_base::{Rng, Seed};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::stats;

/// A confidence interval; written `[lo, hi]` in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "[f64; 2]", into = "[f64; 2]")]
pub struct Interval {
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

impl Interval {
    /// Whether `v` lies within, ends included.
    pub fn contains(&self, v: f64) -> bool {
        self.lo <= v && v <= self.hi
    }
}

impl From<[f64; 2]> for Interval {
    fn from([lo, hi]: [f64; 2]) -> Self {
        Self { lo, hi }
    }
}

impl From<Interval> for [f64; 2] {
    fn from(i: Interval) -> Self {
        [i.lo, i.hi]
    }
}

/// How to resample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bootstrap {
    /// Number of resamples.
    pub resamples: usize,
    /// Coverage, such as 0.95.
    pub level: f64,
    /// Where the draws come from.
    pub seed: Seed,
}

/// Share of resamples that may leave the statistic undefined (a ratio of zeros) before there is
/// no interval at all.
const MAX_UNDEFINED: f64 = 0.01;

impl Bootstrap {
    /// 95 %, 10 000 resamples.
    pub fn new(seed: Seed) -> Self {
        Self { resamples: 10_000, level: 0.95, seed }
    }

    /// The interval of the mean of `xs`. `None` below two values.
    pub fn mean(&self, xs: &[f64]) -> Option<Interval> {
        self.statistic(xs, |s| stats::mean(s).unwrap_or(f64::NAN))
    }

    /// The interval of the mean of `a[i] - b[i]`: the same circumstances under two schemes.
    /// `None` below two pairs.
    ///
    /// # Panics
    /// If the two lists differ in length: then they are no pairs.
    pub fn paired_difference(&self, a: &[f64], b: &[f64]) -> Option<Interval> {
        assert_eq!(a.len(), b.len(), "pairs need two lists of one length");
        let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        self.mean(&differences)
    }

    /// The interval of any statistic of independent units (numbers, pairs, records). `None` below
    /// two units, or if the statistic is NaN in more than one resample of a hundred.
    pub fn statistic<T: Clone>(
        &self,
        units: &[T],
        mut statistic: impl FnMut(&[T]) -> f64,
    ) -> Option<Interval> {
        let mut sample = Vec::with_capacity(units.len());
        self.resample(units.len(), |rng| {
            draw(units, rng, &mut sample);
            statistic(&sample)
        })
    }

    /// The interval of the mean over groups (mixes) of the mean over their members (seeds): both
    /// the groups and the members of each drawn group are resampled. `None` below two groups or
    /// if one is empty.
    pub fn nested_mean(&self, groups: &[Vec<f64>]) -> Option<Interval> {
        self.nested(groups, |sample| {
            let sum: f64 = sample.iter().filter_map(|g| stats::mean(g)).sum();
            sum / sample.len() as f64
        })
    }

    /// The interval of any statistic of nested units; as [`Bootstrap::nested_mean`].
    pub fn nested<T: Clone>(
        &self,
        groups: &[Vec<T>],
        mut statistic: impl FnMut(&[Vec<T>]) -> f64,
    ) -> Option<Interval> {
        if groups.iter().any(Vec::is_empty) {
            return None;
        }
        let mut sample: Vec<Vec<T>> = vec![Vec::new(); groups.len()];
        self.resample(groups.len(), |rng| {
            for members in &mut sample {
                draw(&groups[rng.random_range(0..groups.len())], rng, members);
            }
            statistic(&sample)
        })
    }

    fn resample(&self, units: usize, mut once: impl FnMut(&mut Rng) -> f64) -> Option<Interval> {
        if units < 2 || self.resamples == 0 {
            return None;
        }
        let mut rng = self.seed.split("bootstrap").rng();
        let mut values: Vec<f64> = (0..self.resamples).map(|_| once(&mut rng)).collect();
        values.retain(|v| !v.is_nan());
        let undefined = self.resamples - values.len();
        if undefined as f64 > MAX_UNDEFINED * self.resamples as f64 {
            return None;
        }
        values.sort_by(f64::total_cmp);
        let tail = expanded_tail((1.0 - self.level) / 2.0, units);
        Some(Interval {
            lo: stats::quantile_of_sorted(&values, tail)?,
            hi: stats::quantile_of_sorted(&values, 1.0 - tail)?,
        })
    }
}

/// Fills `sample` with as many draws from `units` as there are units.
fn draw<T: Clone>(units: &[T], rng: &mut Rng, sample: &mut Vec<T>) {
    sample.clear();
    sample.extend((0..units.len()).map(|_| units[rng.random_range(0..units.len())].clone()));
}

/// The share of resamples to cut off at each end for a nominal tail, with `n` units.
fn expanded_tail(tail: f64, n: usize) -> f64 {
    let nu = (n - 1) as f64;
    let t = student_t(-normal_quantile(tail), nu);
    let expanded = normal_cdf(-t * (n as f64 / nu).sqrt());
    // To six digits, so that the last bits of `exp` never show in a result.
    (expanded * 1e6).round() / 1e6
}

/// The quantile of Student's t with `nu` degrees of freedom where the normal one is `z`
/// (Cornish-Fisher; Abramowitz and Stegun 26.7.5).
fn student_t(z: f64, nu: f64) -> f64 {
    let power = |k: i32| z.powi(k);
    let g1 = (power(3) + z) / 4.0;
    let g2 = (5.0 * power(5) + 16.0 * power(3) + 3.0 * z) / 96.0;
    let g3 = (3.0 * power(7) + 19.0 * power(5) + 17.0 * power(3) - 15.0 * z) / 384.0;
    let g4 =
        (79.0 * power(9) + 776.0 * power(7) + 1482.0 * power(5) - 1920.0 * power(3) - 945.0 * z)
            / 92_160.0;
    z + (g1 + (g2 + (g3 + g4 / nu) / nu) / nu) / nu
}

/// The normal distribution function to 1e-7 (Abramowitz and Stegun 26.2.17).
fn normal_cdf(x: f64) -> f64 {
    let k = 1.0 / (1.0 + 0.231_641_9 * x.abs());
    let poly = k
        * (0.319_381_530
            + k * (-0.356_563_782
                + k * (1.781_477_937 + k * (-1.821_255_978 + k * 1.330_274_429))));
    let upper = (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * poly;
    if x < 0.0 { upper } else { 1.0 - upper }
}

/// The normal quantile, by bisection.
fn normal_quantile(p: f64) -> f64 {
    let (mut lo, mut hi) = (-8.0, 8.0);
    for _ in 0..60 {
        let middle = (lo + hi) / 2.0;
        if normal_cdf(middle) < p { lo = middle } else { hi = middle }
    }
    (lo + hi) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_move_outwards_as_student_asks() {
        let near = |a: f64, b: f64, by: f64| assert!((a - b).abs() < by, "{a} {b}");
        near(normal_quantile(0.025), -1.959_964, 1e-5);
        near(student_t(1.959_964, 9.0), 2.262_157, 1e-4);
        near(student_t(1.959_964, 4.0), 2.776_445, 1e-3);
        // Phi(-2.262157 * sqrt(10 / 9)) and the limit.
        near(expanded_tail(0.025, 10), 0.008_55, 5e-5);
        near(expanded_tail(0.025, 44), 0.020_7, 1e-4);
        near(expanded_tail(0.025, 1_000_000), 0.025, 1e-5);
    }
}
