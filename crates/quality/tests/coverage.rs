//! What share of the 95 % intervals holds the truth, on simulated draws whose truth is known.
//!
//! The bar is 92 to 98 % of 2000 tries in every case. `cargo test -p airlane-quality --test
//! coverage -- --nocapture` prints the table of `docs/design/judgement.md`.

use std::fmt::Write as _;

use airlane_base::{Rng, Seed};
use airlane_quality::shares::{
    quantile_interval, share_difference_interval, share_interval, wilson,
};
use airlane_quality::{Bootstrap, Cluster, Interval};
use rand::RngExt;

const TRIES: u64 = 2000;
const SIZES: [usize; 3] = [10, 20, 60];
const CELLS: [usize; 2] = [1, 4];
/// Verdicts take 9999; what an interval covers hardly depends on it.
const RESAMPLES: usize = 399;

fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.random::<f64>()).cos()
}

/// With skewness 6.2 and mean `LOGNORMAL`.
fn lognormal(rng: &mut Rng) -> f64 {
    normal(rng).exp()
}

const LOGNORMAL: f64 = 1.648_721_270_700_128;

/// The rows of a cluster: one per cell.
type Draw = fn(&mut Rng, usize) -> Vec<f64>;

fn rows(rng: &mut Rng, cells: usize, of: impl Fn(&mut Rng) -> f64) -> Vec<f64> {
    (0..cells).map(|_| of(rng)).collect()
}

/// Normal, each row by itself.
fn plain(rng: &mut Rng, cells: usize) -> Vec<f64> {
    rows(rng, cells, normal)
}

/// Lognormal, each row by itself.
fn skewed(rng: &mut Rng, cells: usize) -> Vec<f64> {
    rows(rng, cells, lognormal)
}

/// Two seeds in each cell; rows of a cluster correlate by 0.8.
fn clustered(rng: &mut Rng, cells: usize) -> Vec<f64> {
    let shared = normal(rng);
    rows(rng, 2 * cells, |rng| shared + 0.5 * normal(rng))
}

/// The same with what they share lognormal.
fn clustered_skewed(rng: &mut Rng, cells: usize) -> Vec<f64> {
    let shared = lognormal(rng);
    rows(rng, 2 * cells, |rng| shared + normal(rng))
}

/// Stalls: none in 60 of 100 draws, else exponential.
fn stalls(rng: &mut Rng, cells: usize) -> Vec<f64> {
    rows(rng, cells, |rng| {
        let stalls = rng.random::<f64>() < 0.4;
        if stalls { -(1.0 - rng.random::<f64>()).ln() } else { 0.0 }
    })
}

/// Yes with probability `p`; the rows of a cluster are all the same in half of the clusters.
fn yes(p: f64) -> impl Fn(&mut Rng, usize) -> Vec<f64> {
    move |rng, cells| {
        let one = |rng: &mut Rng| f64::from(u8::from(rng.random::<f64>() < p));
        if rng.random::<f64>() < 0.5 { vec![one(rng); cells] } else { rows(rng, cells, one) }
    }
}

/// Percent of intervals that hold the truth, by clusters and cells; and the most that lie wholly
/// below it, and wholly above.
struct Table {
    text: String,
    /// Cases out of bounds.
    bad: Vec<String>,
}

impl Table {
    fn new(title: &str) -> Self {
        Self { text: format!("{title}\n"), bad: Vec::new() }
    }

    /// A line.
    fn add<F>(&mut self, name: &str, truth: f64, one: F)
    where
        F: Fn(&mut Rng, usize, usize) -> Option<Interval>,
    {
        write!(self.text, "| {name} |").unwrap();
        let (mut max_below, mut max_above) = (0.0_f64, 0.0_f64);
        for n in SIZES {
            for cells in CELLS {
                let seed = Seed(2026).split(name).index(n as u64).index(cells as u64);
                let intervals = (0..TRIES).map(|i| one(&mut seed.index(i).rng(), n, cells));
                let intervals: Vec<Interval> = intervals.flatten().collect();
                // Where no interval is given none can be wrong.
                if intervals.is_empty() {
                    self.text += " - |";
                    continue;
                }
                let percent = |of: &dyn Fn(&&Interval) -> bool| {
                    100.0 * intervals.iter().filter(of).count() as f64 / intervals.len() as f64
                };
                let held = percent(&|i| i.contains(truth));
                max_below = max_below.max(percent(&|i| i.hi < truth));
                max_above = max_above.max(percent(&|i| i.lo > truth));
                write!(self.text, " {held:.1} |").unwrap();
                if !(92.0..=98.0).contains(&held) {
                    self.bad.push(format!("{name}, {n} clusters of {cells}: {held} %"));
                }
            }
        }
        writeln!(self.text, " {max_below:.1} | {max_above:.1} |").unwrap();
    }

