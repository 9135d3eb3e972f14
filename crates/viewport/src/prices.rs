//! P1 with a price for bits by how early they are sent.
//!
//! A tile that is complete within the bits that `j` of the past samples bring is in time in those
//! samples and in all faster ones: it is of **class** `j`. So P1 is to give each tile a class and a
//! level, such that for each class the tiles up to it fit its limit:
//!
//! ```text
//! minimise    sum of P(t) * [q_j(t) * D(R(t)) + (1 - q_j(t)) * Dmiss(t)]
//! subject to  sum over tiles of class <= j of B(R(t)) <= limit_j    for every j
//! ```
//!
//! where `q_j` is the share of samples that reach `limit_j`, and the last limit is C_agg, within which
//! all tiles must fit. With a multiplier per constraint each tile chooses for itself: bits of class
//! `j` cost the sum of the multipliers from `j` on, so early bits cost more. For any multipliers what
//! the tiles choose, less what the limits are worth, bounds the loss of every plan from below; the
//! multipliers go up where a class overflows and down where it has room (subgradient steps by
//! Polyak's rule). What the tiles choose on the way are plans to start from.

use crate::problem::{LossKind, Plan, Problem};
use crate::rate::Workspace;

/// The classes of a problem.
#[derive(Clone, Debug)]
struct Classes {
    /// The bits within which tiles of a class are complete; rising, C_agg last.
    limits: Vec<u64>,
    /// The share of samples that are fast enough for each class; falling.
    in_time: Vec<f64>,
}

impl Classes {
    fn new(problem: &Problem<'_>) -> Self {
        let most = problem.capacity_bits();
        let deadline = problem.latest_deadline_s();
        let samples = problem.throughput().samples_bps();
        let mut limits: Vec<u64> =
            samples.iter().map(|bps| (bps * deadline) as u64).filter(|&bits| bits < most).collect();
        limits.push(most);
        limits.dedup();
        let throughput = problem.throughput();
        let in_time = limits.iter().map(|&bits| 1.0 - throughput.miss(bits, deadline)).collect();
        Self { limits, in_time }
    }
}

/// Choice of a tile: its deadline class, its level, and their cost.
#[derive(Clone, Copy, Debug)]
struct Choice {
    class: usize,
    level: usize,
    cost: f64,
}

/// Result of the price method: a bound, and the best plan.
#[derive(Clone, Debug)]
pub(crate) struct Priced {
    /// No plan within C_agg has less [`LossKind::Corrected`] loss. Negative infinity if that is not
    /// known.
    pub(crate) bound: f64,
    /// The best plan within C_agg that was met, and its loss.
    pub(crate) best: (Plan, f64),
}

/// Steps of multipliers from what each sample alone would pay, beginning with a known plan.
pub(crate) fn priced(
    problem: &Problem<'_>,
    workspace: &mut Workspace,
    known: (Plan, f64),
    steps: usize,
) -> Priced {
    let classes = Classes::new(problem);
    let mut multipliers = first_multipliers(problem, workspace, &classes);
    let mut found = Priced { bound: f64::NEG_INFINITY, best: known };
    let (mut pace, mut stalled) = (1.0, 0);
    for _ in 0..steps {
        let prices = prices(&multipliers);
        let choices: Vec<Choice> = (0..problem.curves().len())
            .map(|tile| choose(problem, &classes, &prices, tile))
            .collect();
        let worth: f64 =
            multipliers.iter().zip(&classes.limits).map(|(m, &limit)| m * limit as f64).sum();
        let bound = choices.iter().map(|choice| choice.cost).sum::<f64>() - worth;
        stalled = if bound > found.bound { 0 } else { stalled + 1 };
        found.bound = found.bound.max(bound);
        if stalled == 5 {
            (pace, stalled) = (pace / 2.0, 0);
        }
        let plan = plan(problem, &choices);
        if problem.total_bits(&plan) <= problem.capacity_bits() {
            let loss = problem.loss(&plan, LossKind::Corrected);
            if loss < found.best.1 {
                found.best = (plan, loss);
            }
        }
        let overflow = overflow(problem, &classes, &choices);
        let square: f64 = overflow.iter().map(|x| x * x).sum();
        let gap = found.best.1 - bound;
        if square == 0.0 || gap <= 0.0 {
            break;
        }
        for (multiplier, over) in multipliers.iter_mut().zip(overflow) {
            *multiplier = (*multiplier + pace * gap / square * over).max(0.0);
        }
    }
    if !problem.is_late_never_better() {
        // Deadlines before the latest may then have less loss than the classes say.
        found.bound = f64::NEG_INFINITY;
    }
    found
}

/// Multiplier of each sample: the worth of a bit to it alone, if all of it were known beforehand.
fn first_multipliers(
    problem: &Problem<'_>,
    workspace: &mut Workspace,
    classes: &Classes,
) -> Vec<f64> {
    let mut faster = 0.0;
    let mut multipliers: Vec<f64> = classes
        .limits
        .iter()
        .zip(&classes.in_time)
        .rev()
        .map(|(&limit, &in_time)| {
            let step = workspace.rate_step(problem.curves(), problem.probabilities(), limit);
            let own = in_time - faster;
            faster = in_time;
            own * step.multiplier
        })
        .collect();
    multipliers.reverse();
    multipliers
}

/// The price of a bit of each class.
fn prices(multipliers: &[f64]) -> Vec<f64> {
    let mut prices = multipliers.to_vec();
    for class in (0..prices.len() - 1).rev() {
        prices[class] += prices[class + 1];
    }
    prices
}

/// The class and level at which a tile costs least.
fn choose(problem: &Problem<'_>, classes: &Classes, prices: &[f64], tile: usize) -> Choice {
    let (curve, p) = (&problem.curves()[tile], problem.probabilities()[tile]);
    let mut best = Choice { class: 0, level: 0, cost: f64::INFINITY };
    for (class, (&in_time, &price)) in classes.in_time.iter().zip(prices).enumerate() {
        let weight = p * in_time;
        let segments = curve.segments().partition_point(|segment| weight * segment.slope > price);
        let level = curve.hull()[segments];
        let loss = problem.tile_loss(tile, level, 1.0 - in_time, LossKind::Corrected);
        let cost = loss + price * problem.bits(tile, level) as f64;
        if cost < best.cost {
            best = Choice { class, level, cost };
        }
    }
    best
}

/// By how many bits the tiles up to each class exceed its limit; below 0 if there is room.
fn overflow(problem: &Problem<'_>, classes: &Classes, choices: &[Choice]) -> Vec<f64> {
    let mut bits = vec![0; classes.limits.len()];
    for (tile, choice) in choices.iter().enumerate() {
        bits[choice.class] += problem.bits(tile, choice.level);
    }
    let mut sum = 0;
    let sums = bits.iter().zip(&classes.limits).map(|(bits, &limit)| {
        sum += bits;
        sum as f64 - limit as f64
    });
    sums.collect()
}

/// Plan of the tiles' choices, in the order of worth. That is class by class: with `q` falling and
/// prices falling from class to class, a tile whose bits are worth more never chooses a later one.
fn plan(problem: &Problem<'_>, choices: &[Choice]) -> Plan {
    let levels: Vec<usize> = choices.iter().map(|choice| choice.level).collect();
    let order = problem.worth_order(&levels);
    Plan { levels, order }
}
