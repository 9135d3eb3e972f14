//! CoDel and FQ-CoDel against their RFCs, and under load.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use crate::common::reno::load;
use crate::common::{numbered, packet};
use airlane_base::{DropReason, Ecn, Packet, Rate, Seed, Time};
use airlane_net::{Capacity, Codel, CodelConfig, FqCodel, Limit, Queue, QueueSpec};

const MS: fn(u64) -> Duration = Duration::from_millis;

/// A queue in which packets wait twice the target for ever: two come and two leave each time. When it
/// drops, in milliseconds.
fn drops_of(config: CodelConfig, ecn: Ecn) -> (Vec<f64>, usize) {
    let mut codel = Codel::new(config, Capacity::Unlimited);
    let (mut drops, mut at, mut marks) = (Vec::new(), Vec::new(), 0);
    let mut id = 0;
    // A backlog of 10 ms at a packet per ms; what is dropped is made up for.
    for tick in 0..3_000 {
        let now = Time::from_millis(tick);
        while codel.len() < 10 {
            let mut packet = numbered(id, 1_500);
            (packet.enqueued, packet.ecn) = (now, ecn);
            codel.enqueue(now, packet, &mut drops);
            id += 1;
        }
        let before = drops.len();
        let served = codel.dequeue(now, &mut drops).packet().expect("there is a backlog");
        marks += usize::from(served.ecn == Ecn::Ce);
        at.extend((before..drops.len()).map(|_| now.as_secs_f64() * 1e3));
    }
    assert!(drops.iter().all(|d| d.reason == DropReason::Aqm));
    (at, marks)
}

#[test]
fn drops_come_faster_and_faster_by_the_root_of_their_number() {
    let (at, marks) = drops_of(CodelConfig::default(), Ecn::NotEct);
    assert_eq!(marks, 0);
    // The first once the delay has stood for an interval: the backlog takes 5 ms to be that old.
    assert!((103.0..110.0).contains(&at[0]), "{:?}", &at[..3]);
    // Section 5.4: the n-th gap is the interval over the root of n, within a tick.
    let mut expected = at[0];
    for (n, drop) in (1..).zip(&at[1..15]) {
        expected += 100.0 / f64::from(n).sqrt();
        assert!((drop - expected).abs() < 2.0, "drop {n} at {drop}, expected {expected}");
    }
}

#[test]
fn marks_stand_for_drops_where_packets_allow_it() {
    let config = CodelConfig { ecn: true, ..CodelConfig::default() };
    let (dropped, marks) = drops_of(config, Ecn::Ect0);
    let (plain, _) = drops_of(config, Ecn::NotEct);
    assert!(dropped.is_empty());
    assert!(marks.abs_diff(plain.len()) <= plain.len() / 10, "{marks} beside {}", plain.len());
}

#[test]
fn a_short_queue_and_a_short_delay_are_left_alone() {
    let mut codel = Codel::new(CodelConfig::default(), Capacity::Unlimited);
    let mut drops = Vec::new();
    for tick in 0..5_000 {
        let now = Time::from_millis(tick);
        // One packet waits for 50 ms: it is the only one.
        if tick % 50 == 0 {
            let mut packet = numbered(tick, 1_500);
            packet.enqueued = now;
            codel.enqueue(now, packet, &mut drops);
        }
        if tick % 50 == 49 {
            assert!(codel.dequeue(now, &mut drops).packet().is_some());
        }
    }
    assert!(drops.is_empty());
}

#[test]
fn the_standing_delay_is_short_under_load() {
    for flows in [5, 20, 50] {
        for many in [false, true] {
            let (limit, config) = (Limit::Bdp(4.0), CodelConfig::default());
            let queue = match many {
                true => QueueSpec::FqCodel(limit, config),
                false => QueueSpec::Codel(limit, config),
            };
            let r = load(flows, queue.clone());
            let ms = r.mean_sojourn.as_secs_f64() * 1e3;
            println!("{flows} flows, {queue:?}: mean {ms:.1} ms, utilisation {:.3}", r.utilisation);
            assert!(ms < 20.0, "{flows} flows: {ms} ms");
            assert!(r.utilisation > 0.85, "{flows} flows: {}", r.utilisation);
        }
    }
}

/// A packet of a flow, told by its last byte.
fn of_flow(flow: u8, id: u64, bytes: u32) -> Box<Packet> {
    let address = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
    Box::new(Packet { id, ..*packet(address(flow), address(250), bytes) })
}

#[test]
fn flows_share_evenly_and_a_sparse_one_goes_first() {
    let mut queue = FqCodel::new(CodelConfig::default(), Capacity::Unlimited, Seed(3));
    let mut drops = Vec::new();
    let mut served = [0_u32; 4];
    // Two flows keep a backlog, one with packets of half the size; one sends a packet now and then.
    for flow in [1, 2] {
        for id in 0..400 {
            queue.enqueue(
                Time::ZERO,
                of_flow(flow, id, if flow == 1 { 1_500 } else { 750 }),
                &mut drops,
            );
        }
    }
    for tick in 0..300 {
        let now = Time::from_micros(tick);
        if tick % 20 == 10 {
            queue.enqueue(now, of_flow(3, tick, 200), &mut drops);
        }
        let next = queue.dequeue(now, &mut drops).packet().expect("a backlog");
        let IpAddr::V4(ip) = next.src.ip() else { unreachable!() };
        if tick % 20 == 10 {
            assert_eq!(ip.octets()[3], 3, "the sparse flow is served at once");
        }
        served[usize::from(ip.octets()[3])] += next.ip_bytes();
    }
    let ratio = f64::from(served[1]) / f64::from(served[2]);
    assert!((0.95..1.05).contains(&ratio), "{served:?}");
    assert_eq!(served[3], 15 * 200);
}

#[test]
fn where_there_is_no_room_the_longest_queue_loses() {
    let mut queue = FqCodel::new(CodelConfig::default(), Capacity::Packets(50), Seed(3));
    let mut drops = Vec::new();
    for id in 0..200 {
        queue.enqueue(Time::ZERO, of_flow(1, id, 1_500), &mut drops);
        if id % 20 == 0 {
            queue.enqueue(Time::ZERO, of_flow(2, id, 1_500), &mut drops);
        }
        assert!(queue.len() <= 50);
    }
    assert!(drops.iter().all(|d| d.reason == DropReason::Overflow));
    let quiet =
        drops.iter().filter(|d| d.packet.src.ip() == IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)));
    assert_eq!(quiet.count(), 0);
    // At 1 Mbit/s nothing is lost by the limit alone.
    assert_eq!(Limit::Packets(50).resolve(Rate::from_mbps(1.0), MS(1)), Capacity::Packets(50));
}
