//! Theorem B.2: rates in proportion to weights `r / U(r)` go to where utilities are equal.
//!
//! U is (alpha, beta)-subquadratic if the slope of its logarithm over that of the rate, its
//! elasticity, is between alpha and 2 - beta.

use std::sync::Arc;

use crate::common::setting;
use airlane_base::Seed;
use airlane_media::synthetic;
use airlane_minerva::{Config, Form, Normalisation, UtilityKind};
use proptest::prelude::*;

/// `a r^p + b ln(1 + c r)`: concave up to p = 1, convex parts beyond.
#[derive(Clone, Copy, Debug)]
struct Utility {
    a: f64,
    p: f64,
    b: f64,
    c: f64,
}

impl Utility {
    fn at(&self, r: f64) -> f64 {
        self.a * r.powf(self.p) + self.b * (self.c * r).ln_1p()
    }

    /// Bounds of the elasticity up to `most`: it is a mean of p and of that of the logarithm, which
    /// falls from 1 with the rate.
    fn elasticity(&self, most: f64) -> (f64, f64) {
        let x = self.c * most;
        let log = x / ((1.0 + x) * x.ln_1p());
        match (self.a > 0.0, self.b > 0.0) {
            (true, false) => (self.p, self.p),
            (false, _) => (log, 1.0),
            (true, true) => (self.p.min(log), self.p.max(1.0)),
        }
    }

    /// A power of 0.1 and factors that differ by a hundred make rates that differ by 10^20.
    fn inverse(&self, u: f64) -> f64 {
        bisect(1e-60, 1e60, |r| self.at(r) < u)
    }
}

/// Where `below` ends, between two numbers above zero.
fn bisect(mut lo: f64, mut hi: f64, below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..64 {
        let middle = (lo * hi).sqrt();
        if below(middle) { lo = middle } else { hi = middle }
    }
    (lo * hi).sqrt()
}

/// min(alpha), min(beta) over the clients.
fn subquadratic(clients: &[Utility], capacity: f64) -> (f64, f64) {
    let bounds = clients.iter().map(|u| u.elasticity(capacity));
    bounds.fold((f64::INFINITY, f64::INFINITY), |m, e| (m.0.min(e.0), m.1.min(2.0 - e.1)))
}

fn optimum(clients: &[Utility], capacity: f64) -> Vec<f64> {
    let u = bisect(1e-9, 1e9, |u| clients.iter().map(|c| c.inverse(u)).sum::<f64>() < capacity);
    clients.iter().map(|c| c.inverse(u)).collect()
}

/// One update of all: rates in proportion to weights.
fn step(clients: &[Utility], rates: &[f64]) -> Vec<f64> {
    let capacity: f64 = rates.iter().sum();
    let weights: Vec<f64> = clients.iter().zip(rates).map(|(c, r)| r / c.at(*r)).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|w| capacity * w / sum).collect()
}

/// log r - log r*.
fn off(rates: &[f64], optimum: &[f64]) -> Vec<f64> {
    rates.iter().zip(optimum).map(|(r, o)| (r / o).ln()).collect()
}

fn sum(off: &[f64]) -> f64 {
    off.iter().map(|y| y.abs()).sum()
}

/// From the lowest to the highest.
fn spread(off: &[f64]) -> f64 {
    let (lo, hi) =
        off.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |m, y| (m.0.min(*y), m.1.max(*y)));
    hi - lo
}

fn utility(powers: std::ops::Range<f64>) -> impl Strategy<Value = Utility> {
    let of = (0.1..10.0_f64, powers, 0.1..10.0_f64, 0.05..3.0_f64);
    (of, 0..3).prop_map(|((a, p, b, c), parts)| match parts {
        0 => Utility { a, p, b: 0.0, c },
        1 => Utility { a: 0.0, p, b, c },
        _ => Utility { a, p, b, c },
    })
}

fn starts(n: usize) -> impl Strategy<Value = Vec<f64>> {
    proptest::collection::vec((-5.0..5.0_f64).prop_map(f64::exp), n)
}

fn on_link(starts: &[f64], capacity: f64) -> Vec<f64> {
    let sum: f64 = starts.iter().sum();
    starts.iter().map(|r| capacity * r / sum).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn two_clients_come_closer_by_the_theorems_factor_at_every_update(
        clients in proptest::collection::vec(utility(0.1..1.99), 2),
        starts in starts(2),
        capacity in 0.5..50.0_f64,
    ) {
        let best = optimum(&clients, capacity);
        let (alpha, beta) = subquadratic(&clients, capacity);
        let factor = 1.0 - alpha.min(beta);
        let mut rates = on_link(&starts, capacity);
        for _ in 0..60 {
            let before = sum(&off(&rates, &best));
            rates = step(&clients, &rates);
            let after = sum(&off(&rates, &best));
            prop_assert!(after <= factor * before + 1e-9, "{after} from {before}, factor {factor}");
        }
    }

    #[test]
    fn any_number_of_concave_ones_comes_closer_at_every_update(
        clients in proptest::collection::vec(utility(0.1..1.0), 3..=6),
        starts in starts(6),
        capacity in 0.5..50.0_f64,
    ) {
        let best = optimum(&clients, capacity);
        let (alpha, beta) = subquadratic(&clients, capacity);
        prop_assert!(beta >= 1.0);
        let mut rates = on_link(&starts[..clients.len()], capacity);
        for _ in 0..60 {
            let before = spread(&off(&rates, &best));
            rates = step(&clients, &rates);
            let after = spread(&off(&rates, &best));
            prop_assert!(after <= (1.0 - alpha) * before + 1e-9, "{after} from {before}");
        }
    }

    #[test]
    fn and_of_others_where_alpha_and_beta_sum_to_more_than_one(
        clients in proptest::collection::vec(utility(0.7..1.25), 3..=6),
        starts in starts(6),
        capacity in 0.5..3.0_f64,
    ) {
        let best = optimum(&clients, capacity);
        let (alpha, beta) = subquadratic(&clients, capacity);
        prop_assert!(alpha + beta > 1.0);
        let factor = (1.0 - alpha.min(beta)).max(2.0 - alpha - beta);
        let mut rates = on_link(&starts[..clients.len()], capacity);
        for _ in 0..60 {
            let before = spread(&off(&rates, &best));
            rates = step(&clients, &rates);
            let after = spread(&off(&rates, &best));
            prop_assert!(after <= factor * before + 1e-9, "{after} from {before}, factor {factor}");
        }
    }
}

