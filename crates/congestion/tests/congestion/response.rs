//! Reno and Cubic against the response functions of their RFCs: every 1/p-th packet is lost.

#[allow(dead_code, reason = "each test uses its own part of it")]
use std::time::Duration;

use crate::harness::{Discipline, Flow, PACKET_BYTES, Scene, run};
use airlane_base::{Seed, Time};
use airlane_congestion::{Algorithm, ControllerConfig};

/// Mean window in packets over sixteen losses.
fn mean_window(config: &ControllerConfig, p: f64, rtt: f64, expected: f64) -> f64 {
    let n = (1.0 / p).round() as u64;
    let cycle_s = n as f64 / expected * rtt;
    // The first loss comes when slow start has reached about the expected window.
    let first = (2.0 * expected) as u64;
    let scene = Scene {
        discipline: Discipline::EveryNth { n, first },
        service: Duration::ZERO,
        jitter: 0.0,
        duration: Duration::from_secs_f64(24.0 * cycle_s),
        warmup: Duration::from_secs_f64(8.0 * cycle_s),
        seed: Seed(1),
    };
    let controller = config.build(Time::ZERO, PACKET_BYTES, Seed(1));
    run(&scene, vec![Flow::new(controller, Duration::from_secs_f64(rtt))]).flows[0].window
}

/// Mean window of Reno with deterministic loss (RFC 9438, section 5.2, after RFC 3649).
fn reno(p: f64) -> f64 {
    (1.5 / p).sqrt()
}

/// RFC 9438, equation 5 with C = 0.4 and beta = 0.7, and Reno's in the Reno-friendly region.
fn cubic(p: f64, rtt: f64) -> f64 {
    let curve = (0.4 * 3.7 / 1.2f64).powf(0.25) * rtt.powf(0.75) / p.powf(0.75);
    curve.max(reno(p))
}

fn check(algorithm: Algorithm, response: impl Fn(f64, f64) -> f64) {
    let config = ControllerConfig::new(algorithm);
    for rtt in [0.1, 0.2] {
        for p in [1e-3, 1e-4, 1e-5] {
            let expected = response(p, rtt);
            let ratio = mean_window(&config, p, rtt, expected) / expected;
            println!("{algorithm} rtt {rtt} p {p}: {expected:.1} expected, x{ratio:.3}");
            assert!((0.9..=1.1).contains(&ratio), "{algorithm}, rtt {rtt}, p {p}: x{ratio:.3}");
        }
    }
}

#[test]
fn reno_follows_its_response_function() {
    check(Algorithm::Reno, |p, _| reno(p));
}

#[test]
fn cubic_follows_its_response_function() {
    check(Algorithm::Cubic, cubic);
}
