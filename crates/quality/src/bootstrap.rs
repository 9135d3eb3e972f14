//! Confidence intervals by seeded resampling of clusters.
//!
//! Clusters are resampled whole, within strata, and each resample is studentised: judged is
//! `t* = (value* - value) / error*`, whose quantiles over the resamples take the place of those of
//! Student's t (the bootstrap-t of Efron 1982; Hall, Annals of Statistics 16(3), 1988). It follows
//! skewed figures, whose mean Student's interval misses on one side (ten lognormal values: 84 of
//! 100). It is unsure itself where tails are heavy on both sides, and there Student's is wide
//! enough; so the interval is the smallest that holds both. What it covers is measured in
//! `tests/coverage.rs`. The same seed gives the same interval on every machine.

use airlane_base::{Rng, Seed};
use rand::RngExt;

use crate::clusters::{Cluster, Ratio, ratio};
use crate::student::t_975;
use crate::{Interval, stats};

/// Fewer clusters than this have no interval by resampling, and decide nothing.
pub const MIN_CLUSTERS: usize = 10;

/// How to resample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bootstrap {
    /// Number of resamples.
    pub resamples: usize,
    /// Where the draws come from.
    pub seed: Seed,
}

/// Share of resamples that may leave the figure undefined (a ratio of zeros) before there is no
/// interval at all.
const MAX_UNDEFINED: f64 = 0.01;

/// The least standard error of a resample, of that of the clusters: resamples in which one value
/// is drawn over and over have next to none.
const MIN_ERROR: f64 = 0.2;

impl Bootstrap {
    /// 9999 resamples.
    pub fn new(seed: Seed) -> Self {
        Self { resamples: 9999, seed }
    }

    /// The interval of the mean of `xs`, each a cluster of its own; `None` as
    /// [`Self::clusters`].
    pub fn mean(&self, xs: &[f64]) -> Option<Interval> {
        self.clusters(&[xs.iter().map(|x| Cluster::of_rows(&[*x])).collect()])
    }

    /// The 95 % interval of the sum of numerators over that of denominators, over `strata` of
    /// clusters.
    ///
    /// Where all clusters have the very same figure the interval is that point: what none of them
    /// met is not in it.
    ///
    /// `None` below [`MIN_CLUSTERS`] clusters, if a stratum has only one, if the figure is no
    /// finite number, or if it is not in more than one resample of a hundred.
    pub fn clusters(&self, strata: &[Vec<Cluster>]) -> Option<Interval> {
        let of = ratio(strata).filter(|r| r.clusters >= MIN_CLUSTERS)?;
        let half = t_975(of.degrees) * of.error;
        let students = Interval { lo: of.value - half, hi: of.value + half };
        if of.error == 0.0 {
            return Some(students);
        }
        let studentised = self.studentised(strata, of)?;
        // The k-th of m is the quantile k / (m + 1).
        let tail = 0.025 * trust(of.clusters);
        let rank = tail * (studentised.len() + 1) as f64 - 1.0;
        let q = rank.max(0.0) / (studentised.len() - 1) as f64;
        let t = |q| stats::quantile_of_sorted(&studentised, q);
        let resampled =
            Interval { lo: of.value - t(1.0 - q)? * of.error, hi: of.value - t(q)? * of.error };
        Some(students.hull(resampled))
    }

    /// The studentised resamples in rising order.
    fn studentised(&self, strata: &[Vec<Cluster>], of: Ratio) -> Option<Vec<f64>> {
        // About the figure, so that squares lose no digits.
        let centred = |c: &Cluster| (c.numerator - of.value * c.denominator, c.denominator);
        let strata: Vec<Vec<(f64, f64)>> =
            strata.iter().map(|s| s.iter().map(centred).collect()).collect();
        let mut rng = self.seed.split("bootstrap").rng();
        let mut sums = Vec::with_capacity(strata.len());
        let once = |_| studentise(&strata, MIN_ERROR * of.error, &mut sums, &mut rng);
        let mut all: Vec<f64> = (0..self.resamples).filter_map(once).collect();
        let undefined = self.resamples - all.len();
        if all.len() < 2 || undefined as f64 > MAX_UNDEFINED * self.resamples as f64 {
            return None;
        }
        all.sort_by(f64::total_cmp);
        Some(all)
    }
}

/// How far an estimate from `n` clusters of more than their mean is trusted: of their tails, and of
/// how alike their rows are. A correction for few clusters, chosen by `tests/coverage.rs`.
pub(crate) fn trust(n: usize) -> f64 {
    1.0 - 1.0 / (n as f64).sqrt()
}

/// Sums over a resample of one stratum.
#[derive(Clone, Copy, Default)]
struct Sums {
    n: f64,
    a: f64,
    b: f64,
    aa: f64,
    ab: f64,
    bb: f64,
}

/// `t*` of one resample of clusters `(a, b)` whose ratio of sums is zero; `None` where it has
/// none. `sums` is room to work in.
fn studentise(
    strata: &[Vec<(f64, f64)>],
    min_error: f64,
    sums: &mut Vec<Sums>,
    rng: &mut Rng,
) -> Option<f64> {
    sums.clear();
    for stratum in strata {
        let mut s = Sums { n: stratum.len() as f64, ..Sums::default() };
        for _ in 0..stratum.len() {
            let (a, b) = stratum[rng.random_range(0..stratum.len())];
            s.a += a;
            s.b += b;
            s.aa += a * a;
            s.ab += a * b;
            s.bb += b * b;
        }
        sums.push(s);
    }
    let (a, b) = sums.iter().fold((0.0, 0.0), |(a, b), s| (a + s.a, b + s.b));
    let value = a / b;
    let squares = |s: &Sums| {
        let all = s.aa - 2.0 * value * s.ab + value * value * s.bb;
        let mean = (s.a - value * s.b) / s.n;
        (all - s.n * mean * mean).max(0.0) * s.n / (s.n - 1.0)
    };
    let error = sums.iter().map(squares).sum::<f64>().sqrt() / b.abs();
    let t = value / error.max(min_error);
    t.is_finite().then_some(t)
}
