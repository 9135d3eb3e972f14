//! The network as a whole against closed forms.

use std::sync::Arc;
use std::time::Duration;

use crate::common::packet;
use airlane_base::{DropReason, Rate, Seed, Time};
use airlane_net::{
    Dumbbell, Hop, Limit, Network, Observer, Port, QueueSpec, Record, RouteError, SendJitter,
    SerialLink, Step,
};
use parking_lot::Mutex;

const MS: fn(u64) -> Duration = Duration::from_millis;

fn run(network: &mut Network) -> Vec<(u64, Time, u64)> {
    let mut out = Vec::new();
    while let Some(at) = network.next_event() {
        while let Some(d) = network.poll(at) {
            assert_eq!(d.at, at);
            out.push((u64::from(d.host.0), d.at, d.packet.id));
        }
        network.check_conservation().unwrap();
    }
    out
}

#[test]
fn a_burst_arrives_after_delay_queue_and_serialisation_to_the_nanosecond() {
    // 7 Mbit/s does not divide: 1250 bytes take 1 428 571.43 ns, rounded up each.
    let rate = Rate::from_mbps(7.0);
    let spec = Dumbbell::new(rate, MS(20), 100.0, 2);
    let mut d = Dumbbell { send_jitter: SendJitter::Off, ..spec }.build(Seed(1));
    let (s, c) = (d.network.addresses(d.servers[1])[0], d.network.addresses(d.clients[1])[0]);
    for _ in 0..5 {
        d.network.send(Time::ZERO, packet(s, c, 1_250));
    }
    let service = 1_428_572;
    let got = run(&mut d.network);
    let want: Vec<_> = (0..5)
        .map(|i| (u64::from(d.clients[1].0), Time::from_nanos(10_000_000 + (i + 1) * service), i))
        .collect();
    assert_eq!(got, want);
    // Waiting: 0, 1, ... 4 services; the last packet leaves after five.
    let end = Time::from_nanos(10_000_000 + 5 * service);
    let r = d.network.link_stats(d.downlink, Port::ONLY, end).unwrap().report();
    assert_eq!(r.mean_sojourn, Duration::from_nanos(2 * service));
    let waited = (1 + 2 + 3 + 4) as f64 * service as f64;
    assert!((r.mean_queue_packets - waited / end.as_nanos() as f64).abs() < 1e-12);
    assert!((r.mean_queue_bytes - 1_250.0 * r.mean_queue_packets).abs() < 1e-9);
    let used = 5.0 * 1_250.0 * 8.0 / (rate.as_f64() * end.as_secs_f64());
    assert!((r.utilisation - used).abs() < 1e-12);
    // And back, 10 Mbit/s.
    d.network.send(end, packet(c, s, 1_250));
    let back = run(&mut d.network);
    assert_eq!(back, [(u64::from(d.servers[1].0), end + MS(11), 5)]);
}

#[test]
fn droptail_keeps_what_fits_and_counts_the_rest() {
    for (limit, kept) in [
        (Limit::Packets(3), 3),
        (Limit::Bytes(2_999), 2),
        (Limit::Bytes(3_000), 3),
        // 8 Mbit/s * 10 ms = 10 000 bytes.
        (Limit::Bdp(0.4), 4),
        (Limit::Unlimited, 9),
    ] {
        let mut spec = Dumbbell::new(Rate::from_mbps(8.0), MS(10), 1.0, 1);
        spec.send_jitter = SendJitter::Off;
        spec.downlink.queue = QueueSpec::DropTail(limit);
        let mut d = spec.build(Seed(1));
        let (s, c) = (d.network.addresses(d.servers[0])[0], d.network.addresses(d.clients[0])[0]);
        for _ in 0..10 {
            d.network.send(Time::ZERO, packet(s, c, 1_000));
        }
        let got: Vec<u64> = run(&mut d.network).into_iter().map(|(_, _, id)| id).collect();
        let want: Vec<u64> = (0..=kept).collect();
        assert_eq!(got, want, "{limit:?}: one in service and {kept} waiting");
        let counters = d.network.node_counters(d.downlink, Port::ONLY);
        assert_eq!(counters.dropped[DropReason::Overflow.index()].0, 9 - kept);
    }
}

