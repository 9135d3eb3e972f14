//! Shares of yes and no over clusters, and what follows from them: differences of two shares, and
//! quantiles.
//!
//! A share has the interval of Wilson (Journal of the American Statistical Association 22, 1927),
//! which never says that three of three is certain. Rows of one cluster are not independent: `n`
//! is the effective number of rows (Korn and Graubard, Survey Methodology 24(2), 1998), the number
//! of independent ones whose share would have the standard error that the clusters show, at least
//! that of the clusters and at most that of the rows.

use crate::bootstrap::trust;
use crate::clusters::{Cluster, Ratio, ratio};
use crate::interval::Z;
use crate::student::t_975;
use crate::{Interval, MIN_CLUSTERS, stats};

/// The rows of a cluster.
type Rows = Vec<f64>;

/// A share with how many independent rows it is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Share {
    value: f64,
    effective: f64,
    error: f64,
}

impl Share {
    /// The share over `strata` of clusters of rows from 0 to 1.
    fn of(strata: &[Vec<Rows>]) -> Option<Self> {
        let rows = || strata.iter().flatten().flatten();
        if rows().any(|x| !(0.0..=1.0).contains(x)) {
            return None;
        }
        let clusters: Vec<Vec<Cluster>> =
            strata.iter().map(|s| s.iter().map(|c| Cluster::of_rows(c)).collect()).collect();
        let of = ratio(&clusters).filter(|r| r.clusters >= MIN_CLUSTERS)?;
        let value = of.value.clamp(0.0, 1.0);
        let (shown, least) = (effective(value, of, rows().count()), of.clusters as f64);
        let effective = least + trust(of.clusters) * (shown - least);
        Some(Self { value, effective, error: of.error })
    }

    fn wilson(self) -> Interval {
        wilson(self.value, self.effective)
    }
}

/// Number of independent `rows` that would have the standard error that clusters show of a
/// share that is `share`.
fn effective(share: f64, of: Ratio, rows: usize) -> f64 {
    let (least, most) = (of.clusters as f64, rows.max(of.clusters) as f64);
    let variance = share * (1.0 - share);
    if of.error == 0.0 || variance == 0.0 {
        return least;
    }
    // The error is itself an estimate of so many degrees of freedom.
    let sure = (Z / t_975(of.degrees)).powi(2);
    (variance / (of.error * of.error) * sure).clamp(least, most)
}

/// Wilson's interval of a share of `n` independent rows: all that are not 1.96 standard errors of
/// their own away from it.
pub fn wilson(share: f64, n: f64) -> Interval {
    let zz = Z * Z / n;
    let middle = (share + 0.5 * zz) / (1.0 + zz);
    let half = Z * (share * (1.0 - share) / n + 0.25 * zz / n).sqrt() / (1.0 + zz);
    // At 0 and 1 they meet exactly, and rounding must not say otherwise.
    let (lo, hi) = ((middle - half).max(0.0), (middle + half).min(1.0));
    Interval { lo: if share == 0.0 { 0.0 } else { lo }, hi: if share == 1.0 { 1.0 } else { hi } }
}

/// The 95 % interval of the share of yes among all rows, 1 for yes and 0 for no, of clusters in
/// `strata`. `None` below [`MIN_CLUSTERS`] clusters, if a stratum has only one, or if a row is
/// not between 0 and 1.
pub fn share_interval(strata: &[Vec<Rows>]) -> Option<Interval> {
    Some(Share::of(strata)?.wilson())
}

