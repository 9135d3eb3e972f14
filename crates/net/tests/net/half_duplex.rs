//! A half-duplex link: one server, round robin per packet between both directions, never idle while
//! one of them has a packet that it serves.

use std::sync::Arc;
use std::time::Duration;

use crate::common::numbered;
use crate::conservation::{queue, supply};
use crate::queue_contract::holding;
use airlane_base::{Ecn, Rate, Seed, Time};
use airlane_net::Direction::{Down, Up};
use airlane_net::{
    Abc, AbcConfig, Capacity, Counters, DropTail, LinkReport, Node, Opportunities, Port, Queue,
    RateProfile, RoundRobin, Supply,
};
use proptest::prelude::*;

const MS: fn(u64) -> Duration = Duration::from_millis;
const PORTS: [Port; 2] = [RoundRobin::port(Down), RoundRobin::port(Up)];

/// A packet that arrives: when, at which port, how many IP bytes.
type Arrival = (Time, Port, u32);

fn unlimited() -> Box<dyn Queue> {
    Box::new(DropTail::new(Capacity::Unlimited))
}

fn link(supply: &Supply) -> Box<dyn Node> {
    supply.half_duplex(Duration::ZERO, unlimited(), unlimited())
}

/// A constant rate, a profile and opportunities, each of 36 or 40 Mbit/s in the mean.
fn supplies() -> [Supply; 3] {
    let steps =
        [(MS(0), Rate::from_mbps(70.0)), (MS(30), Rate::ZERO), (MS(40), Rate::from_mbps(25.0))];
    let profile = RateProfile::new(&steps, Some(MS(100))).unwrap();
    assert!((profile.mean().mbps() - 36.0).abs() < 0.1);
    // Ten opportunities in three milliseconds.
    let opportunities = Opportunities::new(vec![1, 1, 1, 2, 2, 2, 2, 3, 3, 3]).unwrap();
    [
        Supply::Constant(Rate::from_mbps(40.0)),
        Supply::Profile(Arc::new(profile)),
        Supply::Opportunities(Arc::new(opportunities)),
    ]
}

/// Departures (when, packet, port) until `end`. A packet's number is its place among the arrivals.
fn run(node: &mut dyn Node, arrivals: &[Arrival], end: Time) -> Vec<(Time, u64, Port)> {
    let (mut out, mut drops) = (Vec::new(), Vec::new());
    let mut events = |node: &mut dyn Node, until: Time| {
        while let Some(at) = node.next_event().filter(|at| *at <= until) {
            while let Some(p) = node.poll(at, &mut drops) {
                out.push((at, p.id, arrivals[p.id as usize].1));
            }
            assert!(node.next_event().is_none_or(|next| next > at), "the link spins at {at}");
        }
    };
    let mut dropped = Vec::new();
    for (id, (at, port, bytes)) in arrivals.iter().enumerate() {
        events(node, *at);
        let mut packet = numbered(id as u64, *bytes);
        packet.ecn = if id % 2 == 0 { Ecn::Ect0 } else { Ecn::NotEct };
        node.push(*at, *port, packet, &mut dropped);
        assert!((0..node.ports()).all(|port| node.counters(Port(port)).conserves()));
    }
    events(node, end);
    out
}

fn reports(node: &dyn Node, until: Time) -> [LinkReport; 2] {
    PORTS.map(|port| node.link_stats(port, until).unwrap().report())
}

/// Packets of 1500 bytes, all at time zero.
fn burst(port: Port, packets: usize) -> Vec<Arrival> {
    vec![(Time::ZERO, port, 1_500); packets]
}

/// Packets of 1500 bytes at even distances, until `end`.
fn paced(port: Port, rate: Rate, end: Time) -> Vec<Arrival> {
    let gap = rate.time_for(1_500).as_nanos() as u64;
    (0..).map(|i| (Time::from_nanos(i * gap), port, 1_500)).take_while(|a| a.0 < end).collect()
}

fn sorted(mut arrivals: Vec<Arrival>) -> Vec<Arrival> {
    arrivals.sort_by_key(|(at, ..)| *at);
    arrivals
}

