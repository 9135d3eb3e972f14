//! Intervals against what theory says about them.

use airlane_base::Seed;
use airlane_quality::shares::{
    quantile_interval, share_difference_interval, share_interval, wilson,
};
use airlane_quality::{Bootstrap, Cluster, Interval, stats, student};
use proptest::prelude::*;
use rand::RngExt;

fn normal(n: usize, mean: f64, sd: f64, seed: Seed) -> Vec<f64> {
    let mut rng = seed.rng();
    // The sum of twelve uniform numbers is close enough to normal for an interval of a mean.
    (0..n).map(|_| mean + sd * ((0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0)).collect()
}

fn width(i: Interval) -> f64 {
    i.hi - i.lo
}

fn of_rows(rows: &[Vec<f64>]) -> Vec<Cluster> {
    rows.iter().map(|r| Cluster::of_rows(r)).collect()
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
fn an_interval_is_never_narrower_than_students() {
    for seed in 0..20 {
        let xs = normal(12, 0.0, 1.0, Seed(seed));
        let ours = Bootstrap::new(Seed(seed)).mean(&xs).unwrap();
        let students = student::mean_interval(&xs).unwrap();
        assert!(ours.lo <= students.lo + 1e-12 && students.hi <= ours.hi + 1e-12);
    }
}

#[test]
fn cells_and_seeds_of_one_draw_do_not_count_as_draws() {
    // Ten mixes that differ much, each with 20 seeds that hardly differ.
    let mixes = normal(10, 0.0, 10.0, Seed(7));
    let rows: Vec<Vec<f64>> = mixes
        .iter()
        .enumerate()
        .map(|(i, &m)| normal(20, m, 0.1, Seed(8).index(i as u64)))
        .collect();
    let clustered = Bootstrap::new(Seed(9)).clusters(&[of_rows(&rows)]).unwrap();
    let over_mixes = Bootstrap::new(Seed(9)).mean(&mixes).unwrap();
    let ratio = width(clustered) / width(over_mixes);
    assert!((0.95..1.05).contains(&ratio), "{clustered:?} {over_mixes:?}");
    let as_rows = Bootstrap::new(Seed(9)).mean(&rows.concat()).unwrap();
    assert!(width(as_rows) < 0.4 * width(clustered), "{as_rows:?}");
}

#[test]
fn what_strata_differ_by_is_not_uncertain() {
    let [low, high] = [0.0, 100.0].map(|mean| {
        of_rows(&normal(20, mean, 1.0, Seed(3)).into_iter().map(|x| vec![x]).collect::<Vec<_>>())
    });
    let apart = Bootstrap::new(Seed(1)).clusters(&[low.clone(), high.clone()]).unwrap();
    let together = Bootstrap::new(Seed(1)).clusters(&[[low, high].concat()]).unwrap();
    assert!(apart.contains(50.0) && width(apart) < 1.0, "{apart:?}");
    assert!(width(together) > 20.0, "{together:?}");
}

#[test]
fn a_ratio_of_sums_knows_that_both_go_together() {
    let cluster = |x: f64| Cluster { numerator: 3.0 * x, denominator: x };
    let xs = normal(20, 10.0, 3.0, Seed(2));
    let same = Bootstrap::new(Seed(1)).clusters(&[xs.into_iter().map(cluster).collect()]).unwrap();
    assert!((same.lo - 3.0).abs() < 1e-9 && width(same) < 1e-9, "{same:?}");
}

#[test]
fn without_ten_clusters_or_a_figure_there_is_no_interval() {
    let b = Bootstrap::new(Seed(0));
    let nine: Vec<f64> = (0..9).map(f64::from).collect();
    let ten: Vec<f64> = (0..10).map(f64::from).collect();
    assert_eq!((b.mean(&[]), b.mean(&nine)), (None, None));
    assert!(b.mean(&ten).is_some());
    assert_eq!(b.mean(&[nine, vec![f64::NAN]].concat()), None);
    // A stratum of one says nothing about how it varies.
    let strata =
        [of_rows(&ten.iter().map(|x| vec![*x]).collect::<Vec<_>>()), of_rows(&[vec![1.0]])];
    assert_eq!(b.clusters(&strata), None);
    let nothing = vec![Cluster::default(); 20];
    assert_eq!(b.clusters(&[nothing]), None, "a ratio of zeros");
    assert_eq!(share_interval(&[vec![vec![1.0]; 9]]), None);
    assert_eq!(share_interval(&[vec![vec![2.0]; 20]]), None, "no share");
    assert_eq!(quantile_interval(&[vec![vec![1.0]; 9]], 0.5), None);
}

#[test]
fn all_of_ten_is_not_certainty() {
    let all = share_interval(&[vec![vec![1.0]; 10]]).unwrap();
    assert!((0.70..0.75).contains(&all.lo) && all.hi == 1.0, "{all:?}");
    let three = wilson(1.0, 3.0);
    assert!((0.43..0.45).contains(&three.lo), "{three:?}");
}

#[test]
fn rows_of_one_draw_are_worth_as_much_as_they_differ() {
    let cluster = |i: usize| f64::from(u8::from(i.is_multiple_of(4)));
    let mut rng = Seed(5).rng();
    let one: Vec<Vec<f64>> = (0..40).map(|i| vec![cluster(i)]).collect();
    let same: Vec<Vec<f64>> = (0..40).map(|i| vec![cluster(i); 4]).collect();
    let mut draw = || cluster(rng.random_range(0..4));
    let apart: Vec<Vec<f64>> = (0..40).map(|_| (0..4).map(|_| draw()).collect()).collect();
    let [one, same, apart] = [one, same, apart].map(|c| share_interval(&[c]).unwrap());
    assert_eq!(one, same);
    assert!(width(apart) < 0.7 * width(one), "{apart:?} {one:?}");
    assert!(one.contains(0.25) && apart.contains(0.25));
}

#[test]
fn shares_that_go_together_differ_with_more_certainty() {
    let both: Vec<Vec<[f64; 2]>> = (0..40).map(|i| vec![[f64::from(i % 2); 2]]).collect();
    let against: Vec<Vec<[f64; 2]>> =
        (0..40).map(|i| vec![[f64::from(i % 2), f64::from(1 - i % 2)]]).collect();
    let [both, against] = [both, against].map(|c| share_difference_interval(&[c], 1.0).unwrap());
    assert!(both.contains(0.0) && width(both) < 0.01, "{both:?}");
    assert!(width(against) > 0.5, "{against:?}");
}

#[test]
fn the_interval_of_a_median_lies_between_its_rows() {
    let rows: Vec<Vec<f64>> = (0..21).map(|i| vec![f64::from(i)]).collect();
    let ci = quantile_interval(std::slice::from_ref(&rows), 0.5).unwrap();
    // The sixth to the sixteenth of 21 hold it with 95.7 % (binomial distribution).
    assert!((5.0..6.0).contains(&ci.lo) && (14.0..15.0).contains(&ci.hi), "{ci:?}");
    assert_eq!(quantile_interval(&[rows[..11].to_vec()], 0.25), None);
}

proptest! {
    #[test]
    fn the_same_seed_gives_the_same_interval_around_the_mean(
        xs in prop::collection::vec(-100.0f64..100.0, 10..30), seed in any::<u64>()
    ) {
        let b = Bootstrap { resamples: 200, ..Bootstrap::new(Seed(seed)) };
        let ci = b.mean(&xs).unwrap();
        prop_assert_eq!(Some(ci), b.mean(&xs));
        prop_assert!(ci.contains(stats::mean(&xs).unwrap()));
    }

    #[test]
    fn shares_lie_in_their_interval_and_that_between_0_and_1(
        yes in prop::collection::vec(prop::collection::vec(any::<bool>(), 3), 10..30)
    ) {
        let rows: Vec<Vec<f64>> =
            yes.iter().map(|c| c.iter().map(|y| f64::from(u8::from(*y))).collect()).collect();
        let share = stats::mean(&rows.concat()).unwrap();
        let ci = share_interval(&[rows]).unwrap();
        prop_assert!(0.0 <= ci.lo && ci.hi <= 1.0 && ci.lo <= share && share <= ci.hi);
    }
}