#[test]
fn events_of_one_instant_happen_in_the_order_of_their_scheduling() {
    let mut network = Network::new();
    let hosts: Vec<_> = (0..3).map(|_| network.add_host()).collect();
    let a: Vec<_> = hosts.iter().map(|h| network.addresses(*h)[0]).collect();
    network.add_route(a[0], a[2], &[Step::Delay(MS(3))], None).unwrap();
    network.add_route(a[1], a[2], &[Step::Delay(MS(2))], None).unwrap();
    network.send(Time::ZERO, packet(a[0], a[2], 100));
    network.send(Time::from_millis(1), packet(a[1], a[2], 100));
    network.send(Time::from_millis(1), packet(a[1], a[2], 100));
    let at = Time::from_millis(3);
    assert_eq!(run(&mut network), [(2, at, 0), (2, at, 1), (2, at, 2)]);
}

#[test]
fn packets_that_change_places_in_one_instant_are_both_served() {
    let mut network = Network::new();
    let hosts = [network.add_host(), network.add_host()];
    let [a, b] = hosts.map(|h| network.addresses(h)[0]);
    // A packet of 1250 bytes takes a millisecond of either link.
    let links = ["one", "two"].map(|name| {
        let queue = QueueSpec::DropTail(Limit::Packets(10)).build(Rate::ZERO, MS(0), Seed(1));
        let link = SerialLink::constant(Rate::from_mbps(10.0), queue);
        Step::Node(network.add_node(name, Box::new(link)), Port::ONLY)
    });
    let [one, two] = links;
    network.add_route(a, b, &[one, two], None).unwrap();
    network.add_route(b, a, &[two, one], None).unwrap();
    network.send(Time::ZERO, packet(a, b, 1_250));
    network.send(Time::ZERO, packet(b, a, 1_250));
    let mut got = run(&mut network);
    got.sort_unstable();
    let [to_a, to_b] = hosts.map(|h| u64::from(h.0));
    assert_eq!(got, [(to_a, Time::from_millis(2), 1), (to_b, Time::from_millis(2), 0)]);
}

#[test]
fn what_has_no_route_is_dropped_as_unreachable() {
    let mut network = Network::new();
    let (a, b) = (network.add_host(), network.add_host());
    let (a, b) = (network.addresses(a)[0], network.addresses(b)[0]);
    network.send(Time::ZERO, packet(a, b, 100));
    network.send(Time::ZERO, packet(a, "192.0.2.1".parse().unwrap(), 100));
    assert_eq!(network.next_event(), None);
    assert_eq!(network.counters().dropped[DropReason::Unreachable.index()], (2, 200));
    network.check_conservation().unwrap();
}

#[test]
fn routes_are_checked() {
    let mut d = Dumbbell::new(Rate::from_mbps(1.0), MS(1), 1.0, 1).build(Seed(0));
    let n = &mut d.network;
    let (s, c) = (n.addresses(d.servers[0])[0], n.addresses(d.clients[0])[0]);
    let other = "192.0.2.1".parse().unwrap();
    let link = Step::Node(d.downlink, Port::ONLY);
    assert_eq!(n.add_route(s, c, &[], None), Err(RouteError::Taken(s, c)));
    assert_eq!(n.add_route(s, other, &[], None), Err(RouteError::UnknownAddress(other)));
    let repeated = RouteError::Repeated(d.downlink, Port::ONLY);
    assert_eq!(n.add_route(s, s, &[link, link], None), Err(repeated));
    let unknown = RouteError::UnknownPort(d.downlink, Port(1));
    assert_eq!(n.add_route(s, s, &[Step::Node(d.downlink, Port(1))], None), Err(unknown));
}

