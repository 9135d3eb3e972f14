//! Confidence intervals by seeded resampling (percentile bootstrap, Efron 1979).
//!
//! The unit that is resampled is the independent one: a pair of runs with everything but the
//! scheme equal, or a mix of videos with its seeds nested in it. The same seed gives the same
//! interval on every machine.

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
        let tail = (1.0 - self.level) / 2.0;
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