/// The farthest apart that the strategy makes rates: 10^20 between equals of 0.1 and 9.99.
#[test]
fn rates_far_apart_come_closer_as_well() {
    let power = |a: f64| Utility { a, p: 0.1, b: 0.0, c: 1.0 };
    let clients = [power(0.1), power(0.1), power(9.99)];
    let best = optimum(&clients, 0.5);
    let level = clients[0].at(best[0]);
    for (client, rate) in clients.iter().zip(&best) {
        assert!((client.at(*rate) / level - 1.0).abs() < 1e-9, "{best:?}");
    }
    let mut rates = on_link(&[1.0; 3], 0.5);
    for _ in 0..200 {
        rates = step(&clients, &rates);
    }
    assert!(spread(&off(&rates, &best)) < 1e-6, "{rates:?} beside {best:?}");
}

/// What the proof leaves to the reader: of three clients, one that hardly reacts and one that
/// overshoots go apart before they come together.
#[test]
fn three_clients_can_first_go_apart() {
    let power = |p: f64| Utility { a: 1.0, p, b: 0.0, c: 1.0 };
    let clients = [power(0.1), power(1.9), power(1.0)];
    let best = [0.01, 0.01, 0.98];
    // Utilities that are equal at these rates.
    let clients: Vec<Utility> =
        clients.iter().zip(best).map(|(c, r)| Utility { a: 1.0 / c.at(r), ..*c }).collect();
    let mut rates = on_link(&[0.2, 0.2, 0.6], 1.0);
    let first = spread(&off(&rates, &best));
    rates = step(&clients, &rates);
    let then = spread(&off(&rates, &best));
    assert!(then > 1.3 * first, "{first} {then}");
    for _ in 0..400 {
        rates = step(&clients, &rates);
    }
    assert!(spread(&off(&rates, &best)) < 1e-9);
}

/// A slope beyond the theorem's, as f of a curve with a steep rung has: the flows swing. The
/// product's averages take a tenth of each step and settle all the same.
#[test]
fn averages_settle_what_is_steeper_than_the_theorem_allows() {
    let steep = Utility { a: 1.0, p: 2.2, b: 0.0, c: 1.0 };
    let apart = |rates: &[f64]| (rates[0] / rates[1]).ln();
    let mut rates = vec![0.4, 0.6];
    for _ in 0..10 {
        let before = apart(&rates);
        rates = step(&[steep, steep], &rates);
        let ratio = apart(&rates) / before;
        assert!((ratio + 1.2).abs() < 1e-6, "to the other side, and further: {ratio}");
    }

    let mut weights = vec![0.4, 0.6];
    for _ in 0..200 {
        let rates = on_link(&weights, 1.0);
        let raw = step(&[steep, steep], &rates);
        weights = weights.iter().zip(&raw).map(|(w, r)| 0.9 * w + 0.1 * r).collect();
    }
    assert!(apart(&weights).abs() < 1e-3, "{weights:?}");
}

#[test]
fn the_controllers_of_a_link_make_utilities_equal() {
    let titles: Vec<_> = synthetic::corpus(4, 60, Seed(3)).into_iter().map(setting).collect();
    let f = Normalisation::uniform(Form::Equation2, 2.0, titles.iter().map(|s| s.view().curve()));
    let f = Arc::new(f.unwrap());
    for (smoothed, delay, updates) in [(true, 0, 200), (true, 5, 200), (false, 0, 40)] {
        let config = Config { utility: UtilityKind::Basic, smoothed, ..Config::default() };
        let link = crate::flows::Link { capacity_bps: 8e6, delay, noise: 0.0 };
        let weights = crate::flows::run(&titles, &f, config, link, updates, Seed(1)).pop().unwrap();
        let total: f64 = weights.iter().sum();
        let utilities: Vec<f64> = titles
            .iter()
            .zip(&weights)
            .map(|(s, w)| s.view().curve().eval(8e6 * w / total))
            .collect();
        let (lo, hi) =
            utilities.iter().fold((f64::MAX, 0.0_f64), |m, u| (m.0.min(*u), m.1.max(*u)));
        assert!(hi - lo < 0.5, "{smoothed} {delay}: {utilities:?}");
    }
}
