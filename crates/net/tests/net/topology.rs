//! An ideal core with named accesses: chains, hosts on several accesses, nodes with ports.

use std::collections::VecDeque;
use std::time::Duration;

use crate::common::{numbered, packet};
use airlane_base::{Packet, Rate, Seed, Time};
use airlane_net::{
    Access, Counters, Dropped, Limit, LinkAccess, Network, Node, Port, QueueSpec, SendJitter, Step,
    Topology, Way,
};

const MS: fn(u64) -> Duration = Duration::from_millis;

/// A link of so many Mbit/s each way with a delay of its own.
fn link(mbps: f64, delay: Duration) -> Access {
    let way = || Way {
        delay,
        ..Way::new(Rate::from_mbps(mbps), QueueSpec::DropTail(Limit::Packets(100)))
    };
    Access::Link(LinkAccess { down: way(), up: way() })
}

/// All that arrives, with its time in microseconds and its source.
fn arrivals(network: &mut Network) -> Vec<(u64, Box<Packet>)> {
    let mut out = Vec::new();
    while let Some(at) = network.next_event() {
        while let Some(d) = network.poll(at) {
            out.push((d.at.as_nanos() / 1_000, d.packet));
        }
    }
    network.check_conservation().unwrap();
    out
}

#[test]
fn a_chain_adds_its_delays_and_services_in_both_directions() {
    let mut topology = Topology::new(SendJitter::Off, Seed(1));
    // 1500 bytes take 12 ms at 1 Mbit/s and 1.2 ms at 10.
    let dsl = topology.add_access("dsl", &link(1.0, MS(5)), None, Seed(2));
    let home = topology.add_access("home", &link(10.0, MS(1)), Some(dsl), Seed(3));
    let server = topology.add_server();
    let client = topology.add_client(&[home]);
    topology.connect(server, &client, MS(20));
    let names: Vec<String> = topology.accesses().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(names, ["dsl", "home"]);
    let mut n = topology.finish();
    let (s, c) = (n.addresses(server)[0], client.addresses[0].1);
    n.send(Time::ZERO, packet(s, c, 1_500));
    n.send(Time::ZERO, packet(c, s, 1_500));
    let one_way = 10_000 + 5_000 + 1_000 + 12_000 + 1_200;
    let times: Vec<u64> = arrivals(&mut n).into_iter().map(|(us, _)| us).collect();
    assert_eq!(times, [one_way, one_way]);
    for name in ["dsl.down", "dsl.up", "home.down", "home.up"] {
        let node = n.find(name).expect(name);
        assert_eq!(n.node_counters(node, Port::ONLY).polled, (1, 1_500), "{name}");
    }
}

#[test]
fn a_host_on_two_accesses_has_an_address_on_each_and_each_its_own_way() {
    let mut topology = Topology::new(SendJitter::Off, Seed(1));
    let wifi = topology.add_access("wifi", &link(12.0, MS(2)), None, Seed(2));
    let lte = topology.add_access("lte", &link(6.0, MS(30)), None, Seed(3));
    let server = topology.add_server();
    let client = topology.add_client(&[wifi, lte]);
    let flows = topology.connect(server, &client, MS(10));
    assert_eq!(flows.len(), 2);
    let mut n = topology.finish();
    let s = n.addresses(server)[0];
    for (_, address) in &client.addresses {
        assert_eq!(n.host_of(*address), Some(client.host));
        n.send(Time::ZERO, packet(s, *address, 1_500));
    }
    let seen: Vec<_> =
        arrivals(&mut n).into_iter().map(|(us, p)| (us, p.dst.ip(), p.flow)).collect();
    let [(_, over_wifi), (_, over_lte)] = client.addresses[..] else { panic!("two addresses") };
    assert_eq!(
        seen,
        [
            (5_000 + 2_000 + 1_000, over_wifi, flows[0]),
            (5_000 + 30_000 + 2_000, over_lte, flows[1])
        ]
    );
}

/// One server for two directions that share it: each packet takes a millisecond.
#[derive(Default)]
struct Shared {
    line: VecDeque<(Time, Port, Box<Packet>)>,
    counters: [Counters; 2],
}

impl Node for Shared {
    fn ports(&self) -> u16 {
        2
    }

    fn push(&mut self, now: Time, port: Port, packet: Box<Packet>, _: &mut Vec<Dropped>) {
        self.counters[usize::from(port.0)].count_push(&packet);
        let free = self.line.back().map_or(now, |(at, ..)| now.max(*at));
        self.line.push_back((free + MS(1), port, packet));
    }

    fn poll(&mut self, now: Time, _: &mut Vec<Dropped>) -> Option<Box<Packet>> {
        let (_, port, packet) = self.line.pop_front_if(|(at, ..)| *at <= now)?;
        self.counters[usize::from(port.0)].count_poll(&packet);
        Some(packet)
    }

    fn next_event(&self) -> Option<Time> {
        self.line.front().map(|(at, ..)| *at)
    }

    fn counters(&self, port: Port) -> Counters {
        let held = self.line.iter().filter(|(_, p, _)| *p == port);
        let held = held.fold((0, 0), |(n, b), (.., p)| (n + 1, b + u64::from(p.ip_bytes())));
        Counters { held, ..self.counters[usize::from(port.0)] }
    }
}

#[test]
fn a_packet_may_cross_a_shared_node_twice_by_its_ports() {
    let mut n = Network::new();
    let air = n.add_node("air", Box::new(Shared::default()));
    let (a, b) = (n.add_host(), n.add_host());
    let (a, b) = (n.addresses(a)[0], n.addresses(b)[0]);
    // From station to station over the access point.
    let way = [Step::Node(air, Port(1)), Step::Delay(MS(3)), Step::Node(air, Port(0))];
    n.add_route(a, b, &way, None).unwrap();
    n.send(Time::ZERO, packet(a, b, 100));
    n.send(Time::ZERO, packet(a, b, 200));
    let times: Vec<u64> = arrivals(&mut n).into_iter().map(|(us, _)| us).collect();
    assert_eq!(times, [5_000, 6_000]);
    for port in [Port(0), Port(1)] {
        assert_eq!(n.node_counters(air, port).polled, (2, 300));
    }
}

#[test]
fn nodes_without_traffic_say_so() {
    let mut shared = Shared::default();
    assert_eq!((shared.next_event(), shared.ports()), (None, 2));
    shared.push(Time::ZERO, Port(1), numbered(1, 100), &mut Vec::new());
    assert_eq!((shared.counters(Port(0)).held, shared.counters(Port(1)).held), ((0, 0), (1, 100)));
}