    fn judge(self) {
        println!("{}", self.text);
        assert!(self.bad.is_empty(), "{:?}\n{}", self.bad, self.text);
    }
}

fn bootstrap(rng: &mut Rng) -> Bootstrap {
    Bootstrap { resamples: RESAMPLES, ..Bootstrap::new(Seed(rng.random())) }
}

fn mean_of(rng: &mut Rng, n: usize, cells: usize, draw: Draw) -> Option<Interval> {
    let clusters = (0..n).map(|_| Cluster::of_rows(&draw(rng, cells))).collect();
    bootstrap(rng).clusters(&[clusters])
}

#[test]
fn intervals_of_means_hold_the_truth() {
    let mut table = Table::new("Means");
    let kinds: [(&str, f64, Draw); 5] = [
        ("normal", 0.0, plain),
        ("lognormal", LOGNORMAL, skewed),
        ("clustered", 0.0, clustered),
        ("clustered, lognormal", LOGNORMAL, clustered_skewed),
        ("60 % zeros", 0.4, stalls),
    ];
    for (name, truth, draw) in kinds {
        table.add(name, truth, |rng, n, cells| mean_of(rng, n, cells, draw));
    }
    table.judge();
}

/// The interval of a ratio of positive figures, no end of which is below zero.
fn positive(interval: Option<Interval>) -> Option<Interval> {
    assert!(interval.is_none_or(|i| i.lo >= 0.0), "{interval:?}");
    interval
}

#[test]
fn intervals_of_ratios_and_over_strata_hold_the_truth() {
    let mut table = Table::new("Ratios and strata");
    table.add("sum(x / y), both lognormal", 0.5, |rng, n, cells| {
        let cluster = |_| {
            let shared = lognormal(rng);
            let sum = |rng: &mut Rng| (0..cells).map(|_| shared * lognormal(rng)).sum::<f64>();
            Cluster { numerator: 0.5 * sum(rng), denominator: sum(rng) }
        };
        let clusters = (0..n).map(cluster).collect();
        positive(bootstrap(rng).ratio(&[clusters]))
    });
    // The 99th percentile of delay under two schemes: most draws alike, a few a hundred times worse.
    table.add("sum(x / y), heavier, half shared", 3.0, |rng, n, cells| {
        let cluster = |_| {
            let shared = normal(rng).exp();
            let own = |rng: &mut Rng| shared * (1.2 * normal(rng)).exp();
            let sum = |rng: &mut Rng| (0..cells).map(|_| own(rng)).sum::<f64>();
            Cluster { numerator: 3.0 * sum(rng), denominator: sum(rng) }
        };
        let clusters = (0..n).map(cluster).collect();
        positive(bootstrap(rng).ratio(&[clusters]))
    });
    // Nothing shared but what the draw is: a Pareto tail of index 3.
    table.add("sum(x / y), Pareto of index 3", 1.0, |rng, n, cells| {
        let cluster = |_| {
            let sum = |rng: &mut Rng| {
                (0..cells).map(|_| (1.0 - rng.random::<f64>()).powf(-1.0 / 3.0)).sum::<f64>()
            };
            Cluster { numerator: sum(rng), denominator: sum(rng) }
        };
        let clusters = (0..n).map(cluster).collect();
        positive(bootstrap(rng).ratio(&[clusters]))
    });
    // Half of the clusters from a population five deviations above that of the others.
    table.add("two strata, normal", 2.5, |rng, n, cells| {
        let stratum = |rng: &mut Rng, mean: f64| {
            let cluster = |_| Cluster::of_rows(&rows(rng, cells, |rng| mean + normal(rng)));
            (0..n / 2).map(cluster).collect()
        };
        let strata = [stratum(rng, 0.0), stratum(rng, 5.0)];
        bootstrap(rng).clusters(&strata)
    });
    table.judge();
}

