//! The best that any algorithm could do: the recursion of appendix C.
//!
//! `V_h(r, b, e) = max over e' of Q(e, [d - b]+, e') + gamma V_{h-1}(r, b', e')` with `d` the time
//! that the chunk takes at rung e' and `b' = min([b - d]+ + D - o, cap)`, where the paper has
//! neither the pause `o` between chunks nor a cap.
//!
//! Without a discount this is MPC's own problem, and its search solves it (to [`TIE`] over the
//! whole horizon). With one, or beyond the longest horizon of that search, plans are extended chunk
//! by chunk. A larger buffer is never worth less, as it makes no stall longer and no later buffer
//! smaller: of two plans that end at the same rung, one with no more buffer and no more value can
//! be dropped, and the search stays exact. That takes longer by a factor of 100.
//!
//! [`TIE`]: airlane_abr::mpc::TIE

use std::sync::Arc;

use airlane_abr::mpc::{MAX_HORIZON, best_plan};
use airlane_abr::{History, MAX_RUNGS, PlayerState, TitleModel};

use super::{Ahead, ValueFunction, is_ahead};

/// V of the best plan.
#[derive(Clone, Debug)]
pub struct Optimal {
    setting: Arc<TitleModel>,
    horizon: usize,
    discount: f64,
}

impl Optimal {
    /// The best mean over `horizon` chunks of `setting`, without a discount.
    pub fn new(setting: Arc<TitleModel>, horizon: usize) -> Self {
        Self { setting, horizon, discount: 1.0 }
    }

    /// The same with each chunk counting `discount` times the one before it: V is the mean weighed
    /// by that, still a QoE per chunk. `None` unless `0 < discount <= 1`.
    pub fn discounted(self, discount: f64) -> Option<Self> {
        (discount > 0.0 && discount <= 1.0).then_some(Self { discount, ..self })
    }
}

/// State of a plan: the buffer at the next request, and the sum so far.
#[derive(Clone, Copy)]
struct Plan {
    buffer_s: f64,
    sum: f64,
}

impl ValueFunction for Optimal {
    fn value(&self, at: Ahead, rate_bps: f64) -> Option<f64> {
        let s = &self.setting;
        is_ahead(s.chunks(), s.rungs(), at, rate_bps).then_some(())?;
        let chunks = self.horizon.min(s.chunks() - at.next_chunk);
        if chunks == 0 {
            return None;
        }
        if self.discount < 1.0 || chunks > MAX_HORIZON {
            return Some(self.search(at, rate_bps, chunks));
        }
        let state = PlayerState {
            next_chunk: at.next_chunk,
            buffer_s: at.buffer_s,
            last_rung: Some(at.last_rung),
            history: History::default(),
        };
        Some(best_plan(s, &state, rate_bps, chunks).value / chunks as f64)
    }
}

impl Optimal {
    fn search(&self, at: Ahead, rate_bps: f64, chunks: usize) -> f64 {
        let mut ends: [Vec<Plan>; MAX_RUNGS] = Default::default();
        ends[at.last_rung].push(Plan { buffer_s: at.buffer_s, sum: 0.0 });
        let (mut weight, mut weights) = (1.0, 0.0);
        for chunk in at.next_chunk..at.next_chunk + chunks {
            ends = self.extend(&ends, chunk, rate_bps, weight);
            weights += weight;
            weight *= self.discount;
        }
        ends.iter().flatten().map(|p| p.sum).fold(f64::NEG_INFINITY, f64::max) / weights
    }

    /// All plans that may still become the best, one chunk longer, by the rung of that chunk.
    fn extend(
        &self,
        before: &[Vec<Plan>; MAX_RUNGS],
        chunk: usize,
        rate_bps: f64,
        weight: f64,
    ) -> [Vec<Plan>; MAX_RUNGS] {
        let s = &self.setting;
        let player = s.player();
        let (overhead, cap) =
            (player.chunk_overhead.as_secs_f64(), player.buffer_cap.as_secs_f64());
        let mut after: [Vec<Plan>; MAX_RUNGS] = Default::default();
        for (rung, plans) in after[..s.rungs()].iter_mut().enumerate() {
            let seconds = s.bits(chunk)[rung] / rate_bps;
            for (previous, old) in before[..s.rungs()].iter().enumerate() {
                plans.extend(old.iter().map(|p| {
                    let stall = (seconds - p.buffer_s).max(0.0);
                    let arrived = (p.buffer_s - seconds).max(0.0) + s.chunk_s();
                    Plan {
                        // As the simulated player counts it.
                        buffer_s: arrived - overhead.max(arrived - cap),
                        sum: p.sum + weight * s.chunk_qoe(chunk, rung, stall, Some(previous)),
                    }
                }));
            }
            keep_undominated(plans);
        }
        after
    }
}

/// Leaves the plans that no other matches in both buffer and sum.
fn keep_undominated(plans: &mut Vec<Plan>) {
    plans.sort_by(|a, b| b.buffer_s.total_cmp(&a.buffer_s).then(b.sum.total_cmp(&a.sum)));
    let mut best = f64::NEG_INFINITY;
    plans.retain(|p| {
        let better = p.sum > best;
        best = best.max(p.sum);
        better
    });
}