#[test]
fn the_same_seed_gives_the_same_hash_and_another_packet_another() {
    let hash = |last: u32| {
        let mut spec = Dumbbell::new(Rate::from_mbps(8.0), MS(10), 1.0, 3);
        spec.uplink.supply = Rate::from_mbps(1.0).into();
        let mut d = spec.build(Seed(1));
        for i in 0..3 {
            let (s, c) =
                (d.network.addresses(d.servers[i])[0], d.network.addresses(d.clients[i])[0]);
            d.network.send(Time::from_millis(i as u64), packet(s, c, 1_000));
            d.network.send(Time::from_millis(i as u64), packet(c, s, last));
        }
        run(&mut d.network);
        d.network.packet_hash()
    };
    assert_eq!(hash(40), hash(40));
    assert_ne!(hash(40), hash(41));
}

#[derive(Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Observer for Notes {
    fn record(&mut self, r: &Record<'_>) {
        let us = r.at.as_nanos() / 1_000;
        let at = match r.hop {
            Hop::Host(h) => format!("host {}", h.0),
            Hop::Node(n, _) => format!("node {} holds {:?}", n.0, r.held),
        };
        self.0.lock().push(format!("{us} {:?} at {at}: {}", r.fate, r.packet.id));
    }
}

#[test]
fn an_observer_sees_every_hop_and_changes_nothing() {
    let run = |observed: bool| {
        let mut spec = Dumbbell::new(Rate::from_mbps(8.0), MS(2), 1.0, 1);
        spec.send_jitter = SendJitter::Off;
        spec.downlink.queue = QueueSpec::DropTail(Limit::Packets(1));
        let mut d = spec.build(Seed(1));
        let notes = Notes::default();
        let list = Arc::clone(&notes.0);
        if observed {
            d.network.observe(notes);
        }
        let (s, c) = (d.network.addresses(d.servers[0])[0], d.network.addresses(d.clients[0])[0]);
        for _ in 0..3 {
            d.network.send(Time::ZERO, packet(s, c, 1_000));
        }
        run(&mut d.network);
        (list.lock().clone(), d.network.packet_hash())
    };
    let (seen, hash) = run(true);
    assert_eq!(
        seen,
        [
            "0 Sent at host 0: 0",
            "0 Sent at host 0: 1",
            "0 Sent at host 0: 2",
            "1000 Entered at node 0 holds (1, 1000): 0",
            "1000 Entered at node 0 holds (2, 2000): 1",
            "1000 Entered at node 0 holds (3, 3000): 2",
            "1000 Dropped(Overflow) at node 0 holds (2, 2000): 2",
            "2000 Left at node 0 holds (1, 1000): 0",
            "2000 Delivered at host 1: 0",
            "3000 Left at node 0 holds (0, 0): 1",
            "3000 Delivered at host 1: 1",
        ]
    );
    assert_eq!(run(false), (Vec::new(), hash));
}

#[test]
fn samples_tell_the_state_at_their_times() {
    let mut spec = Dumbbell::new(Rate::from_mbps(8.0), MS(0), 1.0, 1);
    spec.send_jitter = SendJitter::Off;
    spec.downlink.queue = QueueSpec::DropTail(Limit::Packets(3));
    let mut d = spec.build(Seed(1));
    d.network.sample_every(Duration::from_micros(1_500));
    let (s, c) = (d.network.addresses(d.servers[0])[0], d.network.addresses(d.clients[0])[0]);
    for _ in 0..5 {
        d.network.send(Time::from_micros(1), packet(s, c, 1_000));
    }
    run(&mut d.network);
    let series = d.network.take_series(Time::from_micros(7_000)).unwrap();
    let times: Vec<u64> = series.times.iter().map(|t| t.as_nanos() / 1_000).collect();
    assert_eq!(times, [0, 1_500, 3_000, 4_500, 6_000]);
    let down = series.rows.iter().map(|r| r[0]);
    let got: Vec<_> =
        down.map(|x| (x.packets, x.carried_bytes, x.capacity_bytes as u64, x.dropped)).collect();
    let want = [
        (0, 0, 0, 0),
        (3, 1_000, 1_500, 1),
        (2, 2_000, 3_000, 1),
        (0, 4_000, 4_500, 1),
        (0, 4_000, 6_000, 1),
    ];
    assert_eq!(got, want);
}
