//! The fast solver for concave QoE: a search over the sum of uplinks, with two levels inside.

use super::config::ContentBound;
use super::levels::Levels;
use super::problem::Problem;
use super::search;
use super::solution::{Optimality, Solution};
use super::solver::{SolveError, Solver};

/// Weight of fairness up to which performance breaks ties: with 1 every equal allocation, 0 included,
/// is an optimum, and the largest of them is wanted.
const MAX_RHO: f64 = 1.0 - 1e-6;

/// Solver by the structure of the optimum. It sorts once and then takes O(n) per step of a golden
/// section search. For QoE that is not concave it is a heuristic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Structured {
    /// Width of the last bracket over the largest sum of uplinks.
    pub precision: f64,
}

impl Default for Structured {
    fn default() -> Self {
        Self { precision: 1e-13 }
    }
}

impl Solver for Structured {
    fn name(&self) -> &'static str {
        "structured"
    }

    fn solve(
        &self,
        problem: &Problem,
        previous: Option<&Solution>,
    ) -> Result<Solution, SolveError> {
        let mut levels = Levels::new(problem, problem.rho().min(MAX_RHO));
        let previous = previous.map(|s| s.uplink_total);
        let total = self.best_total(problem, &mut levels, previous);
        Ok(solution(problem, &mut levels, total))
    }
}

impl Structured {
    /// Sum of uplinks with the largest utility.
    fn best_total(&self, problem: &Problem, levels: &mut Levels<'_>, previous: Option<f64>) -> f64 {
        if problem.content() == ContentBound::Relaxed {
            return 0.0;
        }
        let end = levels.max_total();
        let mut value = |total: f64| levels.evaluate(total).utility;
        let range = match previous.filter(|t| t.is_finite()) {
            Some(around) => search::bracket(around, 1e-4 * end, end, &mut value),
            None => (0.0, end),
        };
        search::maximum(range, self.precision, value).0
    }

    /// The same solution with the sum of uplinks refined by the sign of the derivative.
    pub(super) fn solve_refined(&self, problem: &Problem, previous: Option<f64>) -> Solution {
        let mut levels = Levels::new(problem, problem.rho().min(MAX_RHO));
        let mut total = self.best_total(problem, &mut levels, previous);
        if problem.content() == ContentBound::Written {
            total = refined(&mut levels, total);
        }
        solution(problem, &mut levels, total)
    }
}

fn solution(problem: &Problem, levels: &mut Levels<'_>, total: f64) -> Solution {
    let point = levels.evaluate(total);
    let is_concave = problem.qoe().is_concave();
    let optimality = if is_concave { Optimality::Global } else { Optimality::Local };
    let mut solution = Solution::from_down(problem, levels.down(point), optimality);
    if problem.content() == ContentBound::Written {
        solution.uplink_total = total;
    }
    solution
}

/// Bisects the derivative near a maximum that values alone place to half of the digits.
fn refined(levels: &mut Levels<'_>, total: f64) -> f64 {
    let end = levels.max_total();
    let (mut low, mut high) = ((total - 1e-5 * end).max(0.0), (total + 1e-5 * end).min(end));
    let brackets =
        levels.slope(low).is_some_and(|s| s > 0.0) && levels.slope(high).is_some_and(|s| s < 0.0);
    if !brackets {
        return total;
    }
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        match levels.slope(middle) {
            Some(slope) if slope > 0.0 => low = middle,
            Some(_) => high = middle,
            None => return total,
        }
    }
    let at = |levels: &mut Levels<'_>, t: f64| levels.evaluate(t).utility;
    let before = at(levels, total);
    let best = if at(levels, low) >= at(levels, high) { low } else { high };
    if at(levels, best) >= before - 1e-13 { best } else { total }
}
