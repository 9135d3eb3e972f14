//! The optimum of P1 over all orders and all levels together, for few tiles.

use crate::curve::{CurveError, TileCurve};
use crate::ows::Solution;
use crate::problem::{LossKind, Plan, Problem};
use crate::rate::Workspace;

/// Tiles of a problem that [`optimum`] solves at most.
pub const MAX_OPTIMUM_TILES: usize = 12;

/// A plan of some of the tiles, sent before all others.
#[derive(Clone, Debug)]
struct Partial {
    bits: u64,
    loss: f64,
    /// Tile and level in the order of sending.
    sent: Vec<(usize, usize)>,
}

/// The plan with the least loss of all that keep to C_agg; `None` if there is none, with more than
/// [`MAX_OPTIMUM_TILES`] tiles, or if a level is worse than its tile missing (with
/// [`TileCurve::with_skip`] none is).
///
/// A tile's loss depends on the tiles before it through their bits alone, and never falls with them.
/// So of the plans that begin with the same set of tiles, one with more bits and more loss than
/// another leads to nothing better. What stays is extended by one tile and level at a time, over all
/// sets of tiles: exact, and exponential in the number of tiles.
pub fn optimum(problem: &Problem<'_>, kind: LossKind) -> Option<Solution> {
    let tiles = problem.curves().len();
    if tiles > MAX_OPTIMUM_TILES || !problem.is_late_never_better() {
        return None;
    }
    let mut fronts: Vec<Vec<Partial>> = vec![Vec::new(); 1 << tiles];
    fronts[0].push(Partial { bits: 0, loss: 0.0, sent: Vec::new() });
    // A set has a smaller number than every set that it is a part of.
    for set in 0..fronts.len() {
        let front = pareto(std::mem::take(&mut fronts[set]));
        if set + 1 == fronts.len() {
            return front.into_iter().min_by(|a, b| a.loss.total_cmp(&b.loss)).map(|best| {
                let mut plan = Plan { levels: vec![0; tiles], order: Vec::new() };
                for (tile, level) in best.sent {
                    plan.levels[tile] = level;
                    plan.order.push(tile);
                }
                Solution::new(problem, plan, kind)
            });
        }
        for partial in &front {
            for tile in (0..tiles).filter(|tile| set & 1 << tile == 0) {
                fronts[set | 1 << tile].extend(extended(problem, kind, partial, tile));
            }
        }
    }
    None
}

/// A partial plan with a tile more, at each level that keeps to C_agg.
fn extended(
    problem: &Problem<'_>,
    kind: LossKind,
    partial: &Partial,
    tile: usize,
) -> impl Iterator<Item = Partial> {
    (0..problem.curves()[tile].levels().len()).filter_map(move |level| {
        let bits = partial.bits + problem.bits(tile, level);
        let loss = problem.tile_loss(tile, level, problem.miss(tile, bits), kind);
        (bits <= problem.capacity_bits()).then(|| {
            let mut sent = partial.sent.clone();
            sent.push((tile, level));
            Partial { bits, loss: partial.loss + loss, sent }
        })
    })
}

/// Those than which no other has neither more bits nor more loss.
fn pareto(mut all: Vec<Partial>) -> Vec<Partial> {
    all.sort_by(|a, b| a.bits.cmp(&b.bits).then(a.loss.total_cmp(&b.loss)));
    let mut least = f64::INFINITY;
    all.retain(|partial| {
        let is_better = partial.loss < least;
        least = least.min(partial.loss);
        is_better
    });
    all
}

/// A bound for problems of any size: no plan has less [`LossKind::Corrected`] loss.
///
/// It is the mean, over the samples of the throughput, of what one could have who knew the sample
/// beforehand: the relaxed rate step with the bits that arrive by the latest deadline, C_agg at most,
/// where tiles may be left out. So it is also the row of an oracle, and no plan need reach it.
///
/// # Errors
/// If a tile has as many levels as a curve may have, so that leaving it out is one too many.
pub fn oracle_bound(problem: &Problem<'_>, workspace: &mut Workspace) -> Result<f64, CurveError> {
    let curves = problem.curves().iter();
    let curves: Vec<TileCurve> = curves
        .map(|curve| TileCurve::with_skip(curve.levels(), curve.missing()))
        .collect::<Result<_, _>>()?;
    let samples = problem.throughput().samples_bps();
    let losses = samples.iter().map(|bps| {
        let bits = ((bps * problem.latest_deadline_s()) as u64).min(problem.capacity_bits());
        workspace.rate_step(&curves, problem.probabilities(), bits).bound
    });
    Ok(losses.sum::<f64>() / samples.len() as f64)
}
