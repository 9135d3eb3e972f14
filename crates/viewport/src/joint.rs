//! Order and levels chosen together: what the decomposition of Algorithm 1 leaves on the table.
//!
//! The rate step of Algorithm 1 knows no eps: it spends all of C_agg, although bits that are often
//! late push those behind them out, and it gives no less to a tile at the end of the order than to
//! one at its head. Two steps mend this:
//!
//! 1. **Prices**: bits that are sent early cost more than late ones, and each tile chooses its level
//!    and how early it is sent by them. This also bounds the loss of every plan from below.
//! 2. **Search** around the best plan that this met: a tile goes a level up or down, or to another
//!    place, or one goes up and another down; what lowers the loss stays. It ends where nothing does,
//!    or at a number of plans.

use crate::ows::{Ows, Solution};
use crate::prices::priced;
use crate::problem::{LossKind, Plan, Problem};
use crate::rate::Workspace;

/// The joint optimiser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joint {
    /// Steps of the prices.
    pub steps: usize,
    /// Plans that the search looks at, at most: it bounds the time.
    pub plans: usize,
}

impl Default for Joint {
    fn default() -> Self {
        Self { steps: 200, plans: 1_000 }
    }
}

impl Joint {
    /// Solves one GoP for [`LossKind::Corrected`]. Never worse than [`Ows`] with that loss.
    pub fn solve(&self, problem: &Problem<'_>, workspace: &mut Workspace) -> Solution {
        self.solve_with_bound(problem, workspace).0
    }

    /// The same, and a bound: no plan within C_agg has less [`LossKind::Corrected`] loss. It is
    /// negative infinity without steps, if the tiles do not fit, or if a level is worse than its tile
    /// missing (with [`TileCurve::with_skip`](crate::TileCurve::with_skip) none is).
    pub fn solve_with_bound(
        &self,
        problem: &Problem<'_>,
        workspace: &mut Workspace,
    ) -> (Solution, f64) {
        let start = Ows::default().solve(problem, workspace);
        if !start.fits {
            return (start, f64::NEG_INFINITY);
        }
        let found = priced(problem, workspace, (start.plan, start.loss), self.steps);
        let (plan, loss) = found.best;
        let search = Search { problem, plan, loss, left: self.plans };
        (search.run(), found.bound)
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

    /// Each tile to each other place, near ones first.
    fn places(&mut self) -> bool {
        let tiles = self.plan.order.len();
        let mut is_better = false;
        for distance in 1..tiles {
            for early in 0..tiles - distance {
                for (from, to) in [(early, early + distance), (early + distance, early)] {
                    if self.left == 0 {
                        return is_better;
                    }
                    let mut order = self.plan.order.clone();
                    let tile = order.remove(from);
                    order.insert(to, tile);
                    let levels = self.plan.levels.clone();
                    is_better |= self.offer(Plan { levels, order });
                }
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
