//! How far Algorithm 1 is from the optimum of P1 over all orders and levels, on random GoPs.
//!
//! ```text
//! cargo run --release -p airlane-viewport --example decomposition [GOPS]
//! ```
//!
//! Few tiles are compared with the exact optimum, 12x8 tiles with a bound that no plan can beat. A
//! scheme with a star has C_agg times the margin, out of 0.1, 0.2, .. 1, at which its mean in dB is
//! best.

use airlane_base::Seed;
use airlane_viewport::synthetic::{self, Gop};
use airlane_viewport::{Joint, LossKind, Ows, Problem, Workspace, fix, optimum};

/// A scheme: the expected mean squared error of its plan.
type Scheme = fn(&Problem<'_>, &mut Workspace) -> f64;

const SCHEMES: [(&str, Scheme); 5] = [
    ("literal", |problem, workspace| ows(LossKind::Literal, problem, workspace)),
    ("descending", |problem, workspace| ows(LossKind::Descending, problem, workspace)),
    ("fix", |problem, workspace| fix(problem, workspace).expected_mse),
    ("corrected", |problem, workspace| ows(LossKind::Corrected, problem, workspace)),
    ("joint", |problem, workspace| Joint::default().solve(problem, workspace).expected_mse),
];

fn ows(kind: LossKind, problem: &Problem<'_>, workspace: &mut Workspace) -> f64 {
    Ows { kind, ..Ows::default() }.solve(problem, workspace).expected_mse
}

fn problem(gop: &Gop, margin: f64) -> Problem<'_> {
    let capacity = (gop.capacity_bits as f64 * margin) as u64;
    Problem::new(&gop.curves, &gop.probabilities, &gop.deadlines_s, &gop.throughput, capacity)
        .expect("it fits together")
}

/// What no plan can beat: the optimum for few tiles, else the bound.
fn least(gop: &Gop) -> f64 {
    let problem = problem(gop, 1.0);
    match optimum(&problem, LossKind::Corrected) {
        Some(best) => best.expected_mse,
        None => {
            let joint = Joint { steps: 1_000, plans: 0 };
            joint.solve_with_bound(&problem, &mut Workspace::default()).1
        }
    }
}

/// Excess of a scheme over what no plan can beat, as a ratio for each GoP, rising.
fn excess(scheme: Scheme, gops: &[(Gop, f64)], margin: f64) -> Vec<f64> {
    let mut workspace = Workspace::default();
    let mut all: Vec<f64> = gops
        .iter()
        .map(|(gop, least)| scheme(&problem(gop, margin), &mut workspace) / least)
        .collect();
    all.sort_by(f64::total_cmp);
    all
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len() as f64;
    values.sum::<f64>() / n
}

fn print(name: &str, margin: f64, excess: &[f64]) {
    let percent = |ratio: f64| 100.0 * (ratio - 1.0);
    let db = |ratio: f64| 10.0 * ratio.log10();
    println!(
        "{name:12} {margin:6.1} {:8.2} {:8.2} {:8.1} {:8.3} {:8.2}",
        percent(mean(excess.iter().copied())),
        percent(excess[excess.len() / 2]),
        percent(excess[excess.len() - 1]),
        mean(excess.iter().map(|&ratio| db(ratio))),
        db(excess[excess.len() - 1]),
    );
}

fn main() {
    let count: u64 = std::env::args().nth(1).map_or(500, |n| n.parse().expect("a number of GoPs"));
    for (tiles, levels) in [(4, 3), (5, 4), (8, 4), (96, 20)] {
        let count = if tiles > 12 { count / 5 } else { count };
        let gops: Vec<(Gop, f64)> = (0..count)
            .map(|n| {
                let gop = synthetic::gop(Seed(11).index(n), tiles, levels);
                let least = least(&gop);
                (gop, least)
            })
            .collect();
        println!("\n{tiles} tiles, {levels} levels, {count} GoPs");
        println!("scheme       margin  mean-% median-%    max-%  mean-dB   max-dB");
        for (name, scheme) in SCHEMES {
            print(name, 1.0, &excess(scheme, &gops, 1.0));
            if name == "joint" {
                continue;
            }
            let at = |margin: f64| (margin, excess(scheme, &gops, margin));
            let tuned = (1..=10).map(|tenths| at(f64::from(tenths) / 10.0)).min_by(|a, b| {
                let sum = |excess: &[f64]| mean(excess.iter().map(|ratio| ratio.log10()));
                sum(&a.1).total_cmp(&sum(&b.1))
            });
            let (margin, excess) = tuned.expect("ten margins");
            print(&format!("{name}*"), margin, &excess);
        }
    }
}
