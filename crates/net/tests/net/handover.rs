//! Handovers: pauses in which nothing leaves, and the loss of what waits.

use std::net::Ipv4Addr;
use std::time::Duration;

use airlane_base::{DropReason, Rate, Seed, Time};
use airlane_net::link::{Handover, HandoverQueue, Supply};
use airlane_net::trace::Trace;
use airlane_net::{Limit, Port, QueueSpec};

use crate::common::packet;

const MS: fn(u64) -> Duration = Duration::from_millis;

/// Times at which packets left a link of 12 Mbit/s that a packet of 1500 IP bytes comes to each 2 ms, and how many
/// were lost.
fn run(forwards: bool, supply: &Supply, seed: Seed) -> (Vec<Time>, usize) {
    let handover =
        Handover { interval: MS(2_000), min_pause: MS(50), max_pause: MS(300), forwards };
    let spec = QueueSpec::DropTail(Limit::Packets(1_000));
    let build = move |cell| spec.build(Rate::from_mbps(12.0), MS(20), Seed(cell));
    let mut link = supply.link(Duration::ZERO, Box::new(HandoverQueue::new(handover, seed, build)));
    let (mut drops, mut left) = (Vec::new(), Vec::new());
    for ms in 0..20_000 {
        let now = Time::ZERO + MS(ms);
        while let Some(at) = link.next_event().filter(|at| *at <= now) {
            if link.poll(at, &mut drops).is_some() {
                left.push(at);
            }
        }
        if ms % 2 == 0 {
            let (src, dst) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
            link.push(now, Port::ONLY, packet(src.into(), dst.into(), 1_472), &mut drops);
        }
    }
    assert!(link.counters(Port::ONLY).conserves());
    assert!(drops.iter().all(|drop| drop.reason == DropReason::Loss));
    (left, drops.len())
}

/// Gaps of more than 20 ms: the pauses.
fn pauses(left: &[Time]) -> Vec<Duration> {
    left.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > MS(20)).collect()
}

fn supplies() -> [Supply; 2] {
    let each_ms: Vec<u64> = (1..=1_000).collect();
    let text = each_ms.iter().map(|ms| format!("{ms}\n")).collect::<String>();
    let trace = Trace::parse(text.as_bytes(), "each-ms").unwrap();
    [Supply::Constant(Rate::from_mbps(12.0)), trace.supply()]
}

#[test]
fn each_interval_has_one_pause_of_the_lengths_asked_for() {
    for supply in supplies() {
        for forwards in [false, true] {
            let (left, _) = run(forwards, &supply, Seed(7));
            let pauses = pauses(&left);
            assert_eq!(pauses.len(), 10, "{pauses:?}");
            assert!(pauses.iter().all(|gap| (MS(48)..MS(304)).contains(gap)), "{pauses:?}");
            assert!(pauses.iter().max() > Some(&MS(150)) && pauses.iter().min() < Some(&MS(150)));
        }
    }
}

#[test]
fn what_waits_is_lost_or_forwarded() {
    for supply in supplies() {
        let (left, lost) = run(true, &supply, Seed(7));
        assert_eq!(lost, 0);
        let sent = 10_000;
        assert!(left.len() >= sent - 20, "{}", left.len());
        // A packet each 2 ms that comes in a pause is lost.
        let (kept, lost) = run(false, &supply, Seed(7));
        let paused: Duration = pauses(&kept).iter().sum();
        let expected = paused.as_millis() as f64 / 2.0;
        assert!((lost as f64 - expected).abs() < 25.0, "{lost} of {expected}");
        assert!(kept.len() + lost >= sent - 20);
    }
}

#[test]
fn pauses_come_from_the_seed() {
    let [supply, _] = supplies();
    let (a, b, c) =
        (run(true, &supply, Seed(7)), run(true, &supply, Seed(7)), run(true, &supply, Seed(8)));
    assert_eq!(a, b);
    assert_ne!(a, c);
}
