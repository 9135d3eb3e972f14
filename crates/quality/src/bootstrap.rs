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
use crate::interval::TAIL;
use crate::student::t_above;
use crate::{Interval, stats};

/// Fewer clusters than this have no interval by resampling, and decide nothing.
pub const MIN_CLUSTERS: usize = 10;

/// Parameters of a bootstrap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bootstrap {
    /// Number of resamples.
    pub resamples: usize,
    /// Seed of the draws.
    pub seed: Seed,
    /// Probability outside of the interval on each side, at most 0.025, that of 95 %.
    pub tail: f64,
}

/// Share of resamples that may leave the figure undefined (a ratio of zeros) before there is no
/// interval at all.
const MAX_UNDEFINED: f64 = 0.01;

/// The least standard error of a resample, of that of the clusters: resamples in which one value
/// is drawn over and over have next to none.
const MIN_ERROR: f64 = 0.2;

impl Bootstrap {
    /// 9999 resamples, 95 %.
    pub fn new(seed: Seed) -> Self {
        Self { resamples: 9999, seed, tail: TAIL }
    }

    /// With so wide intervals that `n` of them hold their truths together in 95 of 100 cases
    /// (Bonferroni).
    #[must_use]
    pub fn simultaneous(self, n: usize) -> Self {
        Self { tail: TAIL / n.max(1) as f64, ..self }
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
        self.interval(strata, Scale::Linear)
    }

    /// The interval of a ratio of figures that are not below zero, on a logarithmic scale: no end
    /// of it is below zero, and the logarithm of a ratio of heavy-tailed figures is less skewed
    /// than the ratio. Where a figure is below zero, or all numerators are zero, it is
    /// [`Self::clusters`].
    pub fn ratio(&self, strata: &[Vec<Cluster>]) -> Option<Interval> {
        let all = || strata.iter().flatten();
        let is_positive = all().all(|c| c.numerator >= 0.0 && c.denominator >= 0.0)
            && all().any(|c| c.numerator > 0.0);
        self.interval(strata, if is_positive { Scale::Logarithmic } else { Scale::Linear })
    }

    fn interval(&self, strata: &[Vec<Cluster>], scale: Scale) -> Option<Interval> {
        let of = ratio(strata).filter(|r| r.clusters >= MIN_CLUSTERS)?;
        let (value, error) = match scale {
            Scale::Linear => (of.value, of.error),
            Scale::Logarithmic => (of.value.ln(), of.error / of.value),
        };
        let half = t_above(self.tail, of.degrees) * error;
        let mut interval = Interval { lo: value - half, hi: value + half };
        if of.error > 0.0 {
            let studentised = self.studentised(strata, of, scale)?;
            // The k-th of m is the quantile k / (m + 1).
            let tail = self.tail * trust(of.clusters);
            let rank = tail * (studentised.len() + 1) as f64 - 1.0;
            let q = rank.max(0.0) / (studentised.len() - 1) as f64;
            let t = |q| stats::quantile_of_sorted(&studentised, q);
            interval = interval
                .hull(Interval { lo: value - t(1.0 - q)? * error, hi: value - t(q)? * error });
        }
        let interval = match scale {
            Scale::Linear => interval,
            Scale::Logarithmic => interval.exp(),
        };
        (interval.lo.is_finite() && interval.hi.is_finite()).then_some(interval)
    }

    /// The studentised resamples in rising order.
    fn studentised(&self, strata: &[Vec<Cluster>], of: Ratio, scale: Scale) -> Option<Vec<f64>> {
        // About the figure, so that squares lose no digits.
        let centred = |c: &Cluster| (c.numerator - of.value * c.denominator, c.denominator);
        let strata: Vec<Vec<(f64, f64)>> =
            strata.iter().map(|s| s.iter().map(centred).collect()).collect();
        let mut rng = self.seed.split("bootstrap").rng();
        let mut sums = Vec::with_capacity(strata.len());
        let once = |_| {
            let (difference, error) = resample(&strata, &mut sums, &mut rng);
            let t = match scale {
                Scale::Linear => difference / error.max(MIN_ERROR * of.error),
                // A resample whose ratio is zero lies below all others.
                Scale::Logarithmic => {
                    let times = 1.0 + difference / of.value;
                    let of_log = error / (of.value * times.max(f64::MIN_POSITIVE));
                    times.max(0.0).ln() / of_log.max(MIN_ERROR * of.error / of.value)
                }
            };
            (!t.is_nan()).then_some(t).filter(|t| t.is_finite() || scale == Scale::Logarithmic)
        };
        let mut all: Vec<f64> = (0..self.resamples).filter_map(once).collect();
        let undefined = self.resamples - all.len();
        if all.len() < 2 || undefined as f64 > MAX_UNDEFINED * self.resamples as f64 {
            return None;
        }
        all.sort_by(f64::total_cmp);
        Some(all)
    }
}

/// Factor by which an estimate from `n` clusters of more than their mean is trusted: of their
/// tails, and of how alike their rows are. A correction for few clusters, chosen by
/// `tests/coverage.rs`.
pub(crate) fn trust(n: usize) -> f64 {
    1.0 - 1.0 / (n as f64).sqrt()
}

/// The scale on which a figure varies evenly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scale {
    Linear,
    Logarithmic,
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

/// The ratio of sums of one resample of clusters `(a, b)` for which it is zero, and its standard
/// error. `sums` is room to work in.
fn resample(strata: &[Vec<(f64, f64)>], sums: &mut Vec<Sums>, rng: &mut Rng) -> (f64, f64) {
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
    (value, sums.iter().map(squares).sum::<f64>().sqrt() / b.abs())
}
