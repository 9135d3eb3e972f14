//! Curves of tiles, and the rate step beside linear and integer programs.

use airlane_base::Seed;
use airlane_viewport::synthetic::{self, Gop};
use airlane_viewport::{Allocation, Level, TileCurve, Workspace};
use microlp::{ComparisonOp, LinearExpr, OptimizationDirection, Problem};
use proptest::prelude::*;

/// The least `sum of w * D` within a budget by a solver: of mixtures of all levels, or of whole ones.
/// The knapsack of multiple choice as it stands: one variable per tile and level, hull or not.
fn solver(curves: &[TileCurve], weights: &[f64], budget: u64, is_whole: bool) -> Option<f64> {
    let mut problem = Problem::new(OptimizationDirection::Minimize);
    let mut size = LinearExpr::empty();
    // Scaled, so that the solver's tolerances are small beside the numbers.
    let unit = budget as f64;
    for (curve, weight) in curves.iter().zip(weights) {
        let mut one = LinearExpr::empty();
        for level in curve.levels() {
            let cost = weight * level.mse;
            let share = if is_whole {
                problem.add_binary_var(cost)
            } else {
                problem.add_var(cost, (0.0, f64::INFINITY))
            };
            one.add(share, 1.0);
            size.add(share, level.bits as f64 / unit);
        }
        problem.add_constraint(one, ComparisonOp::Eq, 1.0);
    }
    problem.add_constraint(size, ComparisonOp::Le, 1.0);
    Some(problem.solve().ok()?.into_solution().ok()?.objective())
}

fn step(gop: &Gop, budget: u64) -> Allocation {
    Workspace::default().rate_step(&gop.curves, &gop.probabilities, budget)
}

/// The greatest gain of a single segment of any tile's hull.
fn greatest_step(gop: &Gop) -> f64 {
    let gains = gop.curves.iter().zip(&gop.probabilities).flat_map(|(curve, p)| {
        let mse = |level: usize| curve.levels()[level].mse;
        curve.hull().windows(2).map(move |ends| p * (mse(ends[0]) - mse(ends[1])))
    });
    gains.fold(0.0, f64::max)
}

fn gops(tiles: usize, levels: usize) -> impl Strategy<Value = (Gop, f64)> {
    (any::<u64>(), 1..=tiles, 1..=levels, 0.0..1.2f64)
        .prop_map(|(seed, tiles, levels, share)| (synthetic::gop(Seed(seed), tiles, levels), share))
}

/// A budget at a share of the way from all lowest to all highest levels.
fn budget(gop: &Gop, share: f64) -> u64 {
    let ends = |level: fn(&[Level]) -> &Level| -> u64 {
        gop.curves.iter().map(|curve| level(curve.levels()).bits).sum()
    };
    let (least, most) = (ends(|l| &l[0]), ends(|l| &l[l.len() - 1]));
    least + (share * (most - least) as f64) as u64
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_bound_is_the_optimum_of_the_linear_program((gop, share) in gops(24, 20)) {
        let budget = budget(&gop, share);
        let found = step(&gop, budget);
        let expected = solver(&gop.curves, &gop.probabilities, budget, false).expect("solved");
        prop_assert!((found.bound - expected).abs() <= 1e-7 * expected.max(1e-3),
            "{} and {expected}", found.bound);
    }

    #[test]
    fn the_integer_solution_keeps_the_budget_and_is_within_a_segment_of_the_bound(
        (gop, share) in gops(96, 20),
    ) {
        let budget = budget(&gop, share);
        let found = step(&gop, budget);
        let bits: u64 = found.levels.iter().zip(&gop.curves).map(|(&l, c)| c.levels()[l].bits).sum();
        let weighted = found.levels.iter().zip(&gop.curves).zip(&gop.probabilities);
        let loss: f64 = weighted.map(|((&l, c), p)| p * c.levels()[l].mse).sum();
        prop_assert!(found.fits && bits <= budget);
        prop_assert_eq!(found.bits, bits);
        prop_assert!((found.loss - loss).abs() < 1e-9);
        prop_assert!(found.bound <= found.loss + 1e-9);
        prop_assert!(found.loss - found.bound <= greatest_step(&gop) + 1e-9);
    }

    /// With 5 tiles the gap to the integer optimum is at its widest.
    #[test]
    fn the_integer_optimum_lies_between_bound_and_solution((gop, share) in gops(5, 4)) {
        let budget = budget(&gop, share);
        let found = step(&gop, budget);
        let optimum = solver(&gop.curves, &gop.probabilities, budget, true).expect("solved");
        prop_assert!(found.bound <= optimum + 1e-6 && optimum <= found.loss + 1e-6,
            "{} {optimum} {}", found.bound, found.loss);
    }

    #[test]
    fn more_bits_never_lose((gop, share) in gops(96, 20), more in 0.0..0.5f64) {
        let (less, more) = (step(&gop, budget(&gop, share)), step(&gop, budget(&gop, share + more)));
        prop_assert!(more.bound <= less.bound + 1e-9);
        prop_assert!(more.multiplier <= less.multiplier);
    }

    /// Memory that another instance left behind changes nothing.
    #[test]
    fn a_workspace_forgets((first, a) in gops(96, 20), (second, b) in gops(30, 12)) {
        let mut workspace = Workspace::default();
        workspace.rate_step(&first.curves, &first.probabilities, budget(&first, a));
        let again = workspace.rate_step(&second.curves, &second.probabilities, budget(&second, b));
        prop_assert_eq!(again, step(&second, budget(&second, b)));
    }

    #[test]
    fn curves_keep_what_is_worth_having(
        levels in prop::collection::vec((0u64..1_000, 0.0..500.0f64), 1..40), missing in 0.0..900.0f64,
    ) {
        let all: Vec<Level> = levels.iter().map(|&(bits, mse)| Level { bits, mse }).collect();
        let curve = TileCurve::new(&all, missing).unwrap();
        let kept = curve.levels();
        for pair in kept.windows(2) {
            prop_assert!(pair[0].bits < pair[1].bits && pair[0].mse > pair[1].mse);
        }
        for level in &all {
            prop_assert!(kept.iter().any(|k| k.bits <= level.bits && k.mse <= level.mse));
        }
        for (place, level) in kept.iter().enumerate() {
            prop_assert_eq!(all[curve.source(place)], *level);
        }
        let hull: Vec<Level> = curve.hull().iter().map(|&place| kept[place]).collect();
        prop_assert_eq!((hull[0], hull[hull.len() - 1]), (kept[0], kept[kept.len() - 1]));
        let slope = |a: Level, b: Level| (a.mse - b.mse) / (b.bits - a.bits) as f64;
        for three in hull.windows(3) {
            prop_assert!(slope(three[0], three[1]) > slope(three[1], three[2]));
        }
        // No level lies below the hull.
        for level in kept {
            let next = hull.partition_point(|h| h.bits < level.bits);
            let (low, high) = (hull[next.saturating_sub(1)], hull[next]);
            let share = (level.bits - low.bits) as f64 / (high.bits - low.bits).max(1) as f64;
            prop_assert!(level.mse >= low.mse + share * (high.mse - low.mse) - 1e-9);
        }
    }
}

