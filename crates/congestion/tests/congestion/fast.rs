//! Weighted FAST's equilibrium: what its equation says, in the packet simulator.

#[allow(dead_code, reason = "each test uses its own part of it")]
use std::time::Duration;

use crate::harness::{AckPolicy, Discipline, Flow, Outcome, PACKET_BYTES, Scene, run};
use airlane_base::{Seed, Time};
use airlane_congestion::ControllerConfig;
use airlane_congestion::fast::KAPPA;

const RTT: Duration = Duration::from_millis(40);
/// Packets of bandwidth-delay product.
const BDP: f64 = 60.0;

fn contend(weights: &[f64], change: impl Fn(usize, &mut Flow)) -> Outcome {
    let scene = Scene {
        discipline: Discipline::DropTail(3 * BDP as usize),
        service: RTT.div_f64(BDP),
        jitter: 1.0,
        duration: Duration::from_secs(60),
        warmup: Duration::from_secs(20),
        seed: Seed(7),
    };
    let flows = weights.iter().map(|&weight| {
        let config = ControllerConfig::Fast { weight };
        // One after the other into the link of those before: who comes late sees their queue.
        Flow::new(config.build(Time::ZERO, PACKET_BYTES, Seed(1)), RTT)
    });
    let mut flows: Vec<Flow> = flows.collect();
    flows.iter_mut().enumerate().for_each(|(i, f)| change(i, f));
    run(&scene, flows)
}

/// What each flow got, over what its weight is worth.
fn per_weight(out: &Outcome, weights: &[f64]) -> Vec<f64> {
    let total: u64 = out.flows.iter().map(|f| f.packets).sum();
    let sum: f64 = weights.iter().sum();
    let each = out.flows.iter().zip(weights);
    each.map(|(f, w)| f.packets as f64 / total as f64 * sum / w).collect()
}

#[test]
fn flows_share_by_weight_fill_the_link_and_keep_a_small_queue() {
    let weights = [0.5, 1.0, 2.0, 4.0];
    let out = contend(&weights, |_, _| {});
    for (share, w) in per_weight(&out, &weights).iter().zip(weights) {
        assert!((0.85..1.15).contains(share), "{w}: {share:.3}");
    }
    assert!(out.link.utilisation > 0.99, "{}", out.link.utilisation);
    let (queue, wanted) = (out.link.mean_queue_packets, KAPPA * weights.iter().sum::<f64>());
    assert!((0.5 * wanted..1.5 * wanted).contains(&queue), "{queue:.1} packets of {wanted}");
    assert_eq!(out.flows.iter().map(|f| f.bins.len()).min(), Some(600));
}

#[test]
fn round_trips_and_rare_acknowledgements_change_little() {
    let weights = [1.0, 1.0, 3.0, 3.0];
    let mixed = contend(&weights, |i, f| f.rtt = RTT.mul_f64(if i % 2 == 0 { 1.0 } else { 2.0 }));
    let rare = contend(&weights, |_, f| f.acks = AckPolicy::decimated(RTT));
    for out in [mixed, rare] {
        for (share, w) in per_weight(&out, &weights).iter().zip(weights) {
            assert!((0.7..1.3).contains(share), "{w}: {share:.3}");
        }
        assert!(out.link.utilisation > 0.97, "{}", out.link.utilisation);
    }
}

#[test]
fn a_new_weight_holds_within_a_second() {
    let out = contend(&[1.0, 1.0], |i, f| {
        if i == 0 {
            f.weights = vec![(Time::from_millis(40_000), 3.0)];
        }
    });
    let ratio = |from: usize, to: usize| {
        let sum = |i: usize| f64::from(out.flows[i].bins[from..to].iter().sum::<u32>());
        sum(0) / sum(1)
    };
    assert!((0.85..1.18).contains(&ratio(300, 400)), "{}", ratio(300, 400));
    assert!((2.4..3.6).contains(&ratio(410, 600)), "{}", ratio(410, 600));
}
