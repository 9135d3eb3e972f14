//! Means and ratios over clusters: what is drawn together is resampled together.
//!
//! A cluster is an independent draw (a mix of videos, a window of a trace) with everything that
//! was measured on it: its cells and seeds. Strata are sets of clusters whose sizes were fixed
//! beforehand; clusters are compared within them.

/// Contribution of a cluster to a ratio of sums; the mean of rows is the ratio of their sum to
/// their number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cluster {
    /// Added to the numerator.
    pub numerator: f64,
    /// Added to the denominator.
    pub denominator: f64,
}

impl Cluster {
    /// A cluster of which the mean is taken over its rows and those of all others.
    pub fn of_rows(rows: &[f64]) -> Self {
        Self { numerator: rows.iter().sum(), denominator: rows.len() as f64 }
    }
}

/// A standard error of this share of the figure is one of rounding.
const ROUNDING: f64 = 1e-12;

/// A ratio of sums over clusters with its standard error by linearisation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ratio {
    pub(crate) value: f64,
    /// Standard error: the root of the sum over strata of `n / (n - 1)` times the squares of
    /// `(numerator - value * denominator) / sum of denominators` about their mean.
    pub(crate) error: f64,
    /// Clusters.
    pub(crate) clusters: usize,
    /// Clusters less strata.
    pub(crate) degrees: usize,
}

/// The ratio over `strata`. `None` if a stratum has under two clusters, if there is none, or if
/// the ratio is no finite number.
pub(crate) fn ratio(strata: &[Vec<Cluster>]) -> Option<Ratio> {
    if strata.is_empty() || strata.iter().any(|s| s.len() < 2) {
        return None;
    }
    let all = || strata.iter().flatten();
    let denominator: f64 = all().map(|c| c.denominator).sum();
    let value = all().map(|c| c.numerator).sum::<f64>() / denominator;
    let squares = |s: &Vec<Cluster>| {
        let rest = |c: &Cluster| c.numerator - value * c.denominator;
        let n = s.len() as f64;
        let mean = s.iter().map(rest).sum::<f64>() / n;
        s.iter().map(|c| (rest(c) - mean).powi(2)).sum::<f64>() * n / (n - 1.0)
    };
    let error = strata.iter().map(squares).sum::<f64>().sqrt() / denominator.abs();
    let error = if error <= ROUNDING * value.abs() { 0.0 } else { error };
    let clusters = all().count();
    let degrees = clusters - strata.len();
    (value.is_finite() && error.is_finite()).then_some(Ratio { value, error, clusters, degrees })
}
