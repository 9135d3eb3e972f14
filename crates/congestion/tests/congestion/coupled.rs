//! The goals of RFC 6356 (section 2) on a bottleneck that all share: two coupled flows take what one
//! would, and two that are not coupled take twice that.

use std::time::Duration;

use airlane_base::{Seed, Time};
use airlane_congestion::{Algorithm, ControllerConfig, Group};

use crate::harness::{Discipline, Flow, PACKET_BYTES, Scene, run};

/// Milliseconds of the two flows' round trips, and of the plain one's.
type Rtts = ([u64; 2], u64);

/// The share that two flows of `algorithm`, coupled if that couples, have beside one Reno.
fn share_of_two(algorithm: Algorithm, (own, plain): Rtts, queue: Discipline) -> f64 {
    let shares = (1..=3).map(|seed| {
        let scene = Scene {
            discipline: queue,
            service: Duration::from_millis(1),
            jitter: 3.0,
            duration: Duration::from_secs(120),
            warmup: Duration::from_secs(20),
            seed: Seed(seed),
        };
        let group = Group::new();
        let flow = |i: u64, algorithm, rtt_ms| {
            let config = ControllerConfig::new(algorithm);
            let mut built = config.build(Time::ZERO, PACKET_BYTES, Seed(seed).index(i));
            built.couple(&group);
            let mut flow = Flow::new(built, Duration::from_millis(rtt_ms));
            flow.start = Time::from_millis(130 * i);
            flow
        };
        let plain = flow(2, Algorithm::Reno, plain);
        let out = run(&scene, vec![flow(0, algorithm, own[0]), flow(1, algorithm, own[1]), plain]);
        let packets = |i: usize| out.flows[i].packets as f64;
        (packets(0) + packets(1)) / (packets(0) + packets(1) + packets(2))
    });
    shares.sum::<f64>() / 3.0
}

#[test]
fn two_coupled_flows_take_what_one_would() {
    for (name, queue) in [("droptail", Discipline::DropTail(60)), ("PIE", Discipline::Pie(1_000))] {
        let same = ([40, 40], 40);
        let coupled = share_of_two(Algorithm::Coupled, same, queue);
        assert!((0.42..=0.58).contains(&coupled), "{name}: {coupled:.3}");
        let alone = share_of_two(Algorithm::Reno, same, queue);
        assert!((0.62..=0.72).contains(&alone), "{name}, not coupled: {alone:.3}");
    }
}

#[test]
fn with_round_trips_that_differ_they_take_what_the_better_would() {
    // A Reno of 20 ms has about three times what one of 60 ms has (the queue counts too).
    let queue = Discipline::Pie(1_000);
    let coupled = share_of_two(Algorithm::Coupled, ([20, 60], 20), queue);
    assert!((0.42..=0.6).contains(&coupled), "{coupled:.3}");
}
