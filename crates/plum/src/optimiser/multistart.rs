//! QoE that is not concave: many starts, each improved.

use airlane_base::Seed;
use rand::RngExt;

use super::config::ContentBound;
use super::levels::{Levels, Part};
use super::problem::Problem;
use super::search;
use super::slsqp::{Slsqp, Unit};
use super::solution::{Optimality, Solution};
use super::solver::{SolveError, Solver};
use super::structured::Structured;

/// Sums of uplinks at which each pattern is tried before the best is refined.
const TOTALS: usize = 24;

/// Largest number of patterns of blocks.
const MAX_PATTERNS: usize = 400;

/// Parts of three blocks of clients, by rising capacity. Where QoE is convex it pays to fill some clients and
/// to leave others alone.
const ORDERS: &[[Part; 3]] = &[
    [Part::Level, Part::Free, Part::Full],
    [Part::Level, Part::Full, Part::Free],
    [Part::Free, Part::Level, Part::Full],
    [Part::Full, Part::Level, Part::Free],
    [Part::Free, Part::Full, Part::Level],
    [Part::Full, Part::Free, Part::Level],
];

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
        for pattern in self.patterns(n, Part::Free) {
            starts.push(best_of_pattern(problem, &mut levels, &pattern));
        }
        if problem.server().is_some() {
            for pattern in self.patterns(n, Part::Nothing) {
                starts.push(best_of_pattern(problem, &mut levels, &pattern));
            }
        }
        starts.retain(|s| s.is_feasible(problem));
        starts
    }

    /// Parts of the slack for the clients by rising capacity: blocks in every order, or a sample of them, and
    /// random parts. `none` is the part of those that get none.
    fn patterns(&self, n: usize, none: Part) -> Vec<Vec<Part>> {
        let mut rng = self.seed.split("patterns").rng();
        let mut blocks: Vec<(usize, usize, [Part; 3])> = (0..=n)
            .flat_map(|a| (a..=n).map(move |b| (a, b)))
            .flat_map(|(a, b)| ORDERS.iter().map(move |&order| (a, b, order)))
            .collect();
        // Those that were drawn are moved to the front.
        for place in 0..blocks.len().min(MAX_PATTERNS) {
            let drawn = rng.random_range(place..blocks.len());
            blocks.swap(place, drawn);
        }
        let of_blocks = blocks.iter().take(MAX_PATTERNS).map(|&(a, b, order)| -> Vec<Part> {
            (0..n).map(|i| order[usize::from(i >= a) + usize::from(i >= b)]).collect()
        });
        let mut patterns: Vec<Vec<Part>> = of_blocks.collect();
        patterns.push(vec![Part::Level; n]);
        patterns.sort_unstable();
        patterns.dedup();
        for _ in 0..self.random_starts {
            let shares: [f64; 2] = [rng.random(), rng.random()];
            let part = |draws: [f64; 2]| match draws {
                [first, _] if first < shares[0] => Part::Free,
                [_, second] if second < shares[1] => Part::Level,
                _ => Part::Full,
            };
            patterns.push((0..n).map(|_| part([rng.random(), rng.random()])).collect());
        }
        for part in patterns.iter_mut().flatten().filter(|part| **part == Part::Free) {
            *part = none;
        }
        patterns
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

/// Best solution in which the clients, by rising capacity, get these parts of the slack.
fn best_of_pattern(problem: &Problem, levels: &mut Levels<'_>, pattern: &[Part]) -> Solution {
    let end = levels.max_total();
    let mut value = |total: f64| levels.evaluate_parts(total, |i| pattern[i]).utility;
    let total = match problem.content() {
        ContentBound::Relaxed => 0.0,
        ContentBound::Written => {
            let places = (0..=TOTALS).map(|i| end * i as f64 / TOTALS as f64);
            let best = places.map(|t| (t, value(t))).max_by(|a, b| a.1.total_cmp(&b.1));
            let around = best.map_or(0.0, |b| b.0);
            let width = end / TOTALS as f64;
            let range = ((around - width).max(0.0), (around + width).min(end));
            search::maximum(range, 1e-9, value).0
        }
    };
    let point = levels.evaluate_parts(total, |i| pattern[i]);
    if point.utility == f64::NEG_INFINITY {
        return Solution::from_down(problem, vec![0.0; pattern.len()], Optimality::Local);
    }
    Solution::from_down(problem, levels.down(point), Optimality::Local)
}
