//! Throughput of the past, users and what they saw, what a display shows.

use std::num::NonZeroUsize;
use std::time::Duration;

use airlane_viewport::{
    Audience, Concealment, Display, FieldOfView, HeadTrace, HeadTraceError, History, MAX_PSNR_DB,
    Observation, Orientation, Sampling, Throughput, TileContent, Tiling, Viewport, psnr_db,
    session_psnr_db, viewport_psnr_db, weighted_mse,
};
use proptest::prelude::*;

const SECOND: Duration = Duration::from_secs(1);

fn history(window: usize) -> History {
    History::new(NonZeroUsize::new(window).unwrap())
}

fn trace(samples: &[(u64, [f64; 3])]) -> Result<HeadTrace, HeadTraceError> {
    let sample = |&(millis, [yaw, pitch, roll]): &(u64, [f64; 3])| {
        (Duration::from_millis(millis), Orientation::from_degrees(yaw, pitch, roll))
    };
    HeadTrace::new(samples.iter().map(sample).collect())
}

fn sampling(tiling: Tiling, moments: u32) -> Sampling {
    let field = FieldOfView::from_degrees(100.0, 90.0).unwrap();
    Sampling { tiling, field, gop: SECOND, moments }
}

proptest! {
    #[test]
    fn misses_count_slower_seconds(
        samples in prop::collection::vec(0.0..1e8f64, 1..60), bits in 0u64..200_000_000,
        deadline_s in 0.1..2.0f64,
    ) {
        let slower = samples.iter().filter(|bps| **bps * deadline_s < bits as f64).count();
        let miss = Throughput::new(samples.clone()).unwrap().miss(bits, deadline_s);
        prop_assert_eq!(miss, slower as f64 / samples.len() as f64);
    }

    #[test]
    fn a_history_is_its_newest_sums(
        seconds in prop::collection::vec([0.0..1e8f64, 0.0..1e8], 1..40), window in 1usize..20,
    ) {
        let mut past = history(window);
        for radios in &seconds {
            past.push(radios).unwrap();
        }
        let kept = &seconds[seconds.len().saturating_sub(window)..];
        let mut sums: Vec<f64> = kept.iter().map(|radios| radios[0] + radios[1]).collect();
        let mean = sums.iter().sum::<f64>() / sums.len() as f64;
        prop_assert!((past.mean_bps().unwrap() - mean).abs() < 1e-3);
        let bits = past.capacity_bits(0.8, SECOND / 2).unwrap();
        prop_assert!((bits as f64 - 0.4 * mean).abs() <= 1.0);
        sums.sort_by(f64::total_cmp);
        let distribution = past.throughput().unwrap();
        prop_assert_eq!(distribution.samples_bps(), &sums[..]);
    }

    /// P(t) of a user is the mean of what the others saw, so it does not depend on the user's own
    /// trace; shares sum to 1 and are positive just where a tile is seen.
    #[test]
    fn probabilities_leave_their_user_out(
        yaws in prop::collection::vec([-360.0..360.0f64, -360.0..360.0], 2..6),
        own in -180.0..180.0f64, gop in 0usize..3,
    ) {
        let tiling = Tiling::new(12, 8).unwrap();
        let record = |yaws: &[f64; 2]| {
            trace(&[(0, [yaws[0], 0.0, 0.0]), (3_000, [yaws[1], 20.0, 5.0])]).unwrap()
        };
        let mut traces: Vec<HeadTrace> = yaws.iter().map(record).collect();
        let before = Audience::new(&traces, 3, &sampling(tiling, 4));
        traces[1] = trace(&[(0, [own, -10.0, 0.0])]).unwrap();
        let after = Audience::new(&traces, 3, &sampling(tiling, 4));
        let of = |audience: &Audience, what| audience.probabilities(gop, 1, what).unwrap();
        let shares = of(&before, Observation::Share);
        let seen = of(&before, Observation::Seen);
        prop_assert_eq!(&shares, &of(&after, Observation::Share));
        prop_assert_eq!(&seen, &of(&after, Observation::Seen));
        prop_assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        for (tile, (share, seen)) in shares.iter().zip(&seen).enumerate() {
            prop_assert_eq!(*share > 0.0, *seen > 0.0, "tile {}", tile);
            prop_assert!(*seen <= 1.0 + 1e-9);
            let others = (0..traces.len()).filter(|&user| user != 1);
            let mean = others.map(|user| before.viewport(user, gop)[tile]).sum::<f64>();
            prop_assert!((share - mean / (traces.len() - 1) as f64).abs() < 1e-12);
        }
    }

    #[test]
    fn a_missing_tile_shows_more_and_more_of_the_past(
        change in 0.0..500.0f64, grey in 500.0..5_000.0f64, mse in 0.0..100.0f64,
    ) {
        let content = TileContent { change_mse: change, grey_mse: grey };
        let mut display = Display::new(1, Concealment::Previous);
        // Before anything has come it is grey, and stays so.
        for _ in 0..2 {
            prop_assert_eq!(display.show(&[(content, None)]), vec![grey]);
        }
        prop_assert_eq!(display.show(&[(content, Some(mse))]), vec![mse]);
        let mut expected = mse;
        for _ in 0..40 {
            expected = (expected + change).min(2.0 * grey);
            prop_assert_eq!(display.missing(0, content), expected);
            prop_assert_eq!(display.show(&[(content, None)]), vec![expected]);
        }
    }
}