#[test]
fn two_saturated_directions_get_half_each_whatever_the_supply() {
    // Between two opportunities: one at the very end would have carried, but not count.
    let end = Time::from_nanos(2_999_500_000);
    for supply in supplies() {
        let mut link = link(&supply);
        let all = [burst(PORTS[1], 12_000), burst(PORTS[0], 12_000)].concat();
        let out = run(&mut *link, &all, end);
        let [down, up] = reports(&*link, end);
        let shares = [down.utilisation, up.utilisation];
        println!("{supply:?}: {shares:?}");
        for share in shares {
            assert!((share - 0.5).abs() < 0.01, "{supply:?}: {shares:?}");
        }
        assert!(shares[0] + shares[1] <= 1.0 && shares[0] + shares[1] > 0.999);
        // The first came while the link was idle; from there on each follows one of the other.
        assert!(out.windows(2).all(|pair| pair[0].2 != pair[1].2), "they alternate");
    }
}

#[test]
fn a_direction_that_is_limited_leaves_the_rest_to_the_other() {
    let end = Time::from_millis(3_000);
    for supply in supplies() {
        for mbps in [1.0, 4.0, 10.0] {
            let mut link = link(&supply);
            let up = paced(PORTS[1], Rate::from_mbps(mbps), end);
            run(&mut *link, &sorted([burst(PORTS[0], 12_000), up].concat()), end);
            let [down, up] = reports(&*link, end);
            let rate = |r: &LinkReport| r.carried_bytes as f64 * 8e-6 / 3.0;
            assert!((rate(&up) / mbps - 1.0).abs() < 0.02, "{supply:?}: {} up", rate(&up));
            let rest = supply.mean().mbps() - mbps;
            assert!((rate(&down) / rest - 1.0).abs() < 0.02, "{supply:?}: {} down", rate(&down));
        }
    }
}

#[test]
fn a_small_packet_takes_a_turn_but_only_its_own_bytes() {
    let supply = Supply::Constant(Rate::from_mbps(12.0));
    let mut link = link(&supply);
    let small = vec![(Time::ZERO, PORTS[1], 60); 3];
    let out = run(&mut *link, &[burst(PORTS[0], 3), small].concat(), Time::FAR_FUTURE);
    // A packet of 1500 bytes takes a millisecond, one of 60 bytes 40 microseconds.
    let micros: Vec<u64> = out.iter().map(|(at, ..)| at.as_nanos() / 1_000).collect();
    assert_eq!(micros, [1_000, 1_040, 2_040, 2_080, 3_080, 3_120]);
}

#[test]
fn a_queue_that_holds_its_packets_leaves_its_turns_to_the_other() {
    let every_ms = Supply::Opportunities(Arc::new(Opportunities::new(vec![1]).unwrap()));
    // A service that begins at 4 ms ends at 5; an opportunity of 5 ms finds the packet servable.
    let constant = Supply::Constant(Rate::from_mbps(12.0));
    for (supply, order) in
        [(constant, [1, 1, 1, 1, 1, 0, 1, 0]), (every_ms, [1, 1, 1, 1, 0, 1, 0, 1])]
    {
        let hold = Some(Duration::from_micros(4_500));
        let mut link = supply.half_duplex(Duration::ZERO, holding(hold), unlimited());
        let all = [burst(PORTS[0], 2), burst(PORTS[1], 6)].concat();
        let out = run(&mut *link, &all, Time::FAR_FUTURE);
        let ports: Vec<u16> = out.iter().map(|(.., port)| port.0).collect();
        assert_eq!(ports, order, "{supply:?}");
        let ms: Vec<u64> = out.iter().map(|(at, ..)| at.as_nanos() / 1_000_000).collect();
        assert_eq!(ms, [1, 2, 3, 4, 5, 6, 7, 8], "no millisecond is lost");
        assert_eq!(link.next_event(), None);
    }
}

