//! Solvers beside all allocations on a grid.

use airlane_plum::{
    ContentBound, Optimality, OptimiserConfig, Problem, Qoe, Solution, Views, solver_for,
};

use crate::common::{assert_feasible, concave, not_concave, pose};

/// Best utility of the feasible allocations on a grid of so many steps per client.
fn grid(problem: &Problem, steps: usize) -> f64 {
    let n = problem.participants();
    let mut best = f64::NEG_INFINITY;
    let mut index = vec![0; n];
    loop {
        let rate = |(i, &b): (&usize, &f64)| b.min(problem.max_rate()) * *i as f64 / steps as f64;
        let down: Vec<f64> = index.iter().zip(problem.capacities()).map(rate).collect();
        let solution = Solution::from_down(problem, down, Optimality::Local);
        if solution.violation(problem) <= 1e-9 {
            best = best.max(solution.score.utility);
        }
        let Some(digit) = index.iter().position(|&i| i < steps) else { return best };
        index[..digit].fill(0);
        index[digit] += 1;
    }
}

/// Best utility on a grid that shrinks around the best allocation: near the optimum, not at it.
fn assert_not_below_grid(capacities: &[f64], qoe: &Qoe) {
    let steps = [0, 40, 40, 24, 10][capacities.len()];
    for content in [ContentBound::Written, ContentBound::Relaxed] {
        for views in [Views::Others, Views::Participants, Views::Fixed(0.7)] {
            for rho in [0.0, 0.2, 0.5, 0.9, 1.0] {
                for server in [None, Some(1500.0)] {
                    let qoe = qoe.clone();
                    let config = OptimiserConfig {
                        max_rate: 1000.0,
                        views,
                        rho,
                        qoe,
                        content,
                        server,
                        floors: None,
                    };
                    let problem = pose(capacities, &config);
                    let solver = solver_for(&problem);
                    let solution = solver.solve(&problem, None).expect("a solution");
                    assert_feasible(&problem, &solution);
                    let best = grid(&problem, steps);
                    let found = solution.score.utility;
                    assert!(found >= best - 1e-9, "{found} below {best}: {problem:?} {solution:?}");
                }
            }
        }
    }
}

const CALLS: &[&[f64]] = &[
    &[0.0],
    &[700.0],
    &[300.0, 900.0],
    &[500.0, 500.0],
    &[0.0, 800.0, 400.0],
    &[200.0, 700.0, 5000.0],
    &[600.0, 600.0, 600.0],
    &[100.0, 2500.0, 3000.0],
    &[150.0, 400.0, 400.0, 1200.0],
    &[900.0, 1000.0, 1100.0, 4000.0],
];

#[test]
fn no_grid_point_is_better_for_concave_qoe() {
    for qoe in concave() {
        for capacities in CALLS {
            assert_not_below_grid(capacities, &qoe);
        }
    }
}

#[test]
fn no_grid_point_is_better_for_qoe_that_is_not_concave() {
    for qoe in not_concave() {
        for capacities in CALLS {
            assert_not_below_grid(capacities, &qoe);
        }
    }
}