#[test]
fn intervals_of_shares_hold_the_truth() {
    let mut table = Table::new("Shares");
    for p in [0.2, 0.35, 0.5, 0.8] {
        table.add(&format!("share of {p}"), p, |rng, n, cells| {
            let clusters = (0..n).map(|_| yes(p)(rng, cells)).collect();
            share_interval(&[clusters])
        });
    }
    // Yes under the optimum in 0.5, under the scheme in 0.4 of them and in 0.1 of the others.
    table.add("share 0.25 - 0.6 x 0.5", -0.05, |rng, n, cells| {
        let cluster = |_| {
            let best = yes(0.5)(rng, cells);
            let of = |best: &f64| {
                let p = if *best == 1.0 { 0.4 } else { 0.1 };
                [f64::from(u8::from(rng.random::<f64>() < p)), *best]
            };
            best.iter().map(of).collect()
        };
        let clusters = (0..n).map(cluster).collect();
        share_difference_interval(&[clusters], 0.6)
    });
    table.judge();
}

#[test]
fn intervals_of_quantiles_hold_the_truth() {
    let mut table = Table::new("Quantiles");
    for (name, q, truth) in [("median", 0.5, 1.0), ("upper quartile", 0.75, 1.963_031_08)] {
        table.add(&format!("{name}, lognormal"), truth, |rng, n, cells| {
            let clusters = (0..n).map(|_| skewed(rng, cells)).collect();
            quantile_interval(&[clusters], q)
        });
    }
    table.add("median, clustered", 0.0, |rng, n, cells| {
        let clusters = (0..n).map(|_| clustered(rng, cells)).collect();
        quantile_interval(&[clusters], 0.5)
    });
    table.judge();
}

/// "Better in both" is said of a rival that is better in one figure and equal in the other in at most
/// 2.5 of 100 tries: each figure is judged by itself, and both must say so. The mean of the larger of
/// two logarithms of ratios, which is above zero for an equal rival as well, says nothing of the kind.
#[test]
fn better_in_both_is_seldom_said_of_a_rival_that_is_equal_in_one() {
    let (mut text, mut bad) = (String::new(), Vec::new());
    for (name, of_second) in [("equal in both", 1.0), ("equal in one and better in the other", 0.5)]
    {
        write!(text, "| {name} |").unwrap();
        for n in SIZES {
            let seed = Seed(2028).split(name).index(n as u64);
            let said = (0..TRIES).filter(|i| {
                let rng = &mut seed.index(*i).rng();
                let [mut first, mut second] = [Vec::new(), Vec::new()];
                for _ in 0..n {
                    let shared = lognormal(rng);
                    let pair = |rng: &mut Rng, factor: f64| Cluster {
                        numerator: factor * shared * lognormal(rng),
                        denominator: shared * lognormal(rng),
                    };
                    first.push(pair(rng, 1.0));
                    second.push(pair(rng, of_second));
                }
                let mut below = |clusters| {
                    let interval = bootstrap(rng).simultaneous(2).ratio(&[clusters]);
                    interval.is_some_and(|i: Interval| i.hi < 1.0)
                };
                below(first) && below(second)
            });
            let percent = 100.0 * said.count() as f64 / TRIES as f64;
            write!(text, " {percent:.1} |").unwrap();
            if percent > 3.5 {
                bad.push(format!("{name}, {n} clusters: {percent} %"));
            }
        }
        text.push('\n');
    }
    println!("{text}");
    assert!(bad.is_empty(), "{bad:?}");
}

/// The share of intervals that hold `p`, over all outcomes of `n` independent rows.
fn exact(n: usize, p: f64) -> f64 {
    let mut probability = (1.0 - p).powi(n as i32);
    let mut held = 0.0;
    for yes in 0..=n {
        if wilson(yes as f64 / n as f64, n as f64).contains(p) {
            held += probability;
        }
        probability *= (n - yes) as f64 / (yes + 1) as f64 * p / (1.0 - p);
    }
    held
}

/// What is counted jumps: the share held goes up and down with the truth, whatever the method. On
/// the mean over all truths it is the nominal one.
#[test]
fn intervals_of_shares_hold_the_truth_on_the_mean_over_all_truths() {
    println!("Exact, over truths of 0.05 to 0.95: clusters, least, mean, most");
    for (n, least) in [(10, 0.89), (20, 0.91), (44, 0.92), (60, 0.93), (132, 0.93)] {
        let all: Vec<f64> = (50..=950).map(|p| exact(n, f64::from(p) / 1000.0)).collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let (lo, hi) = all.iter().fold((1.0, 0.0), |(a, b): (f64, f64), c| (a.min(*c), b.max(*c)));
        println!("| {n} | {:.1} | {:.1} | {:.1} |", 100.0 * lo, 100.0 * mean, 100.0 * hi);
        assert!(
            lo >= least && hi <= 0.99 && (0.94..=0.96).contains(&mean),
            "{n}: {lo} {mean} {hi}"
        );
    }
}