fn level(bits: u64, mse: f64) -> Level {
    Level { bits, mse }
}

#[test]
fn the_steepest_segments_come_first_and_what_is_left_is_filled() {
    let steep =
        TileCurve::new(&[level(10, 100.0), level(20, 50.0), level(60, 30.0)], 400.0).unwrap();
    let flat = TileCurve::new(&[level(10, 100.0), level(15, 96.0)], 400.0).unwrap();
    let curves = [steep, flat];
    let solve =
        |weights: [f64; 2], budget| Workspace::default().rate_step(&curves, &weights, budget);
    // 10 bits of room: the first segment, 5 per bit.
    let found = solve([1.0, 1.0], 30);
    assert_eq!(found.levels, [1, 0]);
    assert_eq!((found.bits, found.loss, found.bound), (30, 150.0, 150.0));
    assert_eq!(found.multiplier, 0.8, "of the next, which no longer fits");
    // 20 bits more: 5 of them at 0.8 per bit for the other tile; 15 at 0.5 are mixed in the bound.
    let found = solve([1.0, 1.0], 50);
    assert_eq!((found.levels, found.bits, found.loss), (vec![1, 1], 35, 146.0));
    assert_eq!((found.bound, found.multiplier), (138.5, 0.5));
    // With weight 2 the 40 bits come first but do not fit; the other tile is filled in.
    let found = solve([2.0, 1.0], 50);
    assert_eq!((found.levels, found.bits, found.loss, found.bound), (vec![1, 1], 35, 196.0, 180.0));
    // 5 bits of room: just the other tile's segment, though it is not the steepest.
    let found = solve([1.0, 1.0], 25);
    assert_eq!((found.levels, found.bits, found.bound), (vec![0, 1], 25, 175.0));
    // Nobody sees the other tile.
    let found = solve([1.0, 0.0], 1_000);
    assert_eq!((found.levels, found.bits, found.multiplier), (vec![2, 0], 70, 0.0));
}

/// Among equals the first tiles of the default placement come first.
#[test]
fn equals_come_in_their_order() {
    let levels = [level(10, 100.0), level(20, 50.0), level(40, 20.0)];
    let curves = vec![TileCurve::new(&levels, 400.0).unwrap(); 40];
    let found = Workspace::default().rate_step(&curves, &[1.0; 40], 400 + 130);
    let expected: Vec<usize> = (0..40).map(|tile| usize::from(tile < 13)).collect();
    assert_eq!((found.levels, found.bits), (expected, 530));
}

#[test]
fn levels_on_a_line_are_one_segment() {
    let levels = [level(10, 30.0), level(20, 20.0), level(30, 10.0)];
    let curve = TileCurve::new(&levels, 90.0).unwrap();
    assert_eq!((curve.levels().len(), curve.hull()), (3, &[0, 2][..]));
}

#[test]
fn what_does_not_fit_is_said() {
    let levels = [level(10, 100.0), level(20, 50.0)];
    let sent = [TileCurve::new(&levels, 400.0).unwrap(), TileCurve::new(&levels, 400.0).unwrap()];
    let found = Workspace::default().rate_step(&sent, &[0.5, 0.5], 19);
    assert_eq!((found.fits, found.bits, found.levels), (false, 20, vec![0, 0]));
    // A tile that may be left out always fits.
    let skipped = sent.map(|_| TileCurve::with_skip(&levels, 400.0).unwrap());
    let found = Workspace::default().rate_step(&skipped, &[0.5, 0.4], 19);
    assert_eq!((found.fits, found.bits, found.levels), (true, 10, vec![1, 0]));
}

#[test]
fn curves_refuse_what_is_no_distortion() {
    let ok = level(1, 1.0);
    assert!(TileCurve::new(&[], 1.0).is_err());
    assert!(TileCurve::new(&[ok; 257], 1.0).is_err());
    for wrong in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(TileCurve::new(&[ok, level(2, wrong)], 1.0).is_err());
        assert!(TileCurve::new(&[ok], wrong).is_err());
    }
}