#[test]
fn a_queue_that_follows_its_capacity_is_told_what_the_other_direction_leaves() {
    /// Packets that left by the way down unmarked, and all that did, while the way up offers `up`.
    fn accelerated(up: Option<Rate>) -> (f64, f64) {
        let end = Time::from_millis(4_000);
        let abc = Box::new(Abc::new(AbcConfig::default(), Capacity::Unlimited));
        let supply = Supply::Constant(Rate::from_mbps(40.0));
        let mut link = supply.half_duplex(Duration::ZERO, abc, unlimited());
        let down = paced(PORTS[0], Rate::from_mbps(10.0), end);
        let up = up.map_or_else(Vec::new, |rate| paced(PORTS[1], rate, end));
        let (mut kept, mut all, mut drops) = (0, 0, Vec::new());
        for (at, port, bytes) in sorted([down, up].concat()) {
            while let Some(next) = link.next_event().filter(|next| *next <= at) {
                while let Some(p) = link.poll(next, &mut drops) {
                    all += usize::from(p.ecn != Ecn::NotEct);
                    kept += usize::from(p.ecn == Ecn::Ect0);
                }
            }
            let mut packet = numbered(0, bytes);
            packet.ecn = if port == PORTS[0] { Ecn::Ect0 } else { Ecn::NotEct };
            link.push(at, port, packet, &mut drops);
        }
        (kept as f64, f64::from(all as u32))
    }
    // Ten of forty: f = eta 40 / (2 * 10), so all are accelerated.
    let (kept, all) = accelerated(None);
    assert!(kept / all > 0.99, "{kept} of {all}");
    // The other takes 28: twelve are left, no less than the half of 20: f = eta 20 / (2 * 10).
    let (kept, all) = accelerated(Some(Rate::from_mbps(28.0)));
    assert!((kept / all - 0.98).abs() < 0.03, "{kept} of {all}");
}

/// Asserts that each service begins as soon as the server is free and a packet may be served. Each
/// port's queue is first in, first out, and holds every packet for its `hold`.
fn check_work(supply: &Supply, hold: [Duration; 2], arrivals: &[Arrival]) {
    let queues = hold.map(|hold| holding(Some(hold)));
    let [down, up] = queues;
    let mut link = supply.half_duplex(Duration::ZERO, down, up);
    let out = run(&mut *link, arrivals, Time::FAR_FUTURE);
    assert_eq!(out.len(), arrivals.len());
    let servable = |id: u64| {
        let (at, port, _) = arrivals[id as usize];
        at + hold[usize::from(port.0)]
    };
    let mut free = Time::ZERO;
    for (i, (end, id, _)) in out.iter().enumerate() {
        let waiting = out[i..].iter().map(|(_, id, _)| servable(*id)).min().unwrap();
        let start = free.max(waiting);
        assert!(servable(*id) <= start, "it was servable when its service began");
        let bytes = arrivals[*id as usize].2;
        let took =
            supply.bytes_until(Duration::ZERO, *end) - supply.bytes_until(Duration::ZERO, start);
        let per_ns = 1e12 / 8e9;
        assert!(
            (took - f64::from(bytes)).abs() < per_ns,
            "{took} bytes of capacity for {bytes} from {start} to {end}"
        );
        free = *end;
    }
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let one = (
        prop_oneof![Just(0), 0_u64..3_000, 0_u64..100_000],
        any::<bool>(),
        prop_oneof![Just(1_500_u32), 28_u32..4_000],
    );
    prop::collection::vec(one, 1..120).prop_map(|all| {
        let mut at = Time::ZERO;
        let arrival = |(gap, is_up, bytes): (u64, bool, u32)| {
            at += Duration::from_micros(gap);
            (at, PORTS[usize::from(is_up)], bytes)
        };
        all.into_iter().map(arrival).collect()
    })
}

fn counters(link: &dyn Node) -> [Counters; 2] {
    PORTS.map(|port| link.counters(port))
}

