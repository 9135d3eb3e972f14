//! Intervals against what theory says about them.

use airlane_base::Seed;
use airlane_quality::{Bootstrap, Interval, stats};
use proptest::prelude::*;
use rand::RngExt;

fn normal(n: usize, mean: f64, sd: f64, seed: Seed) -> Vec<f64> {
    let mut rng = seed.rng();
    // The sum of twelve uniform numbers is close enough to normal for an interval of a mean.
    (0..n).map(|_| mean + sd * ((0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0)).collect()
}

#[test]
fn the_interval_of_a_mean_is_as_wide_as_theory_says() {
    let xs = normal(400, 10.0, 2.0, Seed(1));
    let ci = Bootstrap::new(Seed(2)).mean(&xs).unwrap();
    let half = 1.96 * stats::sample_sd(&xs).unwrap() / 20.0;
    let m = stats::mean(&xs).unwrap();
    assert!((ci.lo - (m - half)).abs() < 0.1 * half, "{ci:?}");
    assert!((ci.hi - (m + half)).abs() < 0.1 * half, "{ci:?}");
}

#[test]
fn nineteen_of_twenty_intervals_hold_the_truth_with_few_units_too() {
    for n in [8, 20, 60] {
        let held = (0..400)
            .filter(|&i| {
                let seed = Seed(3).index(i);
                let xs = normal(n, 5.0, 3.0, seed);
                let bootstrap = Bootstrap { resamples: 1000, ..Bootstrap::new(seed) };
                bootstrap.mean(&xs).unwrap().contains(5.0)
            })
            .count();
        // 380 are expected, with a deviation of 4.4.
        assert!((366..=394).contains(&held), "{held} of 400 with {n} units");
    }
}

#[test]
fn pairs_remove_what_both_share() {
    let shared = normal(50, 0.0, 30.0, Seed(4));
    let noise = normal(50, 1.0, 0.5, Seed(5));
    let a: Vec<f64> = shared.iter().zip(&noise).map(|(s, n)| s + n).collect();
    let ci = Bootstrap::new(Seed(6)).paired_difference(&a, &shared).unwrap();
    assert!(ci.contains(stats::mean(&noise).unwrap()) && ci.hi - ci.lo < 0.4, "{ci:?}");
    let alone = Bootstrap::new(Seed(6)).mean(&a).unwrap();
    assert!(alone.hi - alone.lo > 10.0, "{alone:?}");
}

#[test]
fn seeds_of_one_mix_do_not_count_as_mixes() {
    // Ten mixes that differ much, each with 20 seeds that hardly differ.
    let mixes = normal(10, 0.0, 10.0, Seed(7));
    let groups: Vec<Vec<f64>> = mixes
        .iter()
        .enumerate()
        .map(|(i, &m)| normal(20, m, 0.1, Seed(8).index(i as u64)))
        .collect();
    let nested = Bootstrap::new(Seed(9)).nested_mean(&groups).unwrap();
    let over_mixes = Bootstrap::new(Seed(9)).mean(&mixes).unwrap();
    let width = |i: Interval| i.hi - i.lo;
    let ratio = width(nested) / width(over_mixes);
    assert!((0.9..1.1).contains(&ratio), "{nested:?} {over_mixes:?}");
}

#[test]
fn without_two_units_or_a_defined_statistic_there_is_no_interval() {
    let b = Bootstrap::new(Seed(0));
    assert_eq!(b.mean(&[1.0]), None);
    assert_eq!(b.mean(&[]), None);
    assert_eq!(b.nested_mean(&[vec![1.0], vec![]]), None);
    assert_eq!(b.statistic(&[1.0, 2.0], |_| f64::NAN), None);
}

#[test]
fn a_share_is_a_statistic_too() {
    let gains: Vec<f64> = (0..44).map(|i| if i < 11 { 9.0 } else { 2.0 }).collect();
    let share = |s: &[f64]| s.iter().filter(|&&g| g >= 7.65).count() as f64 / s.len() as f64;
    let ci = Bootstrap::new(Seed(1)).statistic(&gains, share).unwrap();
    assert!((0.11..0.16).contains(&ci.lo) && (0.34..0.41).contains(&ci.hi), "{ci:?}");
}

proptest! {
    #[test]
    fn the_same_seed_gives_the_same_interval_around_values_that_exist(
        xs in prop::collection::vec(-100.0f64..100.0, 2..20), seed in any::<u64>()
    ) {
        let b = Bootstrap { resamples: 200, ..Bootstrap::new(Seed(seed)) };
        let ci = b.mean(&xs).unwrap();
        prop_assert_eq!(Some(ci), b.mean(&xs));
        let (lo, hi) = (stats::quantile(&xs, 0.0).unwrap(), stats::quantile(&xs, 1.0).unwrap());
        prop_assert!(lo - 1e-9 <= ci.lo && ci.lo <= ci.hi && ci.hi <= hi + 1e-9);
    }
}
