//! ABC behind its own queue: it fills the link, waits for as long as its equations say, and flows share.

use std::time::Duration;

use airlane_base::{Seed, Time};
use airlane_congestion::{Algorithm, ControllerConfig};

use crate::harness::{AckPolicy, Discipline, Flow, Outcome, PACKET_BYTES, Scene, run};

/// Flows on a link, started half a second apart, from 10 s to 40 s.
fn flows(count: u64, mbps: f64, rtt_ms: u64) -> Outcome {
    let bits = (PACKET_BYTES + 28) as f64 * 8.0;
    let scene = Scene {
        discipline: Discipline::Abc(250),
        service: Duration::from_secs_f64(bits / (mbps * 1e6)),
        jitter: 1.0,
        duration: Duration::from_secs(40),
        warmup: Duration::from_secs(10),
        seed: Seed(1),
    };
    let flow = |i| {
        let config = ControllerConfig::new(Algorithm::Abc);
        let controller = config.build(Time::ZERO, PACKET_BYTES, Seed(i));
        let mut flow = Flow::new(controller, Duration::from_millis(rtt_ms));
        (flow.acks, flow.start) = (AckPolicy::EACH, Time::from_millis(500 * i));
        flow
    };
    run(&scene, (0..count).map(flow).collect())
}

#[test]
fn it_fills_constant_links_with_little_waiting() {
    // Above 50 packets in flight it stays below the rate; below it there is a queue of about the
    // threshold (docs/design/controllers.md).
    for (mbps, rtt_ms, used, wait_ms) in [(24.0, 100, 0.975, 2.0), (6.0, 60, 0.99, 25.0)] {
        let link = flows(1, mbps, rtt_ms).link;
        let wait = link.mean_sojourn.as_secs_f64() * 1e3;
        assert!(link.utilisation > used && wait < wait_ms, "{mbps}: {} {wait}", link.utilisation);
    }
}

#[test]
fn flows_become_equal() {
    let out = flows(2, 12.0, 60);
    let share = out.flows[0].packets as f64 / (out.flows[0].packets + out.flows[1].packets) as f64;
    assert!((0.35..0.65).contains(&share), "{share}");
    assert!(out.link.utilisation > 0.97, "{}", out.link.utilisation);
}
