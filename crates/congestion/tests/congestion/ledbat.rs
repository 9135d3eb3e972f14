//! LEDBAT's equilibrium: its target alone, and next to nothing beside those who keep more in the queue.

#[allow(dead_code, reason = "each test uses its own part of it")]
use std::time::Duration;

use crate::harness::{Discipline, Flow, Outcome, PACKET_BYTES, Scene, run};
use airlane_base::{Seed, Time};
use airlane_congestion::ledbat::TARGET;
use airlane_congestion::{Algorithm, ControllerConfig};

const RTT: Duration = Duration::from_millis(40);
/// Packets of bandwidth-delay product.
const BDP: f64 = 40.0;

/// Flows of these controllers at a queue of so many bandwidth-delay products.
fn contend(algorithms: &[Algorithm], queue_bdp: f64) -> Outcome {
    let scene = Scene {
        discipline: Discipline::DropTail((queue_bdp * BDP) as usize),
        service: RTT.div_f64(BDP),
        jitter: 1.0,
        duration: Duration::from_secs(90),
        warmup: Duration::from_secs(40),
        seed: Seed(7),
    };
    let flow = |algorithm: &Algorithm| {
        let config = ControllerConfig::new(*algorithm);
        Flow::new(config.build(Time::ZERO, PACKET_BYTES, Seed(1)), RTT)
    };
    run(&scene, algorithms.iter().map(flow).collect())
}

#[test]
fn alone_it_fills_the_link_and_keeps_its_target_in_the_queue() {
    let out = contend(&[Algorithm::Ledbat], 8.0);
    assert!(out.link.utilisation > 0.99, "{}", out.link.utilisation);
    let waiting = out.link.mean_queue_packets * RTT.as_secs_f64() / BDP;
    let target = TARGET.as_secs_f64();
    assert!((0.8 * target..1.1 * target).contains(&waiting), "{waiting:.3} s");
}

#[test]
fn it_gives_way_to_cubic() {
    let out = contend(&[Algorithm::Ledbat, Algorithm::Cubic], 8.0);
    let share = out.flows[0].packets as f64 / (out.flows[0].packets + out.flows[1].packets) as f64;
    assert!(share < 0.05, "{share:.3}");
}
