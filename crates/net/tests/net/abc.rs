//! ABC's queue: what it marks, and what it leaves alone.

use std::sync::Arc;
use std::time::Duration;

use crate::common::numbered;
use airlane_base::{Ecn, Packet, Rate, Time};
use airlane_net::{Abc, AbcConfig, Capacity, Node, Opportunities, Port, SerialLink, TraceLink};

fn queue() -> Box<Abc> {
    Box::new(Abc::new(AbcConfig::default(), Capacity::Packets(10_000)))
}

/// Pushes a packet of 1500 bytes every `gap` for two seconds, and returns those that left in the second
/// second.
fn through(mut link: impl Node, gap: Duration, ecn: Ecn) -> Vec<Packet> {
    let (mut left, mut drops) = (Vec::new(), Vec::new());
    let mut next = Time::ZERO;
    let mut id = 0;
    while next < Time::from_millis(2_000) {
        let event = link.next_event().filter(|at| *at <= next);
        if let Some(at) = event {
            while let Some(packet) = link.poll(at, &mut drops) {
                left.push((at, *packet));
            }
            continue;
        }
        let packet = Box::new(Packet { ecn, ..*numbered(id, 1_500) });
        link.push(next, Port::ONLY, packet, &mut drops);
        id += 1;
        next += gap;
    }
    assert!(drops.is_empty());
    left.into_iter().filter(|(at, _)| *at >= Time::from_millis(1_000)).map(|(_, p)| p).collect()
}

fn accelerated(packets: &[Packet]) -> f64 {
    packets.iter().filter(|p| p.ecn == Ecn::Ect0).count() as f64 / packets.len() as f64
}

#[test]
fn half_of_a_link_in_use_is_told_to_double_and_a_full_one_to_stay_a_little_below() {
    let rate = Rate::from_mbps(12.0);
    let link = || SerialLink::constant(rate, queue());
    // A packet takes 1 ms.
    let half = through(link(), Duration::from_millis(2), Ecn::Ect0);
    assert!(accelerated(&half) > 0.97, "{}", accelerated(&half));
    let full = through(link(), Duration::from_millis(1), Ecn::Ect0);
    // eta / 2.
    assert!((0.48..0.5).contains(&accelerated(&full)), "{}", accelerated(&full));
}

#[test]
fn a_queue_above_the_threshold_is_told_to_go() {
    // 5 % more than the link carries: in the second second 50 to 100 ms wait. f = eta/2 - (x - d_t) / (2 delta).
    let link = SerialLink::constant(Rate::from_mbps(12.0), queue());
    let packets = through(link, Duration::from_micros(952), Ecn::Ect1);
    let share = packets.iter().filter(|p| p.ecn == Ecn::Ect1).count() as f64 / packets.len() as f64;
    let mean_wait = 0.075;
    let expected = 0.49 - (mean_wait - 0.02) / 0.266;
    assert!((share - expected).abs() < 0.04, "{share} for {expected}");
}

#[test]
fn what_may_not_be_marked_is_not_and_a_mark_from_before_stays() {
    let link = || SerialLink::constant(Rate::from_mbps(12.0), queue());
    for ecn in [Ecn::NotEct, Ecn::Ce] {
        let packets = through(link(), Duration::from_micros(900), ecn);
        assert!(packets.iter().all(|p| p.ecn == ecn));
    }
}

#[test]
fn opportunities_of_a_trace_are_the_capacity_that_it_goes_by() {
    // One a millisecond, of which half are used.
    let trace = Arc::new(Opportunities::new((1..=100).collect()).unwrap());
    let link = TraceLink::new(trace, Duration::from_micros(300), queue());
    let packets = through(link, Duration::from_millis(2), Ecn::Ect0);
    assert!(accelerated(&packets) > 0.97, "{}", accelerated(&packets));
}
