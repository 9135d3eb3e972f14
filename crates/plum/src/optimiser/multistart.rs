//! QoE that is not concave: many starts, each improved.

use airlane_base::{Rng, Seed};
use rand::RngExt;

use super::config::ContentBound;
use super::levels::Levels;
use super::problem::Problem;
use super::search;
use super::slsqp::{Slsqp, Unit};
use super::solution::{Optimality, Solution};
use super::solver::{SolveError, Solver};
use super::structured::Structured;

/// Sums of uplinks at which each pattern is tried before the best is refined.
const TOTALS: usize = 24;

/// Largest number of patterns of one kind.
const MAX_PATTERNS: usize = 40;

/// Solver for QoE that is not concave, such as sqrcv or tables. It starts from allocations where some
/// clients give their downlink up so that the others have content, from the solution for linear QoE, and
/// from random ones. SLSQP improves the best of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multistart {
    /// Number of random starts.
    pub random_starts: usize,
    /// Number of best starts that SLSQP improves.
    pub improved: usize,
    /// Largest number of participants for which SLSQP is used.
    pub max_improved_participants: usize,
    /// Seed of the random starts.
    pub seed: Seed,
}

impl Default for Multistart {
    fn default() -> Self {
        Self { random_starts: 16, improved: 8, max_improved_participants: 64, seed: Seed(1) }
    }
}

impl Solver for Multistart {
    fn name(&self) -> &'static str {
        "multistart"
    }

    fn solve(
        &self,
        problem: &Problem,
        previous: Option<&Solution>,
    ) -> Result<Solution, SolveError> {
        let mut starts = self.starts(problem);
        let n = problem.participants();
        let previous = previous.filter(|s| s.down.len() == n);
        let again = previous
            .map(|s| Solution::from_down(problem, s.down.clone(), Optimality::Local))
            .map(|s| s.repaired(problem, f64::INFINITY));
        starts.extend(again.filter(|s| s.is_feasible(problem)));
        starts.sort_by(|a, b| b.score.utility.total_cmp(&a.score.utility));
        let improved = self.improve(problem, &starts);
        let all = starts.into_iter().take(1).chain(improved);
        let best = all.max_by(|a, b| a.score.utility.total_cmp(&b.score.utility));
        best.ok_or(SolveError::NoSolution { solver: self.name() })
    }
}

impl Multistart {
    /// Feasible solutions to start from.
    fn starts(&self, problem: &Problem) -> Vec<Solution> {
        let n = problem.participants();
        let mut levels = Levels::new(problem, problem.rho());
        let mut starts = Vec::new();
        let linear = Structured::default().solve(&problem.with_linear_qoe(), None);
        starts.extend(linear.map(|s| Solution::from_down(problem, s.down, Optimality::Local)));
        // With a step above 1 for large calls: k clients of the lowest or of the highest capacities.
        let step = n.div_ceil(MAX_PATTERNS).max(1);
        for k in (0..n).step_by(step) {
            starts.push(best_of_pattern(problem, &mut levels, |i| i >= k));
            if k > 0 {
                starts.push(best_of_pattern(problem, &mut levels, |i| i < n - k));
            }
        }
        let mut rng = self.seed.split("patterns").rng();
        for _ in 0..self.random_starts {
            let pays = random_pattern(&mut rng, n);
            starts.push(best_of_pattern(problem, &mut levels, |i| pays[i]));
        }
        starts.retain(|s| s.is_feasible(problem));
        starts
    }

    /// The best starts after SLSQP.
    fn improve(&self, problem: &Problem, starts: &[Solution]) -> Vec<Solution> {
        if problem.participants() > self.max_improved_participants {
            return Vec::new();
        }
        let slsqp = Slsqp { tolerance: 1e-10, unit: Unit::MaxRate, ..Slsqp::default() };
        let mut distinct: Vec<&Solution> = Vec::new();
        for start in starts {
            let is_near = |other: &&Solution| {
                let apart = start.down.iter().zip(&other.down).map(|(a, b)| (a - b).abs());
                apart.fold(0.0, f64::max) < 1e-3 * problem.max_rate()
            };
            if distinct.len() < self.improved && !distinct.iter().any(is_near) {
                distinct.push(start);
            }
        }
        let improved = distinct.iter().filter_map(|s| slsqp.solve_from(problem, &s.down).ok());
        improved.filter(|s| s.is_feasible(problem)).collect()
    }
}

/// Best solution in which the clients for which `pays` is false, by rising capacity, take nothing from
/// their uplinks.
fn best_of_pattern(
    problem: &Problem,
    levels: &mut Levels<'_>,
    pays: impl Fn(usize) -> bool + Copy,
) -> Solution {
    let end = levels.max_total();
    let mut value = |total: f64| levels.evaluate(total, pays).utility;
    let total = match problem.content() {
        ContentBound::Relaxed => 0.0,
        ContentBound::Written => {
            let places = (0..=TOTALS).map(|i| end * i as f64 / TOTALS as f64);
            let best = places.map(|t| (t, value(t))).max_by(|a, b| a.1.total_cmp(&b.1));
            let around = best.map_or(0.0, |b| b.0);
            let width = end / TOTALS as f64;
            search::maximum(((around - width).max(0.0), (around + width).min(end)), 1e-9, value).0
        }
    };
    let point = levels.evaluate(total, pays);
    Solution::from_down(problem, levels.down(point), Optimality::Local)
}

fn random_pattern(rng: &mut Rng, n: usize) -> Vec<bool> {
    let share: f64 = rng.random();
    (0..n).map(|_| rng.random::<f64>() < share).collect()
}
