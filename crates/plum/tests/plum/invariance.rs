//! Effects of changes of a problem on its solution.

use airlane_base::Seed;
use airlane_plum::{
    ContentBound, Exact, OptimiserConfig, Problem, Qoe, Solver, Structured, Views, solver_for,
    synthetic,
};
use proptest::prelude::*;
use rand::RngExt;

use crate::common::{assert_feasible, cases, concave, config, pose, problem, structured};

fn any_concave() -> impl Strategy<Value = OptimiserConfig> {
    prop::sample::select(concave()).prop_flat_map(config)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(300)))]

    #[test]
    fn more_capacity_never_lowers_utility(
        config in any_concave(), n in 1..20_usize, seed: u64, more in 0.0..50_000.0_f64
    ) {
        let mut capacities = synthetic::capacities(Seed(seed), n);
        let before = structured(&pose(&capacities, &config)).score.utility;
        let client = Seed(seed).split("client").rng().random_range(0..n);
        capacities[client] += more;
        let after = structured(&pose(&capacities, &config)).score.utility;
        prop_assert!(after >= before - 1e-9, "{} after {}", after, before);
    }

    #[test]
    fn the_order_of_participants_does_not_matter(
        config in any_concave(), n in 1..20_usize, seed: u64, turn in 0..20_usize
    ) {
        let mut capacities = synthetic::capacities(Seed(seed), n);
        let mut before = structured(&pose(&capacities, &config));
        capacities.rotate_left(turn % n);
        before.down.rotate_left(turn % n);
        let after = structured(&pose(&capacities, &config));
        // Sums of capacities are rounded in another order.
        for (a, b) in before.down.iter().zip(&after.down) {
            prop_assert!((a - b).abs() <= 1e-6 * config.max_rate, "{} {}", a, b);
        }
    }

    #[test]
    fn linear_qoe_scales(config in config(Qoe::Linear), n in 1..20_usize, seed: u64) {
        let capacities = synthetic::capacities(Seed(seed), n);
        let before = structured(&pose(&capacities, &config));
        let factor = 1024.0;
        let scaled = OptimiserConfig {
            max_rate: config.max_rate * factor,
            server: config.server.map(|s| s * factor),
            ..config
        };
        let capacities: Vec<f64> = capacities.iter().map(|b| b * factor).collect();
        let after = structured(&pose(&capacities, &scaled));
        prop_assert!((before.score.utility - after.score.utility).abs() < 1e-12);
        for (a, b) in before.down.iter().zip(&after.down) {
            prop_assert!((a * factor - b).abs() <= 1e-9 * scaled.max_rate, "{} {}", a, b);
        }
    }

    #[test]
    fn a_warm_start_changes_nothing_but_time(
        config in any_concave(), n in 1..20_usize, seed: u64, change in 0.5..1.5_f64
    ) {
        let capacities = synthetic::capacities(Seed(seed), n);
        let previous = structured(&pose(&capacities, &config));
        let changed: Vec<f64> = capacities.iter().map(|b| b * change).collect();
        let problem = pose(&changed, &config);
        let cold = structured(&problem);
        let warm = Structured::default().solve(&problem, Some(&previous)).expect("a solution");
        assert_feasible(&problem, &warm);
        prop_assert!((cold.score.utility - warm.score.utility).abs() < 1e-9);
    }

    #[test]
    fn a_solution_keeps_its_constraints(
        problem in prop::sample::select(concave()).prop_flat_map(|qoe| problem(qoe, 1..60))
    ) {
        assert_feasible(&problem, &structured(&problem));
    }
}

#[test]
fn equal_qoe_is_chosen_where_only_fairness_counts() {
    let config = OptimiserConfig { rho: 1.0, ..OptimiserConfig::default() };
    let solution = structured(&pose(&[4000.0, 9000.0, 20_000.0], &config));
    assert!((solution.score.utility - 1.0).abs() < 1e-12);
    // Not the trivial one.
    assert!(solution.down.iter().all(|&d| d > 3000.0), "{solution:?}");
}

#[test]
fn a_single_participant_watches_nothing() {
    for content in [ContentBound::Written, ContentBound::Relaxed] {
        for qoe in concave() {
            let config = OptimiserConfig { content, qoe, ..OptimiserConfig::default() };
            let problem = pose(&[20_000.0], &config);
            let solution = solver_for(&problem).solve(&problem, None).expect("a solution");
            assert_eq!(solution.down, [0.0]);
            assert_feasible(&problem, &solution);
        }
    }
}

#[test]
fn calls_without_any_capacity_have_a_solution() {
    let problem = pose(&[0.0; 5], &OptimiserConfig::default());
    let solution = Exact.solve(&problem, None).expect("linear");
    assert_eq!(solution.down, [0.0; 5]);
    assert_feasible(&problem, &solution);
}

#[test]
fn a_thousand_participants_are_solved() {
    for seed in 0..12 {
        for qoe in concave() {
            let server = (seed % 2 == 0).then_some(2e6);
            let config = OptimiserConfig {
                qoe,
                server,
                views: Views::Fixed(24.0),
                ..OptimiserConfig::default()
            };
            let capacities = synthetic::capacities(Seed(seed), 1000);
            let problem = Problem::new(&capacities, &config).expect("a problem");
            let solution = structured(&problem);
            assert_feasible(&problem, &solution);
            if problem.qoe().is_linear() && server.is_none() {
                let exact = Exact.solve(&problem, None).expect("linear");
                assert!((exact.score.utility - solution.score.utility).abs() < 1e-9);
            }
        }
    }
}
