//! How a call behaves over links that are as they are, or change.

use std::time::Duration;

use airlane_base::{Rate, Seed};
use airlane_net::queue::Limit;
use airlane_salsify::{Estimator, Mode, SproutConfig};

use crate::scene::{Outcome, Scene, run};

fn sprout() -> Estimator {
    Estimator::Sprout(SproutConfig::default())
}

fn tuned() -> Estimator {
    Estimator::Sprout(SproutConfig::tuned())
}

#[test]
fn alone_it_fills_a_constant_link() {
    for (estimator, least) in [(Estimator::Own, 0.97), (tuned(), 0.9)] {
        let outcome = run(&Scene::new(estimator));
        let (early, late) = (outcome.arrived(1, 10) / 6.0, outcome.arrived(10, 30) / 6.0);
        assert!(early > least && late > least, "{early} before 10 s, {late} after: {estimator:?}");
        assert!(all_arrive(&outcome), "{}", outcome.share());
        assert_eq!((outcome.sent.key_frames, outcome.sent.silences), (1, 0));
        assert!(outcome.delay_ms() < 75.0, "{} ms", outcome.delay_ms());
        let rtt = outcome.sent.rtt.unwrap().as_millis();
        assert!((60..110).contains(&rtt), "{rtt} ms");
    }
}

/// What docs/salsify.md explains.
#[test]
fn sprout_as_published_leaves_a_quarter_of_the_link() {
    let outcome = run(&Scene::new(sprout()));
    let late = outcome.arrived(10, 30) / 6.0;
    assert!((0.65..0.8).contains(&late), "{late}");
    assert!(all_arrive(&outcome), "{}", outcome.share());
}

#[test]
fn a_drop_of_capacity_lowers_the_budget_within_a_second() {
    for (estimator, least) in [(Estimator::Own, 0.75), (tuned(), 0.3), (sprout(), 0.15)] {
        let outcome = run(&Scene::new(estimator).step(15, 1.0));
        let (budget, late) = (outcome.budget(16, 17), outcome.decoded(20, 30));
        assert!(budget < 1.0 && late > least, "{budget}, then {late} of 1 Mbit/s: {estimator:?}");
        assert!(all_arrive(&outcome), "{}", outcome.share());
        let slow = outcome.frames.iter().find(|f| {
            f.captured.as_secs_f64() > 16.0 && (f.at - f.captured) > Duration::from_millis(150)
        });
        assert!(slow.is_none(), "{slow:?}");
    }
}

#[test]
fn it_recovers_from_an_outage() {
    for estimator in [Estimator::Own, tuned(), sprout()] {
        // Of ten seconds too, and with a queue that holds little of what was in flight.
        for (secs, queue) in [(2, 100), (10, 100), (2, 20)] {
            let scene = Scene::new(estimator).step(15, 0.0).step(15 + secs, 6.0).lasting(32 + secs);
            let outcome = run(&Scene { queue: Limit::Packets(queue), ..scene });
            let end = (15 + secs) as f64;
            let first = outcome.frames.iter().find(|f| f.at.as_secs_f64() > end).unwrap();
            let first = first.at.as_secs_f64() - end;
            assert!(first < 1.1, "{first} s, {estimator:?}");
            let (before, after) = (outcome.decoded(5, 15), outcome.decoded(20 + secs, 30 + secs));
            assert!(after > 0.95 * before, "{after} after {before}: {estimator:?}");
            // What the receiver has can be built on.
            assert_eq!(outcome.sent.key_frames, 1);
        }
    }
}

#[test]
fn loss_costs_the_frames_that_it_hits() {
    for seed in 1..4 {
        for estimator in [Estimator::Own, tuned()] {
            let scene = Scene { loss: 0.02, seed: Seed(seed), ..Scene::new(estimator) };
            let outcome = run(&scene);
            let packets = outcome.sent.media.packets as f64 / outcome.sent.frames as f64;
            let whole = 0.98_f64.powf(packets);
            let share = outcome.share();
            assert!(share > 0.6 && share > whole - 0.06, "{share} of {packets} packets each");
            assert_eq!(outcome.sent.key_frames, 1);
            assert!(outcome.arrived(10, 30) > 5.2, "{}", outcome.arrived(10, 30));
            // Building on what was sent last, a lost frame costs all of the round trip after it.
            let mut bold = scene.clone();
            bold.config.cautious = Duration::ZERO;
            assert!(run(&bold).share() < share - 0.15);
        }
    }
}

#[test]
fn lost_acknowledgements_cost_little() {
    for estimator in [Estimator::Own, tuned()] {
        let whole = run(&Scene::new(estimator)).decoded(5, 30);
        let outcome = run(&Scene { loss_back: 0.1, ..Scene::new(estimator) });
        let rate = outcome.decoded(5, 30);
        assert!(rate > 0.95 * whole, "{rate} instead of {whole}: {estimator:?}");
        assert!(all_arrive(&outcome) && outcome.sent.cautious_frames == 0);
    }
}

/// Salsify*: frames of 4 Mbit/s, which fit at 6 but are larger than what 1 Mbit/s carries in 100 ms.
#[test]
fn frames_of_a_fixed_size_come_less_often() {
    for estimator in [Estimator::Own, tuned(), sprout()] {
        let mut scene = Scene::new(estimator).step(15, 1.0);
        scene.config.mode = Mode::FrameRate;
        scene.coarsest = 16_667;
        let outcome = run(&scene);
        assert!(all_arrive(&outcome), "{}", outcome.share());
        assert!(outcome.frames.iter().all(|f| f.data.len() == 16_667));
        let (before, after) = (outcome.decoded(5, 15), outcome.decoded(20, 30));
        let least = if estimator == sprout() { 2.2 } else { 3.9 };
        assert!(before > least, "{before} of 4 Mbit/s: {estimator:?}");
        assert!((0.4..1.0).contains(&after), "{after} of 1 Mbit/s: {estimator:?}");
    }
}

/// A source of less than the path carries gets all of its frames through, be they of one packet.
#[test]
fn a_small_source_is_not_held_back() {
    for estimator in [Estimator::Own, tuned(), sprout()] {
        for bytes in [300, 4_000] {
            let mut scene = Scene::new(estimator).lasting(10);
            scene.config.mode = Mode::FrameRate;
            scene.coarsest = bytes;
            let outcome = run(&scene);
            let frames = outcome.frames.len();
            assert!(frames > 290, "{frames} of 300 with {bytes} bytes: {estimator:?}");
            assert!(outcome.delay_ms() < 50.0);
        }
    }
}

/// An encoder without anything coarse enough for a slow path learns from padding that it is faster.
#[test]
fn padding_finds_out_that_more_fits() {
    let mut scene = Scene { coarsest: 8_000, ..Scene::new(Estimator::Own).step(10, 6.0) };
    scene.steps[0].1 = Rate::from_mbps(0.3);
    let outcome = run(&scene);
    let (before, after) = (outcome.decoded(5, 10), outcome.decoded(12, 30));
    assert!(before < 0.3 && after > 5.0, "{before}, then {after}");
    assert!(outcome.sent.other.packets > 0);
}

#[test]
fn a_fast_path_carries_all_that_the_source_has() {
    let mut scene = Scene::new(Estimator::Own);
    scene.steps[0].1 = Rate::from_mbps(50.0);
    let rate = run(&scene).decoded(5, 30);
    assert!(rate > 14.5, "{rate}");
}

/// Nothing was lost: what has not arrived is on its way.
fn all_arrive(outcome: &Outcome) -> bool {
    outcome.sent.lost_packets == 0 && outcome.frames.len() as u64 + 6 > outcome.sent.frames
}
