//! Problems that tests draw, and what holds for every solution.

use airlane_base::Seed;
use airlane_plum::{
    ContentBound, OptimiserConfig, Problem, Qoe, QoeTable, Solution, Solver, Structured, Views,
    synthetic,
};
use proptest::prelude::*;

/// QoE functions that are concave in the rate, for a maximum rate of 1 Mbit/s or more.
pub(crate) fn concave() -> Vec<Qoe> {
    let table = vec![(0.0, 0.0), (300.0, 0.5), (600.0, 0.8), (900.0, 1.0)];
    vec![
        Qoe::Linear,
        Qoe::Logarithmic,
        Qoe::ConcaveSquare { alpha: None },
        Qoe::ConcaveSquare { alpha: Some(-1e-10) },
        Qoe::Table(QoeTable::new(table).expect("a table")),
    ]
}

/// QoE functions that are not.
pub(crate) fn not_concave() -> Vec<Qoe> {
    let table = vec![(0.0, 0.1), (200.0, 0.2), (500.0, 0.7), (600.0, 0.7), (1000.0, 1.0)];
    vec![
        Qoe::ConvexSquare { alpha: None },
        Qoe::ConvexSquare { alpha: Some(1e-10) },
        Qoe::Table(QoeTable::new(table).expect("a table")),
    ]
}

/// Settings around a QoE function.
pub(crate) fn config(qoe: Qoe) -> impl Strategy<Value = OptimiserConfig> {
    let rho = prop_oneof![Just(0.0), Just(0.1), Just(0.5), Just(0.9), Just(1.0), 0.0..1.0_f64];
    let views = prop_oneof![
        Just(Views::Others),
        Just(Views::Participants),
        (0.5..30.0).prop_map(Views::Fixed)
    ];
    let content = prop_oneof![3 => Just(ContentBound::Written), 1 => Just(ContentBound::Relaxed)];
    let server = prop_oneof![3 => Just(None), 1 => (0.0..500_000.0).prop_map(Some)];
    let max_rate = prop_oneof![Just(30_000.0), 1000.0..100_000.0];
    (rho, views, content, server, max_rate).prop_map(move |parts| {
        let (rho, views, content, server, max_rate) = parts;
        let qoe = qoe.clone();
        OptimiserConfig { max_rate, views, rho, qoe, content, server, floors: None }
    })
}

/// A problem with so many participants, and capacities from one of the kinds of `synthetic`.
pub(crate) fn problem(
    qoe: Qoe,
    participants: std::ops::Range<usize>,
) -> impl Strategy<Value = Problem> {
    (config(qoe), participants, any::<u64>()).prop_map(|(config, n, seed)| {
        Problem::new(&synthetic::capacities(Seed(seed), n), &config).expect("a problem")
    })
}

/// The solution of `Structured`.
pub(crate) fn structured(problem: &Problem) -> Solution {
    Structured::default().solve(problem, None).expect("it takes every problem")
}

/// A problem with these capacities.
pub(crate) fn pose(capacities: &[f64], config: &OptimiserConfig) -> Problem {
    Problem::new(capacities, config).expect("a problem")
}

/// Asserts that a solution keeps all constraints within 1e-9 of M.
pub(crate) fn assert_feasible(problem: &Problem, solution: &Solution) {
    let excess = solution.violation(problem);
    assert!(excess <= 1e-9 * problem.max_rate(), "{excess} in {problem:?}: {solution:?}");
    assert!(solution.is_valid(problem), "{problem:?}: {solution:?}");
}

/// Number of cases of a property test: `PROPTEST_CASES`, or this.
pub(crate) fn cases(usual: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(usual)
}