#[test]
fn histories_refuse_what_is_no_throughput() {
    let mut past = history(3);
    assert!(past.is_empty() && past.mean_bps().is_none() && past.throughput().is_none());
    assert_eq!(past.capacity_bits(1.0, SECOND), None);
    past.push(&[1e6, 2e6]).unwrap();
    for wrong in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(past.push(&[1.0, wrong]).is_err());
        assert!(Throughput::new(vec![1.0, wrong]).is_err());
    }
    assert!(Throughput::new(vec![]).is_err());
    assert_eq!((past.len(), past.mean_bps()), (1, Some(3e6)));
}

#[test]
fn traces_turn_over_the_seam_on_the_short_way() {
    let head = trace(&[(1_000, [170.0, 0.0, 0.0]), (2_000, [-170.0, 0.0, 0.0])]).unwrap();
    let is_at = |millis, yaw| {
        let at = head.at(Duration::from_millis(millis));
        at.angle_to(Orientation::from_degrees(yaw, 0.0, 0.0)) < 1e-6
    };
    assert!(is_at(0, 170.0) && is_at(1_000, 170.0) && is_at(9_000, -170.0));
    assert!(is_at(1_250, 175.0) && is_at(1_500, 180.0) && is_at(1_750, -175.0));
    assert_eq!(head.span(), (SECOND, 2 * SECOND));
}

#[test]
fn traces_refuse_what_is_no_record() {
    assert_eq!(trace(&[]), Err(HeadTraceError::Empty));
    let ok = [0.0; 3];
    assert_eq!(trace(&[(0, ok), (1, [0.0, f64::NAN, 0.0])]), Err(HeadTraceError::NotFinite(1)));
    assert_eq!(trace(&[(5, ok), (5, ok)]), Err(HeadTraceError::NotRising(1)));
}

/// Moments lie half a distance from both ends of a GoP.
#[test]
fn a_gop_is_seen_at_its_moments() {
    let tiling = Tiling::REFERENCE;
    let head = trace(&[(0, [0.0; 3]), (2_000, [100.0, 0.0, 0.0])]).unwrap();
    let audience = Audience::new(std::slice::from_ref(&head), 2, &sampling(tiling, 2));
    let at = |millis| {
        let orientation = head.at(Duration::from_millis(millis));
        Viewport { orientation, field: sampling(tiling, 1).field }.shares(tiling)
    };
    let (early, late) = (at(1_250), at(1_750));
    for (tile, share) in audience.viewport(0, 1).iter().enumerate() {
        assert!((share - (early[tile] + late[tile]) / 2.0).abs() < 1e-12);
    }
    assert_eq!((audience.users(), audience.gops()), (1, 2));
    assert_eq!(audience.probabilities(0, 0, Observation::Share), None, "nobody else");
}

#[test]
fn viewports_are_judged_by_what_they_show() {
    assert!((psnr_db(255.0 * 255.0 / 1e4) - 40.0).abs() < 1e-9);
    assert_eq!((psnr_db(0.0), psnr_db(1e-20)), (MAX_PSNR_DB, MAX_PSNR_DB));
    let shares = [0.5, 0.25, 0.25, 0.0];
    let mse = [10.0, 20.0, 40.0, 9_999.0];
    assert_eq!(weighted_mse(&shares, &mse), 20.0);
    assert_eq!(viewport_psnr_db(&shares, &mse), psnr_db(20.0));
    assert_eq!((session_psnr_db(&[30.0, 40.0]), session_psnr_db(&[])), (Some(35.0), None));
}

#[test]
fn a_grey_display_remembers_nothing() {
    let content = TileContent { change_mse: 5.0, grey_mse: 900.0 };
    let mut display = Display::new(2, Concealment::Grey);
    assert_eq!(display.show(&[(content, Some(3.0)), (content, None)]), [3.0, 900.0]);
    assert_eq!(display.show(&[(content, None), (content, Some(4.0))]), [900.0, 4.0]);
}
