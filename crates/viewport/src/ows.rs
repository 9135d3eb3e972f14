//! Observation Weighted Sorting (section 4.2, Algorithm 1), and what it is compared with (6.3): FIX, which does
//! not sort, and an order by P(t) alone.

use crate::problem::{LossKind, Plan, Problem, ascending};
use crate::rate::{Allocation, Workspace};

/// Algorithm 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ows {
    /// The loss that orders tiles and by which the best plan is kept.
    pub kind: LossKind,
    /// M, how often tiles are sorted; at least 1 is done. The text gives no number.
    pub iterations: usize,
}

impl Default for Ows {
    fn default() -> Self {
        Self { kind: LossKind::Corrected, iterations: 4 }
    }
}

/// A plan and what it promises.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// Levels and order.
    pub plan: Plan,
    /// Its loss of the kind that was minimised.
    pub loss: f64,
    /// Its [`LossKind::Corrected`] loss, whatever was minimised.
    pub expected_mse: f64,
    /// Its size in bits.
    pub bits: u64,
    /// True if the plan keeps to C_agg. If not, all tiles have their smallest level, and the
    /// last ones are likely to be late.
    pub fits: bool,
}

impl Solution {
    pub(crate) fn new(problem: &Problem<'_>, plan: Plan, kind: LossKind) -> Self {
        let bits = problem.total_bits(&plan);
        Self {
            loss: problem.loss(&plan, kind),
            expected_mse: problem.loss(&plan, LossKind::Corrected),
            bits,
            fits: bits <= problem.capacity_bits(),
            plan,
        }
    }
}

impl Ows {
    /// Solves one GoP.
    ///
    /// The rate step sees no order, so every iteration would give the same levels: it is done once.
    /// An iteration takes eps(t) from the order before it, the last one that was made and not the
    /// best, and sorts by the loss that follows. Of the M orders the one with the least loss of the
    /// kind is kept, the earliest of equals. [`LossKind::Corrected`] orders by what does not depend
    /// on eps, so one iteration is all that it needs; it also keeps the default placement where that
    /// promises less loss, and so promises no more than FIX.
    pub fn solve(&self, problem: &Problem<'_>, workspace: &mut Workspace) -> Solution {
        let Allocation { levels, .. } = rates(problem, workspace);
        let default = placement(problem);
        if self.kind == LossKind::Corrected {
            let order = problem.worth_order(&levels);
            let sorted = Solution::new(problem, Plan { levels, order }, self.kind);
            let plan = Plan { levels: sorted.plan.levels.clone(), order: default };
            let fixed = Solution::new(problem, plan, self.kind);
            return if fixed.loss < sorted.loss { fixed } else { sorted };
        }
        let mut plan = Plan { levels, order: default };
        let mut best: Option<Solution> = None;
        for _ in 0..self.iterations.max(1) {
            plan.order = self.sorted(problem, &plan);
            let next = Solution::new(problem, plan.clone(), self.kind);
            if best.as_ref().is_none_or(|best| next.loss < best.loss) {
                best = Some(next);
            }
        }
        best.expect("at least one iteration")
    }

    /// The tiles by their loss under the order of a plan.
    fn sorted(&self, problem: &Problem<'_>, plan: &Plan) -> Vec<usize> {
        let misses = problem.misses(plan);
        let keys: Vec<f64> = misses
            .iter()
            .zip(&plan.levels)
            .enumerate()
            .map(|(tile, (&eps, &level))| {
                let loss = problem.tile_loss(tile, level, eps, self.kind);
                if self.kind == LossKind::Descending { -loss } else { loss }
            })
            .collect();
        ascending(&keys)
    }
}

/// FIX: the levels of OWS, in the default placement.
pub fn fix(problem: &Problem<'_>, workspace: &mut Workspace) -> Solution {
    let Allocation { levels, .. } = rates(problem, workspace);
    let plan = Plan { levels, order: placement(problem) };
    Solution::new(problem, plan, LossKind::Corrected)
}

/// The levels of OWS, and the tiles by how likely they are seen alone (6.3), the likeliest first.
pub fn by_likelihood(problem: &Problem<'_>, workspace: &mut Workspace) -> Solution {
    let Allocation { levels, .. } = rates(problem, workspace);
    let keys: Vec<f64> = problem.probabilities().iter().map(|p| -p).collect();
    let plan = Plan { levels, order: ascending(&keys) };
    Solution::new(problem, plan, LossKind::Corrected)
}

/// Algorithm 1, line 5.
fn rates(problem: &Problem<'_>, workspace: &mut Workspace) -> Allocation {
    workspace.rate_step(problem.curves(), problem.probabilities(), problem.capacity_bits())
}

/// Algorithm 1, line 3: the tiles as they lie in the frame.
fn placement(problem: &Problem<'_>) -> Vec<usize> {
    (0..problem.curves().len()).collect()
}