proptest! {
    #[test]
    fn packets_and_bytes_are_conserved_and_runs_repeat(
        supply in supply(),
        queues in (queue(), queue()),
        arrivals in arrivals(),
        seed: u64,
    ) {
        let (rtt, end) = (MS(10), Time::from_millis(1_000_000_000));
        let once = || {
            let build = |q: &airlane_net::QueueSpec, seed| q.build(supply.mean(), rtt, Seed(seed));
            let (down, up) = (build(&queues.0, seed), build(&queues.1, !seed));
            let mut link = supply.half_duplex(MS(seed % 100), down, up);
            let out = run(&mut *link, &arrivals, end);
            (out, counters(&*link), reports(&*link, end))
        };
        let (out, counters, reports) = once();
        for (i, port) in PORTS.into_iter().enumerate() {
            let of = |p: &&Arrival| p.1 == port;
            let pushed: u64 = arrivals.iter().filter(of).map(|a| u64::from(a.2)).sum();
            let left = out.iter().filter(|(.., p)| *p == port);
            let bytes: u64 = left.clone().map(|(_, id, _)| u64::from(arrivals[*id as usize].2)).sum();
            let c = counters[i];
            prop_assert!(c.conserves());
            prop_assert_eq!(c.pushed, (arrivals.iter().filter(of).count() as u64, pushed));
            prop_assert_eq!(c.polled, (left.count() as u64, bytes));
            prop_assert_eq!(c.held, (0, 0), "all leaves or was dropped in the end");
            prop_assert_eq!(reports[i].carried_bytes, bytes);
        }
        prop_assert!(reports[0].utilisation + reports[1].utilisation <= 1.0 + 1e-9);
        prop_assert_eq!((out, counters, reports), once());
    }

    #[test]
    fn a_lone_direction_has_a_link_of_its_own(
        supply in supply(),
        queue in queue(),
        arrivals in arrivals(),
        is_up: bool,
        seed: u64,
    ) {
        let (rtt, end) = (MS(10), Time::from_millis(1_000_000_000));
        let port = PORTS[usize::from(is_up)];
        let offset = MS(seed % 100);
        let queue = || queue.build(supply.mean(), rtt, Seed(seed));
        let (down, up) = if is_up { (unlimited(), queue()) } else { (queue(), unlimited()) };
        let mut shared = supply.half_duplex(offset, down, up);
        let mut own = supply.link(offset, queue());
        let of = |port| -> Vec<Arrival> { arrivals.iter().map(|a| (a.0, port, a.2)).collect() };
        let times = |out: Vec<(Time, u64, Port)>| -> Vec<(Time, u64)> {
            out.into_iter().map(|(at, id, _)| (at, id)).collect()
        };
        let (a, b) = (run(&mut *shared, &of(port), end), run(&mut *own, &of(Port::ONLY), end));
        prop_assert_eq!(times(a), times(b));
        prop_assert_eq!(shared.counters(port), own.counters(Port::ONLY));
        prop_assert_eq!(shared.link_stats(port, end), own.link_stats(Port::ONLY, end));
    }

    #[test]
    fn the_server_is_never_idle_while_a_packet_waits_that_may_be_served(
        mbps in 1_u64..50,
        steps in prop::collection::vec((1_u64..30_000, 1_000_000_u64..50_000_000), 1..5),
        hold in (prop_oneof![Just(0), 0_u64..9_000], prop_oneof![Just(0), 0_u64..9_000]),
        arrivals in arrivals(),
    ) {
        let hold = [hold.0, hold.1].map(Duration::from_micros);
        check_work(&Supply::Constant(Rate::from_mbps(mbps as f64)), hold, &arrivals);
        let mut at = 0;
        let steps: Vec<_> = steps.into_iter().map(|(length, bps)| {
            at += length;
            (Duration::from_micros(at - length), Rate::from_bps(bps))
        }).collect();
        let profile = RateProfile::new(&steps, Some(Duration::from_micros(at))).unwrap();
        check_work(&Supply::Profile(Arc::new(profile)), hold, &arrivals);
    }

    #[test]
    fn no_opportunity_is_lost_while_a_packet_waits(
        millis in prop::collection::vec(0_u32..60, 1..30),
        arrivals in arrivals(),
    ) {
        let mut millis = millis;
        millis.sort_unstable();
        millis.push(61);
        let supply = Supply::Opportunities(Arc::new(Opportunities::new(millis).unwrap()));
        // Bytes that have left at each time, with one queue for all and with one per direction.
        let left = |out: &[(Time, u64, Port)], at: Time| -> u64 {
            out.iter().filter(|d| d.0 <= at).map(|d| u64::from(arrivals[d.1 as usize].2)).sum()
        };
        let mut shared = link(&supply);
        let a = run(&mut *shared, &arrivals, Time::FAR_FUTURE);
        let one: Vec<Arrival> = arrivals.iter().map(|a| (a.0, Port::ONLY, a.2)).collect();
        let b = run(&mut *supply.link(Duration::ZERO, unlimited()), &one, Time::FAR_FUTURE);
        prop_assert_eq!(a.last().map(|d| d.0), b.last().map(|d| d.0));
        for (at, ..) in &b {
            // A packet in service may have left in part.
            prop_assert!(left(&a, *at).abs_diff(left(&b, *at)) < 4_000);
        }
    }
}
