//! QoE that is not concave.

use airlane_base::Seed;
use airlane_plum::{
    Multistart, Optimality, OptimiserConfig, Qoe, Slsqp, Solution, Solver, Structured, Views,
    synthetic,
};
use rand::RngExt;

use crate::common::{assert_feasible, not_concave, pose};

/// Best of SLSQP from random starts.
fn best_of_random(problem: &airlane_plum::Problem, starts: usize, seed: Seed) -> f64 {
    let mut rng = seed.rng();
    let slsqp = Slsqp { tolerance: 1e-9, ..Slsqp::default() };
    let mut best = f64::NEG_INFINITY;
    for _ in 0..starts {
        let start: Vec<f64> =
            problem.capacities().iter().map(|b| rng.random::<f64>() * b).collect();
        if let Ok(found) = slsqp.solve_from(problem, &start)
            && found.is_valid(problem)
        {
            best = best.max(found.score.utility);
        }
    }
    best
}

#[test]
fn it_is_near_the_best_of_many_random_starts() {
    let mut worst: f64 = 0.0;
    for round in 0..60 {
        let seed = Seed(round).split("multistart");
        let qoe = not_concave()[round as usize % 3].clone();
        let rho = [0.1, 0.5, 0.8][round as usize % 3];
        let config = OptimiserConfig { qoe, rho, ..OptimiserConfig::default() };
        let problem = pose(&synthetic::capacities(seed, 2 + round as usize % 7), &config);
        let solution = Multistart::default().solve(&problem, None).expect("a solution");
        assert_feasible(&problem, &solution);
        assert_eq!(solution.optimality, Optimality::Local);
        let best = best_of_random(&problem, 40, seed);
        worst = worst.max(best - solution.score.utility);
    }
    assert!(worst < 1e-4, "{worst} below the best known");
}

#[test]
fn one_client_gives_its_downlink_up_where_qoe_is_convex() {
    let config = OptimiserConfig {
        max_rate: 1000.0,
        views: Views::Others,
        rho: 0.0,
        qoe: Qoe::ConvexSquare { alpha: None },
        ..OptimiserConfig::default()
    };
    let problem = pose(&[600.0, 600.0, 600.0], &config);
    let solution = Multistart::default().solve(&problem, None).expect("a solution");
    let mut down = solution.down.clone();
    down.sort_by(f64::total_cmp);
    for (found, expected) in down.iter().zip([100.0, 500.0, 600.0]) {
        assert!((found - expected).abs() < 1e-3, "{solution:?}");
    }
    // The solver for concave QoE treats equal clients alike, and is worse.
    let alike = Structured::default().solve(&problem, None).expect("a solution");
    assert_eq!(alike.optimality, Optimality::Local);
    assert!(solution.score.utility > alike.score.utility);
}

#[test]
fn large_calls_and_previous_solutions_are_taken() {
    let config =
        OptimiserConfig { qoe: Qoe::ConvexSquare { alpha: None }, ..OptimiserConfig::default() };
    let problem = pose(&synthetic::capacities(Seed(3), 200), &config);
    let solution = Multistart::default().solve(&problem, None).expect("a solution");
    assert_feasible(&problem, &solution);
    let again = Multistart::default().solve(&problem, Some(&solution)).expect("a solution");
    assert!(again.score.utility >= solution.score.utility);
    // A previous solution of another call is left out.
    let other = Solution { down: vec![f64::NAN; 3], ..solution };
    assert!(Multistart::default().solve(&problem, Some(&other)).is_ok());
}
