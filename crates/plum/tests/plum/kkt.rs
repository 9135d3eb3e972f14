//! The values that KKT conditions leave for d_i, with the errata: value 5 without n/(n-1), and only where the
//! shared bound does not bind.

use airlane_plum::{ContentBound, OptimiserConfig, Problem, Qoe, Solution};
use proptest::prelude::*;

use crate::common::{cases, concave, problem, structured};

/// Largest gain of utility per QoE (times n) of a client, from the difference to mean QoE.
fn gain(problem: &Problem, solution: &Solution, client: usize) -> f64 {
    let q = problem.qoe().value(solution.down[client]);
    let (rho, score) = (problem.rho(), solution.score);
    (1.0 - rho) - 2.0 * rho * (q - score.performance) / score.deviation()
}

/// The five values with equation 3: 1 d = 0, 2 d = B, 3 the shared bound binds with the same marginal utility
/// for all that have neither, 4 Q' = 0 (here d = M), 5 `Q = mean + (1 - rho) / (2 rho) sigma`.
fn assert_kkt(problem: &Problem, solution: &Solution) {
    if solution.score.deviation() < 1e-6 {
        return;
    }
    let limit = |s: f64| problem.server().map_or(s, |server| s.min(server));
    let left = limit(problem.relaxed_total()) - solution.down.iter().sum::<f64>();
    let near = 1e-6 * problem.max_rate();
    let mut price: Option<f64> = None;
    for (i, (&d, &b)) in solution.down.iter().zip(problem.capacities()).enumerate() {
        let gain = gain(problem, solution, i);
        if d < near || d > b - near || d > problem.qoe().saturation() - near {
            assert!(gain > -1e-6 || d < near, "client {i} has too much: {problem:?} {solution:?}");
        } else if left > near {
            assert!(gain.abs() < 1e-5, "value 5 fails for client {i}: {problem:?} {solution:?}");
        } else {
            assert!(gain > -1e-5, "client {i} has too much: {problem:?} {solution:?}");
            let marginal = gain * problem.qoe().slope(d) * problem.max_rate();
            let common = *price.get_or_insert(marginal);
            assert!((marginal - common).abs() < 1e-4 * (1.0 + common), "{problem:?} {solution:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(400)))]

    #[test]
    fn every_downlink_has_one_of_the_five_values(
        problem in prop::sample::select(smooth()).prop_flat_map(|qoe| problem(qoe, 2..20))
    ) {
        if problem.content() == ContentBound::Relaxed && problem.rho() > 0.0 {
            assert_kkt(&problem, &structured(&problem));
        }
    }
}

/// Tables have kinks, where there is no derivative.
fn smooth() -> Vec<Qoe> {
    concave().into_iter().filter(|qoe| !matches!(qoe, Qoe::Table(_))).collect()
}

/// Value 5 of the paper has a factor n/(n-1) that belongs to the sample deviation.
#[test]
fn value_5_has_no_factor_beside_the_population_deviation() {
    let content = ContentBound::Relaxed;
    let config = OptimiserConfig { rho: 0.5, content, ..OptimiserConfig::default() };
    let capacities = [2000.0, 4000.0, 90_000.0, 90_000.0, 90_000.0, 90_000.0, 90_000.0];
    let problem = Problem::new(&capacities, &config).expect("a problem");
    let solution = structured(&problem);
    let q = solution.down[6] / 30_000.0;
    assert!(q < 1.0, "no client reaches M: {solution:?}");
    let (mean, sigma) = (solution.score.performance, solution.score.deviation());
    assert!((q - (mean + 0.5 * sigma)).abs() < 1e-9, "{solution:?}");
    assert!((q - (mean + 0.5 * 7.0 / 6.0 * sigma)).abs() > 1e-3, "{solution:?}");
}
