//! DualPI2 against RFC 9332: which packet goes where, who is marked and dropped how often, whose turn it is.

use std::time::Duration;

use airlane_base::{DropReason, Ecn, Packet, Seed, Time};
use airlane_net::{Capacity, DualPi2, DualPi2Config, Queue};

use crate::common::numbered;

const MS: fn(u64) -> Duration = Duration::from_millis;

fn queue(config: DualPi2Config) -> DualPi2 {
    DualPi2::new(config, Capacity::Unlimited, Seed(5).rng())
}

fn arriving(id: u64, now: Time, ecn: Ecn) -> Box<Packet> {
    let mut packet = numbered(id, 1_500);
    (packet.enqueued, packet.ecn) = (now, ecn);
    packet
}

/// Appendix A, with times in seconds.
fn law(p: f64, delay: f64, before: f64) -> f64 {
    (p + 0.16 * (delay - 0.015) + 3.2 * (delay - before)).clamp(0.0, 1.0)
}

#[test]
fn one_update_is_that_of_the_rfc() {
    let config = DualPi2Config::default();
    for p in [0.0, 0.001, 0.1, 0.5, 0.999] {
        for delay in [0, 1, 10, 15, 16, 30, 100, 900] {
            for before in [0, 1, 10, 15, 16, 30, 100, 900] {
                let want = law(p, delay as f64 / 1e3, before as f64 / 1e3);
                let got = config.next_probability(p, MS(delay), MS(before));
                assert!((got - want).abs() < 1e-12, "{p} {delay} {before}: {got} {want}");
            }
        }
    }
}

#[test]
fn updates_go_by_the_longer_wait_also_those_that_nobody_asked_for() {
    let (mut queue, mut drops) = (queue(DualPi2Config::default()), Vec::new());
    queue.enqueue(Time::ZERO, arriving(0, Time::ZERO, Ecn::NotEct), &mut drops);
    queue.enqueue(Time::from_millis(50), arriving(1, Time::from_millis(50), Ecn::Ect1), &mut drops);
    let (mut p, mut before) = (0.0, 0.0);
    for tick in 1..=20 {
        let delay = 0.016 * f64::from(tick);
        p = law(p, delay, before);
        before = delay;
    }
    let now = Time::from_millis(320);
    assert!((queue.probability(now) - p).abs() < 1e-9, "{p}");
    // Empty, it forgets, and a long pause is one step as many short ones are.
    while queue.dequeue(now, &mut drops).packet().is_some() {}
    assert_eq!(queue.probability(now + MS(60_000)), 0.0);
}

/// Shares of packets of a code point that are marked, and dropped, while p' is `p`.
fn fates(p: f64, ecn: Ecn) -> (f64, f64) {
    // Gains of zero keep the probability where one step has put it.
    let config = DualPi2Config {
        alpha_per_s: p / 0.985,
        beta_per_s: 0.0,
        update_interval: Duration::from_secs(1),
        step_threshold: MS(10_000),
        ..DualPi2Config::default()
    };
    let (mut queue, mut drops) = (queue(config), Vec::new());
    for id in 0..20_010 {
        queue.enqueue(Time::ZERO, arriving(id, Time::ZERO, ecn), &mut drops);
    }
    let now = Time::from_millis(1_000);
    assert!((queue.probability(now) - p).abs() < 1e-9);
    let (mut served, mut marked) = (0, 0);
    // The last ones have nobody behind them, and are left alone.
    while queue.len() > 10 {
        let packet = queue.dequeue(now, &mut drops).packet().unwrap();
        (served, marked) = (served + 1, marked + i32::from(packet.ecn == Ecn::Ce));
    }
    assert!(drops.iter().all(|drop| drop.reason == DropReason::Aqm));
    let all = f64::from(served) + drops.len() as f64;
    (f64::from(marked) / all, drops.len() as f64 / all)
}

#[test]
fn classic_packets_are_hit_by_the_square() {
    for p in [0.1, 0.3, 0.45] {
        let close = |found: f64| (found - p * p).abs() < 0.01;
        let (marked, dropped) = fates(p, Ecn::NotEct);
        assert!(marked == 0.0 && close(dropped), "{p}: {marked} {dropped}");
        let (marked, dropped) = fates(p, Ecn::Ect0);
        assert!(close(marked) && dropped == 0.0, "{p}: {marked} {dropped}");
    }
    // Under overload the code point does not save them.
    let (marked, dropped) = fates(0.8, Ecn::Ect0);
    assert!(marked == 0.0 && (dropped - 0.64).abs() < 0.02, "{marked} {dropped}");
}

#[test]
fn packets_of_l4s_are_marked_by_twice_the_root_and_under_overload_dropped_too() {
    for p in [0.1, 0.3, 0.45] {
        let (marked, dropped) = fates(p, Ecn::Ect1);
        assert!((marked - 2.0 * p).abs() < 0.02 && dropped == 0.0, "{p}: {marked} {dropped}");
    }
    let (marked, dropped) = fates(0.8, Ecn::Ect1);
    assert!((dropped - 0.64).abs() < 0.02, "{dropped}");
    assert!((marked + dropped - 1.0).abs() < 1e-9, "{marked} {dropped}");
}

#[test]
fn above_the_step_threshold_every_packet_of_l4s_is_marked() {
    for (wait, ecn) in [(1_000, Ecn::Ect1), (1_001, Ecn::Ce)] {
        let (mut queue, mut drops) = (queue(DualPi2Config::default()), Vec::new());
        queue.enqueue(Time::ZERO, arriving(0, Time::ZERO, Ecn::Ect1), &mut drops);
        let packet = queue.dequeue(Time::from_micros(wait), &mut drops).packet().unwrap();
        assert_eq!(packet.ecn, ecn, "{wait} us");
    }
}

#[test]
fn while_both_wait_the_l_queue_has_nine_tenths() {
    let config = DualPi2Config { alpha_per_s: 0.0, beta_per_s: 0.0, ..DualPi2Config::default() };
    let (mut queue, mut drops) = (queue(config), Vec::new());
    let now = Time::ZERO;
    for id in 0..1_000 {
        let ecn = if id % 2 == 0 { Ecn::Ect1 } else { Ecn::Ect0 };
        queue.enqueue(now, arriving(id, now, ecn), &mut drops);
    }
    let served: Vec<u64> =
        (0..400).map(|_| queue.dequeue(now, &mut drops).packet().unwrap().id).collect();
    let classic = served.iter().filter(|id| *id % 2 == 1).count();
    assert!((39..=41).contains(&classic), "{classic}");
    assert_eq!(served[0], 0, "the L queue begins");
    // What is alone has all of the link.
    while queue.dequeue(now, &mut drops).packet().is_some() {}
    assert_eq!((queue.len(), queue.bytes(), drops.len()), (0, 0, 0));
}
