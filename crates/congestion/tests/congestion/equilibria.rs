//! Who gets what beside whom, in short. The tables of `docs/design/controllers.md` are the long
//! form: `cargo run --release -p airlane-congestion --example equilibria`.

#[allow(dead_code, reason = "each test uses its own part of it")]
use std::time::Duration;

use crate::harness::{AckPolicy, Discipline, Flow, OnOff, Outcome, PACKET_BYTES, Scene, run};
use airlane_base::{Seed, Time};
use airlane_congestion::{Algorithm, ControllerConfig};

const RTT: Duration = Duration::from_millis(20);
const SEEDS: std::ops::RangeInclusive<u64> = 1..=2;

/// Cubic flows of these weights at 10 packets of bandwidth-delay product per unit of weight.
fn contend(
    weights: &[f64],
    queue: impl Fn(usize) -> Discipline,
    seed: u64,
    seconds: u64,
    change: impl Fn(usize, &mut Flow),
) -> Outcome {
    let bdp = 10.0 * weights.iter().sum::<f64>();
    let scene = Scene {
        discipline: queue(bdp.round() as usize),
        service: RTT.div_f64(bdp),
        jitter: 3.0,
        duration: Duration::from_secs(seconds),
        warmup: Duration::from_secs(10),
        seed: Seed(seed),
    };
    let flows = weights.iter().enumerate().map(|(i, &weight)| {
        let seed = Seed(seed).index(i as u64);
        let built = ControllerConfig::cubic(weight).build(Time::ZERO, PACKET_BYTES, seed);
        let mut flow = Flow::new(built, RTT);
        flow.start = Time::from_millis(seed.0 % 500);
        change(i, &mut flow);
        flow
    });
    run(&scene, flows.collect())
}

fn packets(out: &Outcome, flows: std::ops::Range<usize>) -> f64 {
    out.flows[flows].iter().map(|f| f.packets as f64).sum()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0), |(sum, n), v| (sum + v, n + 1));
    sum / f64::from(n)
}

/// Two flows of weight `w` over two plain ones.
fn ratio(w: f64, queue: fn(usize) -> Discipline, change: impl Fn(usize, &mut Flow)) -> f64 {
    mean(SEEDS.map(|seed| {
        let out = contend(&[w, w, 1.0, 1.0], queue, seed, 90, &change);
        packets(&out, 0..2) / packets(&out, 2..4)
    }))
}

fn droptail(bdp: usize) -> Discipline {
    Discipline::DropTail(bdp)
}

fn pie(bdp: usize) -> Discipline {
    Discipline::Pie(20 * bdp)
}

fn assert_within(what: &str, measured: f64, wanted: f64, share: f64) {
    let off = measured / wanted - 1.0;
    assert!(
        off.abs() <= share,
        "{what}: {measured:.3} instead of {wanted} ({:+.0} %)",
        off * 100.0
    );
}

#[test]
fn a_weight_is_a_ratio_under_droptail_and_pie() {
    for (w, share) in [(1.0, 0.10), (2.0, 0.15), (3.0, 0.15), (5.0, 0.15), (0.5, 0.15)] {
        assert_within(&format!("{w} under droptail"), ratio(w, droptail, |_, _| {}), w, share);
        assert_within(&format!("{w} under PIE"), ratio(w, pie, |_, _| {}), w, share);
    }
}

#[test]
fn a_weight_is_a_ratio_with_decimated_acknowledgements_and_pauses() {
    let decimate = |_: usize, flow: &mut Flow| flow.acks = AckPolicy::decimated(RTT);
    assert_within("3, decimated", ratio(3.0, pie, decimate), 3.0, 0.15);
    assert_within("3, decimated, droptail", ratio(3.0, droptail, decimate), 3.0, 0.25);
    // Two of four pause at times: who does not gains, so equals are paired with equals.
    let pause = |i: usize, flow: &mut Flow| {
        flow.on_off = Some(OnOff {
            on: Duration::from_millis(3_400),
            off: Duration::from_millis(600),
            phase: Duration::from_millis(1_000 * i as u64),
        });
    };
    assert_within("1, with pauses", ratio(1.0, droptail, pause), 1.0, 0.15);
}

#[test]
fn weights_that_add_up_to_four_take_half_beside_four() {
    let weights = [0.5, 0.8, 1.2, 1.5, 1.0, 1.0, 1.0, 1.0];
    for queue in [droptail, pie] {
        let still = mean(SEEDS.map(|seed| {
            let out = contend(&weights, queue, seed, 60, |_, _| {});
            packets(&out, 0..4) / packets(&out, 0..8)
        }));
        assert!((0.47..=0.53).contains(&still), "{still:.3}");
        // Weights that move round by one every half second.
        let turn = |i: usize, flow: &mut Flow| {
            if i < 4 {
                let at = |n: usize| (Time::from_millis(500 * n as u64), weights[(i + n) % 4]);
                flow.weights = (1..120).map(at).collect();
            }
        };
        let changing = mean(SEEDS.map(|seed| {
            let out = contend(&weights, queue, seed, 60, turn);
            packets(&out, 0..4) / packets(&out, 0..8)
        }));
        assert!((0.47..=0.53).contains(&changing), "changing: {changing:.3}");
    }
}

/// One BBR on a link with a droptail queue of two bandwidth-delay products.
fn bbr_alone(mbps: f64, rtt_ms: u64, jitter: f64) -> (f64, f64, f64) {
    let rtt = Duration::from_millis(rtt_ms);
    let service = Duration::from_secs_f64((PACKET_BYTES + 28) as f64 * 8.0 / (mbps * 1e6));
    let scene = Scene {
        discipline: Discipline::DropTail((2.0 * rtt.div_duration_f64(service)).round() as usize),
        service,
        jitter,
        duration: Duration::from_secs(40),
        warmup: Duration::from_secs(5),
        seed: Seed(1),
    };
    let bbr = ControllerConfig::new(Algorithm::Bbr).build(Time::ZERO, PACKET_BYTES, Seed(1));
    let out = run(&scene, vec![Flow::new(bbr, rtt)]);
    let waiting = out.link.mean_queue_packets;
    (out.link.utilisation, waiting * service.div_duration_f64(rtt), waiting)
}

#[test]
fn bbr_alone_fills_the_link_and_not_the_queue() {
    for mbps in [6.0, 50.0] {
        for rtt_ms in [20, 50, 100] {
            let (used, queue_rtts, queue_packets) = bbr_alone(mbps, rtt_ms, 1.0);
            let what = format!("{mbps} Mbit/s, {rtt_ms} ms");
            assert!(used >= 0.95, "{what}: {used:.3} of the capacity");
            assert!(
                queue_rtts < 0.15 || queue_packets < 3.0,
                "{what}: {queue_rtts:.3} round trips, {queue_packets:.1} packets"
            );
        }
    }
}
