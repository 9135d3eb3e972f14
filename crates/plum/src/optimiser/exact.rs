//! Linear QoE with a certificate.

use super::certificate::Bounds;
use super::problem::Problem;
use super::solution::{Optimality, Solution};
use super::solver::{SolveError, Solver};
use super::structured::Structured;
use super::utility::moments;

/// Gap that [`Exact`] aims at.
pub const MAX_GAP: f64 = 1e-9;

/// Steps of the bisection for the weight of fairness at which QoE becomes equal.
const STEPS: usize = 50;

/// Deviation of QoE below which rounding decides the direction of a solution.
const MIN_DEVIATION: f64 = 1e-7;

/// Solver for linear QoE that computes an upper bound of the utility beside the solution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exact;

impl Solver for Exact {
    fn name(&self) -> &'static str {
        "exact"
    }

    fn solve(
        &self,
        problem: &Problem,
        previous: Option<&Solution>,
    ) -> Result<Solution, SolveError> {
        if !problem.qoe().is_linear() {
            return Err(SolveError::NotLinear);
        }
        let total = previous.map(|s| s.uplink_total);
        let solution = Structured::default().solve_refined(problem, total);
        let mut bounds = Bounds::new(problem);
        let enough = solution.score.utility + MAX_GAP / 10.0;
        let mut bound = upper_bound(problem, &mut bounds, &solution, problem.rho(), enough);
        if bound > enough {
            bound = bound.min(bound_of_equal(problem, &mut bounds, enough));
        }
        // Equal QoE is as fair as can be, and performance is 1 at most.
        bound = bound.min(1.0);
        let gap = (bound - solution.score.utility).max(0.0);
        Ok(Solution { optimality: Optimality::Certified { gap }, ..solution })
    }
}

/// Bound by the direction in which the QoE of a solution deviates from its mean. The solution may be that
/// for another weight of fairness, `rho`, which is not above that of the problem.
/// Below `enough` the bound is not improved.
fn upper_bound(
    problem: &Problem,
    bounds: &mut Bounds,
    solution: &Solution,
    rho: f64,
    enough: f64,
) -> f64 {
    let qoe: Vec<f64> = solution.down.iter().map(|&d| problem.qoe().value(d)).collect();
    let performance = (1.0 - problem.rho()) / qoe.len() as f64;
    // With a smaller weight of fairness z is shorter than 1, so that the weights stay in proportion.
    let fairness = if rho < problem.rho() {
        performance * 2.0 * rho / (1.0 - rho)
    } else {
        2.0 * problem.rho() / qoe.len() as f64
    };
    let weights: Vec<f64> = direction(&qoe).iter().map(|z| performance - fairness * z).collect();
    problem.rho() + bounds.linear(&weights, enough - problem.rho())
}

/// Values minus their mean, over their deviation; zeros if they are equal. The bound rests on a mean of 0
/// and a deviation of 1, which rounding spoils where values hardly differ: hence twice.
fn direction(values: &[f64]) -> Vec<f64> {
    let standardised = |values: &[f64]| -> Vec<f64> {
        let (mean, deviation) = moments(values);
        let of = |v: &f64| if deviation > 0.0 { (v - mean) / deviation } else { 0.0 };
        values.iter().map(of).collect()
    };
    standardised(&standardised(values))
}

/// Bound where the optimum has equal QoE: by the solutions for weights of fairness near the largest one with
/// which QoE still differs. There both are optimal, so the direction of that solution supports this one.
fn bound_of_equal(problem: &Problem, bounds: &mut Bounds, enough: f64) -> f64 {
    let (mut low, mut high) = (0.0, problem.rho());
    let mut bound = f64::INFINITY;
    let mut rho = 0.0;
    for _ in 0..STEPS {
        let solution = Structured::default().solve_refined(&problem.with_rho(rho), None);
        bound = bound.min(upper_bound(problem, bounds, &solution, rho, enough));
        if bound <= enough {
            break;
        }
        if solution.score.deviation() > MIN_DEVIATION {
            low = rho;
        } else {
            high = rho;
        }
        rho = (low + high) / 2.0;
    }
    bound
}
