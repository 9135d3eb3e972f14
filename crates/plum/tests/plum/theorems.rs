//! Theorems 1 and 2: rho = 0, linear QoE, equation 3 for the first.

use airlane_base::Seed;
use airlane_plum::{
    ContentBound, Exact, Optimality, OptimiserConfig, Solution, Solver, Views, synthetic,
};
use rand::RngExt;

use crate::common::{assert_feasible, pose, structured};

/// The optimum of theorem 1 is a face: every u with `max2nd(B) <= sum u <= max(B)` and all of the rest as
/// downlink has the same utility.
#[test]
fn every_point_of_the_face_of_theorem_1_has_the_utility_of_the_optimum() {
    let mut rng = Seed(1).split("theorem 1").rng();
    let mut compared = 0;
    for round in 0..500 {
        let n = 2 + round % 9;
        let capacities = synthetic::capacities(Seed(round as u64), n);
        let mut sorted = capacities.clone();
        sorted.sort_by(|a, b| b.total_cmp(a));
        // All are limited by the network: M is out of reach, and so is M/V.
        let max_rate = 10.0 * sorted[0].max(1.0);
        let views = Views::Fixed(0.01);
        for content in [ContentBound::Relaxed, ContentBound::Written] {
            let config = OptimiserConfig {
                max_rate,
                views,
                rho: 0.0,
                content,
                ..OptimiserConfig::default()
            };
            let problem = pose(&capacities, &config);
            let optimum = structured(&problem);
            assert_feasible(&problem, &optimum);
            // Uplinks in random proportions, with a sum within the face. The largest client may have more
            // capacity than content.
            let total = rng.random_range(0.0..=1.0) * (sorted[0] - sorted[1]) + sorted[1];
            let weights: Vec<f64> =
                capacities.iter().map(|b| b * rng.random_range(0.1..1.0)).collect();
            let scale = total / weights.iter().sum::<f64>();
            let up: Vec<f64> = weights.iter().map(|w| w * scale).collect();
            if !scale.is_finite() || up.iter().zip(&capacities).any(|(u, b)| u > b) {
                continue;
            }
            compared += 1;
            let down = capacities.iter().zip(&up).map(|(b, u)| (b - u).min(total - u)).collect();
            let on_face = Solution::from_down(&problem, down, Optimality::Local);
            assert!(on_face.violation(&problem) <= 1e-9 * max_rate, "{on_face:?}");
            let difference = on_face.score.utility - optimum.score.utility;
            assert!(difference.abs() <= 1e-9, "{difference} in {problem:?}");
        }
    }
    assert!(compared > 300, "{compared}");
}

/// Sum of all downlinks in the network-limited case: all capacities but the largest.
#[test]
fn the_optimum_of_theorem_1_is_the_sum_of_all_capacities_but_the_largest() {
    let capacities = [3000.0, 8000.0, 5000.0, 1000.0];
    for content in [ContentBound::Relaxed, ContentBound::Written] {
        let views = Views::Fixed(0.1);
        let config = OptimiserConfig {
            max_rate: 1e5,
            views,
            rho: 0.0,
            content,
            ..OptimiserConfig::default()
        };
        let solution = structured(&pose(&capacities, &config));
        let sum: f64 = solution.down.iter().sum();
        assert!((sum - 9000.0).abs() < 1e-6, "{solution:?}");
    }
}

/// Theorem 2: with one client of abundant capacity, every other uplink is as large as it can be.
#[test]
fn beside_an_ample_client_uplinks_are_as_large_as_possible() {
    // Three clients that could watch M, and one whose link exceeds all flows.
    let capacities = [6000.0, 7000.0, 8000.0, 1e6];
    let config = OptimiserConfig { max_rate: 9000.0, rho: 0.0, ..OptimiserConfig::default() };
    let problem = pose(&capacities, &config);
    let solution = Exact.solve(&problem, None).expect("linear");
    assert_feasible(&problem, &solution);
    // The same utility with all uplinks at M/V: what they give up is worth as much at the ample client.
    let max = problem.max_uplink();
    let mut down: Vec<f64> = capacities.iter().map(|b| (b - max).min(9000.0)).collect();
    down[3] = 9000.0;
    let full = Solution::from_down(&problem, down, Optimality::Local);
    assert!(full.violation(&problem) <= 1e-9, "{full:?}");
    assert!((full.score.utility - solution.score.utility).abs() < 1e-9, "{solution:?} {full:?}");
}
