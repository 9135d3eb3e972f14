//! Order and levels chosen together: what the decomposition of Algorithm 1 leaves on the table.
//!
//! The rate step of Algorithm 1 knows no eps: it spends all of C_agg, although bits that are often
//! late push those behind them out, and it gives no less to a tile at the end of the order than to
//! one at its head. Two steps mend this:
//!
//! 1. **Starts.** For budgets of C_agg and of quantiles of the throughput below it, the rate step is
//!    repeated with weights `P * (1 - eps)`, the probability that a tile is seen and is in time under
//!    the order that its worth per bit gave it the round before.
//! 2. **Search** from the best of them: a tile goes a level up or down, or to another place, or two
//!    tiles swap a level; what lowers the loss stays. It ends where nothing does, or at a number of
//!    plans.

use crate::ows::{Ows, Solution};
use crate::problem::{LossKind, Plan, Problem};
use crate::rate::Workspace;

/// The joint optimiser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joint {
    /// Budgets that it starts from beside C_agg.
    pub budgets: usize,
    /// Rate steps per budget.
    pub rounds: usize,
    /// Plans that the search looks at, at most: it bounds the time.
    pub plans: usize,
}

impl Default for Joint {
    fn default() -> Self {
        Self { budgets: 8, rounds: 3, plans: 4_000 }
    }
}

impl Joint {
    /// Solves one GoP for [`LossKind::Corrected`]. Never worse than [`Ows`] with that loss.
    pub fn solve(&self, problem: &Problem<'_>, workspace: &mut Workspace) -> Solution {
        let mut best = Ows::default().solve(problem, workspace);
        if !best.fits {
            return best;
        }
        for budget in self.budgets(problem) {
            let mut weights = problem.probabilities().to_vec();
            for _ in 0..self.rounds.max(1) {
                let step = workspace.rate_step(problem.curves(), &weights, budget);
                if !step.fits {
                    break;
                }
                let order = problem.worth_order(&step.levels);
                let plan = Plan { levels: step.levels, order };
                let misses = problem.misses(&plan);
                let next = Solution::new(problem, plan, LossKind::Corrected);
                for ((weight, p), eps) in
                    weights.iter_mut().zip(problem.probabilities()).zip(misses)
                {
                    *weight = p * (1.0 - eps);
                }
                if next.loss < best.loss {
                    best = next;
                }
            }
        }
        Search { problem, plan: best.plan, loss: best.loss, left: self.plans }.run()
    }

    /// C_agg, and quantiles of the throughput below it.
    fn budgets(&self, problem: &Problem<'_>) -> Vec<u64> {
        let most = problem.capacity_bits();
        let samples = problem.throughput().samples_bps();
        let below = &samples[..samples.partition_point(|&bps| bps < most as f64)];
        let at = |n: usize| below.get(n * below.len() / self.budgets.max(1)).copied();
        let mut budgets: Vec<u64> =
            (0..self.budgets).filter_map(at).map(|bps| bps as u64).collect();
        budgets.push(most);
        budgets.dedup();
        budgets
    }
}

/// A search around a plan.
struct Search<'a> {
    problem: &'a Problem<'a>,
    plan: Plan,
    loss: f64,
    /// Plans that it may still look at.
    left: usize,
}

impl Search<'_> {
    fn run(mut self) -> Solution {
        let mut is_better = true;
        while is_better && self.left > 0 {
            is_better = self.levels() | self.places() | self.exchanges();
        }
        Solution::new(self.problem, self.plan, LossKind::Corrected)
    }

    /// Keeps a plan if it has less loss.
    fn offer(&mut self, plan: Plan) -> bool {
        if self.left == 0 || self.problem.total_bits(&plan) > self.problem.capacity_bits() {
            return false;
        }
        self.left -= 1;
        let loss = self.problem.loss(&plan, LossKind::Corrected);
        let is_better = loss < self.loss * (1.0 - 1e-12);
        if is_better {
            (self.plan, self.loss) = (plan, loss);
        }
        is_better
    }

    /// A plan with other levels, in its own order and in that of worth.
    fn offer_levels(&mut self, levels: Vec<usize>) -> bool {
        let order = self.problem.worth_order(&levels);
        let kept = Plan { levels: levels.clone(), order: self.plan.order.clone() };
        self.offer(kept) | self.offer(Plan { levels, order })
    }

    fn levels(&mut self) -> bool {
        let mut is_better = false;
        for tile in 0..self.plan.levels.len() {
            for step in [1, -1] {
                while let Some(levels) = self.stepped(&[(tile, step)])
                    && self.offer_levels(levels)
                {
                    is_better = true;
                }
            }
        }
        is_better
    }

    /// Each tile to each other place; far from its own only where tiles are few.
    fn places(&mut self) -> bool {
        let tiles = self.plan.order.len();
        let mut is_better = false;
        for from in 0..tiles {
            for to in 0..tiles {
                if from == to || self.left == 0 {
                    continue;
                }
                let mut order = self.plan.order.clone();
                let tile = order.remove(from);
                order.insert(to, tile);
                let levels = self.plan.levels.clone();
                is_better |= self.offer(Plan { levels, order });
            }
        }
        is_better
    }

    /// One tile a level up, another down.
    fn exchanges(&mut self) -> bool {
        let tiles = self.plan.levels.len();
        let mut is_better = false;
        for up in 0..tiles {
            for down in (0..tiles).filter(|&down| down != up) {
                if self.left == 0 {
                    return is_better;
                }
                if let Some(levels) = self.stepped(&[(up, 1), (down, -1)]) {
                    is_better |= self.offer_levels(levels);
                }
            }
        }
        is_better
    }

    /// The levels after steps of tiles, if there are such levels.
    fn stepped(&self, steps: &[(usize, isize)]) -> Option<Vec<usize>> {
        let mut levels = self.plan.levels.clone();
        for &(tile, step) in steps {
            let level = levels[tile].checked_add_signed(step)?;
            if level >= self.problem.curves()[tile].levels().len() {
                return None;
            }
            levels[tile] = level;
        }
        Some(levels)
    }
}
