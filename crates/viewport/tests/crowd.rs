//! Generated heads.

use std::time::Duration;

use airlane_base::Seed;
use airlane_viewport::{CrowdModel, CrowdStatistics, HeadTrace, SAMPLES_PER_S, crowd};

fn titles(model: &CrowdModel) -> Vec<Vec<HeadTrace>> {
    (0..12).map(|title| crowd(Seed(7).index(title), 12, Duration::from_secs(20), model)).collect()
}

#[test]
fn a_seed_is_a_title_and_a_viewer_does_not_depend_on_the_others() {
    let make = |seed, viewers, seconds| {
        crowd(Seed(seed), viewers, Duration::from_secs(seconds), &CrowdModel::FITTED)
    };
    let all = make(1, 5, 10);
    assert_eq!(all, make(1, 5, 10));
    assert_eq!(all[..3], make(1, 3, 10));
    assert_ne!(all, make(2, 5, 10));
    assert_ne!(all[0], all[1]);
    // Who watches for longer goes on from where the shorter trace ends.
    let longer = make(1, 5, 15);
    for (short, long) in all.iter().zip(&longer) {
        assert_eq!(short.span(), (Duration::ZERO, Duration::from_secs(10)));
        for ms in (0..=10_000).step_by(130) {
            let at = Duration::from_millis(ms);
            assert!(short.at(at).angle_to(long.at(at)) < 1e-6, "{ms} ms");
        }
    }
    assert!(make(1, 0, 10).is_empty());
    assert_eq!(make(1, 1, 0)[0].span(), (Duration::ZERO, Duration::ZERO));
}

/// No sample is a jump: a head turns at no more than some 1000 degrees a second.
#[test]
fn heads_do_not_jump() {
    let step = Duration::from_secs(1) / SAMPLES_PER_S;
    for trace in titles(&CrowdModel::FITTED).iter().flatten() {
        for n in 0..20 * SAMPLES_PER_S - 1 {
            let turned = trace.at(step * n).angle_to(trace.at(step * (n + 1)));
            assert!(turned.to_degrees() < 35.0, "{turned} in sample {n}");
        }
    }
}

/// Each part of the model does what it is for.
#[test]
fn followers_agree_and_explorers_do_not() {
    let of = |edit: fn(&mut CrowdModel)| {
        let mut model = CrowdModel::FITTED;
        edit(&mut model);
        CrowdStatistics::of(&titles(&model)).unwrap()
    };
    let fitted = of(|_| ());
    let followers =
        of(|model| (model.follow, model.follow_spread, model.title_spread) = (1.0, 0.0, 0.0));
    let explorers =
        of(|model| (model.follow, model.follow_spread, model.title_spread) = (0.0, 0.0, 0.0));
    assert!(followers.shared > fitted.shared + 0.1, "{followers:?} {fitted:?}");
    assert!(explorers.shared < fitted.shared - 0.05, "{explorers:?} {fitted:?}");
    assert!(followers.apart_deg[2] < explorers.apart_deg[2], "{followers:?} {explorers:?}");
    let slow = of(|model| model.speed_deg_s /= 2.0);
    assert!(slow.speed_deg_s[4] < 0.7 * fitted.speed_deg_s[4], "{slow:?} {fitted:?}");
    let lying = of(|model| model.roll_deg = 0.0);
    assert!(lying.roll_deg < 1e-6 && (5.0..7.0).contains(&fitted.roll_deg), "{fitted:?}");
}

#[test]
fn statistics_need_two_viewers_for_ten_seconds() {
    let make = |viewers, seconds| {
        vec![crowd(Seed(1), viewers, Duration::from_secs(seconds), &CrowdModel::FITTED)]
    };
    assert_eq!(CrowdStatistics::of(&[]), None);
    assert_eq!(CrowdStatistics::of(&make(1, 20)), None);
    assert_eq!(CrowdStatistics::of(&make(2, 5)), None);
    assert!(CrowdStatistics::of(&make(2, 11)).is_some());
}