/// The 95 % interval of the share `x` less `factor` times the share `y`, both of the same rows:
/// from the Wilson interval of each and their correlation (Newcombe's tenth method, Statistics in
/// Medicine 17, 1998; with a factor: Donner and Zou, Statistical Methods in Medical Research
/// 21(4), 2012). `None` as [`share_interval`].
pub fn share_difference_interval(strata: &[Vec<Vec<[f64; 2]>>], factor: f64) -> Option<Interval> {
    let part = |of: &dyn Fn(&[f64; 2]) -> f64| -> Vec<Vec<Rows>> {
        let cluster = |c: &Vec<[f64; 2]>| c.iter().map(of).collect();
        strata.iter().map(|s| s.iter().map(cluster).collect()).collect()
    };
    let x = Share::of(&part(&|row| row[0]))?;
    let y = Share::of(&part(&|row| row[1]))?;
    let correlation = correlation(strata, x, y);
    let (of_x, of_y) = (x.wilson(), y.wilson());
    let value = x.value - factor * y.value;
    let reach = |a: f64, b: f64| (a * a + b * b - 2.0 * correlation * a * b).max(0.0).sqrt();
    let below = reach(x.value - of_x.lo, factor * (of_y.hi - y.value));
    let above = reach(of_x.hi - x.value, factor * (y.value - of_y.lo));
    Some(Interval { lo: value - below, hi: value + above })
}

/// The correlation of two shares over clusters; 0 where one of them does not vary.
fn correlation(strata: &[Vec<Vec<[f64; 2]>>], x: Share, y: Share) -> f64 {
    if x.error == 0.0 || y.error == 0.0 {
        return 0.0;
    }
    let rows = strata.iter().flatten().map(Vec::len).sum::<usize>() as f64;
    let of_stratum = |s: &Vec<Vec<[f64; 2]>>| {
        let rest = |c: &Vec<[f64; 2]>| {
            let sum = |f: &dyn Fn(&[f64; 2]) -> f64| c.iter().map(f).sum::<f64>();
            (sum(&|r| r[0] - x.value), sum(&|r| r[1] - y.value))
        };
        let rest: Vec<(f64, f64)> = s.iter().map(rest).collect();
        let n = rest.len() as f64;
        let (a, b) = rest.iter().fold((0.0, 0.0), |(a, b), r| (a + r.0 / n, b + r.1 / n));
        rest.iter().map(|r| (r.0 - a) * (r.1 - b)).sum::<f64>() * n / (n - 1.0)
    };
    let covariance = strata.iter().map(of_stratum).sum::<f64>() / (rows * rows);
    (covariance / (x.error * y.error)).clamp(-1.0, 1.0)
}

/// The 95 % interval of the quantile `q` of all rows, of clusters in `strata`: the values between
/// which so large a share of the rows lies that `q` may be the true one (Woodruff, Journal of the
/// American Statistical Association 47, 1952; with effective rows as for shares). `None` below
/// [`MIN_CLUSTERS`] clusters, if a stratum has only one, or if the interval reaches beyond the
/// rows that there are, as that of a quartile of 11 independent ones does.
pub fn quantile_interval(strata: &[Vec<Rows>], q: f64) -> Option<Interval> {
    let rows: Vec<f64> = strata.iter().flatten().flatten().copied().collect();
    if rows.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let rows = stats::sorted(&rows);
    let value = stats::quantile_of_sorted(&rows, q)?;
    let below = |c: &Rows| {
        Cluster::of_rows(&c.iter().map(|x| f64::from(u8::from(*x <= value))).collect::<Vec<_>>())
    };
    let clusters: Vec<Vec<Cluster>> =
        strata.iter().map(|s| s.iter().map(below).collect()).collect();
    let of = ratio(&clusters).filter(|r| r.clusters >= MIN_CLUSTERS)?;
    let half = Z * (q * (1.0 - q) / effective(q, of, rows.len())).sqrt();
    if q - half < 0.0 || q + half > 1.0 {
        return None;
    }
    // The k-th of n rows stands for the share (k - 0.5) / n.
    let last = (rows.len() - 1) as f64;
    let at = |share: f64| {
        let rank = (share * rows.len() as f64 - 0.5).clamp(0.0, last);
        stats::quantile_of_sorted(&rows, if last > 0.0 { rank / last } else { 0.0 })
    };
    Some(Interval { lo: at(q - half)?, hi: at(q + half)? })
}
