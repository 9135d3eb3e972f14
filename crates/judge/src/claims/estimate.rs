//! The value of a statistic over draws, and its 95 % interval.

use airlane_base::Seed;
use airlane_quality::shares::{quantile_interval, share_difference_interval, share_interval};
use airlane_quality::{Bootstrap, Cluster, Interval, MIN_CLUSTERS};

use super::samples::{Row, Rows, Samples};
use super::statistic::Statistic;

/// The value of a statistic over draws, and its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    pub(super) value: f64,
    pub(super) ci95: Option<[f64; 2]>,
    /// Independent draws.
    pub(super) n: usize,
}

impl Estimate {
    /// The estimate in another unit.
    pub(super) fn scaled(self, factor: f64) -> Self {
        let ci95 = self.ci95.map(|ends| ends.map(|x| factor * x));
        Self { value: factor * self.value, ci95, ..self }
    }

    /// Reason for which there is no interval; empty if there is one.
    pub(super) fn why_no_interval(&self) -> String {
        match (self.ci95, self.n) {
            (Some(_), _) => String::new(),
            (None, n) if n < MIN_CLUSTERS => {
                let noun = if n == 1 { "draw" } else { "draws" };
                format!("{n} {noun}, of at least {MIN_CLUSTERS} that decide")
            }
            (None, n) => format!("no interval over {n} draws"),
        }
    }
}

/// The value of a statistic without its interval; `None` if samples are missing or not finite.
pub fn point_estimate(of: &Statistic, samples: &Samples) -> Option<f64> {
    let rows = samples.rows(&of.metrics()).ok()?;
    Some(value(of, &rows)).filter(|x| x.is_finite())
}

/// The value of a statistic with its interval. `seed` feeds the resampling.
///
/// # Errors
/// Why it was not measured.
pub(super) fn interval_estimate(
    of: &Statistic,
    samples: &Samples,
    seed: Seed,
) -> Result<Estimate, String> {
    simultaneous_estimate(of, samples, seed, 1)
}

/// An estimate with an interval so wide that `together` of them hold their truths in 95 of
/// 100 cases. Of shares and quantiles there is none but for one alone.
///
/// # Errors
/// Why it was not measured.
pub(super) fn simultaneous_estimate(
    of: &Statistic,
    samples: &Samples,
    seed: Seed,
    together: usize,
) -> Result<Estimate, String> {
    let rows = samples.rows(&of.metrics())?;
    let value = value(of, &rows);
    if !value.is_finite() {
        return Err(format!("{of} is no finite number"));
    }
    let bootstrap = Bootstrap::new(seed.split(&of.to_string())).simultaneous(together);
    let interval = match of {
        Statistic::Share(_) => share_interval(&by_seed(&rows, |seed| seed[0])),
        Statistic::Quantile(_, q) => quantile_interval(&by_row(&rows, |row| mean(row)[0]), *q),
        Statistic::Mean(_) => bootstrap.clusters(&clusters(&rows, |[x, _]| [x, 1.0])),
        Statistic::Difference(..) => bootstrap.clusters(&clusters(&rows, |[x, y]| [x - y, 1.0])),
        Statistic::Ratio(..) => bootstrap.ratio(&clusters(&rows, |row| row)),
        Statistic::Change(..) => {
            bootstrap.ratio(&clusters(&rows, |row| row)).map(|i| i.shifted(-1.0))
        }
    };
    Ok(Estimate { value, ci95: finite(interval), n: draws(&rows) })
}

/// The share with `metric` less `factor` times that with `reference`, of the same draws.
///
/// # Errors
/// Why it was not measured.
pub(super) fn estimate_share_difference(
    metric: &str,
    reference: &str,
    factor: f64,
    samples: &Samples,
) -> Result<Estimate, String> {
    let rows = samples.rows(&[metric, reference])?;
    let of = |i: usize| {
        let all: Vec<f64> = rows.iter().flatten().flatten().map(|row| mean(row)[i]).collect();
        airlane_quality::stats::mean(&all).unwrap_or(f64::NAN)
    };
    let interval = share_difference_interval(&by_seed(&rows, |seed| *seed), factor);
    Ok(Estimate { value: of(0) - factor * of(1), ci95: finite(interval), n: draws(&rows) })
}

fn finite(interval: Option<Interval>) -> Option<[f64; 2]> {
    interval.map(<[f64; 2]>::from).filter(|ends| ends.iter().all(|x| x.is_finite()))
}

fn draws(rows: &Rows) -> usize {
    rows.iter().map(Vec::len).sum()
}

/// The value of a statistic: each row is averaged over its seeds first.
fn value(of: &Statistic, rows: &Rows) -> f64 {
    let rows: Vec<[f64; 2]> = rows.iter().flatten().flatten().map(|row| mean(row)).collect();
    of.of(rows.iter().copied())
}

fn mean(row: &[[f64; 2]]) -> [f64; 2] {
    let n = row.len() as f64;
    [0, 1].map(|i| row.iter().map(|seed| seed[i]).sum::<f64>() / n)
}

/// Contribution of each draw to numerator and denominator: the sum of `of` over its rows, each of
/// which is averaged over its seeds first.
fn clusters(rows: &Rows, of: impl Fn([f64; 2]) -> [f64; 2]) -> Vec<Vec<Cluster>> {
    let cluster = |draw: &Vec<Row>| {
        draw.iter().fold(Cluster::default(), |sum, row| {
            let [numerator, denominator] = of(mean(row));
            Cluster {
                numerator: sum.numerator + numerator,
                denominator: sum.denominator + denominator,
            }
        })
    };
    rows.iter().map(|stratum| stratum.iter().map(cluster).collect()).collect()
}

/// `of` each row, by stratum and draw.
fn by_row<T>(rows: &Rows, of: impl Fn(&Row) -> T) -> Vec<Vec<Vec<T>>> {
    let draw = |draw: &Vec<Row>| draw.iter().map(&of).collect();
    rows.iter().map(|stratum| stratum.iter().map(draw).collect()).collect()
}

/// `of` each seed of each row, by stratum and draw: for figures of yes or no, which are counted and
/// not averaged.
fn by_seed<T>(rows: &Rows, of: impl Fn(&[f64; 2]) -> T) -> Vec<Vec<Vec<T>>> {
    let draw = |draw: &Vec<Row>| draw.iter().flatten().map(&of).collect();
    rows.iter().map(|stratum| stratum.iter().map(draw).collect()).collect()
}
