//! Half-duplex accesses in a network: shared by all hosts, one per host, behind another access.

use std::net::IpAddr;
use std::time::Duration;

use crate::common::packet;
use airlane_base::{Rate, Seed, Time};
use airlane_net::{
    Access, Carrier, Client, Direction, HalfDuplexAccess, HalfDuplexWay, Impairment, Limit,
    LinkAccess, Network, Opportunities, QueueSpec, SendJitter, Supply, Topology, Way,
};

const MS: fn(u64) -> Duration = Duration::from_millis;
const DEEP: QueueSpec = QueueSpec::DropTail(Limit::Unlimited);

fn access(supply: impl Into<Supply>) -> HalfDuplexAccess {
    HalfDuplexAccess::new(supply, HalfDuplexWay::new(DEEP), HalfDuplexWay::new(DEEP))
}

/// Hosts on one access, what measures there, and the network.
struct Scene {
    network: Network,
    /// Addresses of each pair: the server's, the client's.
    pairs: Vec<(IpAddr, IpAddr)>,
    carriers: Vec<Carrier>,
}

fn scene(air: HalfDuplexAccess, behind: Option<Access>, hosts: usize) -> Scene {
    let mut t = Topology::new(SendJitter::Off, Seed(3));
    let outer = behind.map(|outer| t.add_access("line", &outer, None, Seed(1)));
    let air = t.add_access("air", &Access::HalfDuplex(Box::new(air)), outer, Seed(2));
    let clients: Vec<_> = (0..hosts)
        .map(|_| {
            let (server, client) = (t.add_server(), t.add_client(&[air]));
            t.connect(server, &client, MS(10));
            (server, client)
        })
        .collect();
    let carriers = t.carriers(air);
    let network = t.finish();
    let address =
        |(server, client): (_, Client)| (network.addresses(server)[0], client.addresses[0].1);
    let pairs = clients.into_iter().map(address).collect();
    Scene { network, pairs, carriers }
}

impl Scene {
    /// Sends packets of 1500 bytes both ways between each pair, and runs until `end`.
    fn saturate(&mut self, packets: usize, end: Time) -> Vec<(Time, IpAddr, IpAddr)> {
        for (server, client) in &self.pairs {
            for _ in 0..packets {
                self.network.send(Time::ZERO, packet(*server, *client, 1_500));
                self.network.send(Time::ZERO, packet(*client, *server, 1_500));
            }
        }
        let mut out = Vec::new();
        while let Some(d) = self.network.poll(end) {
            out.push((d.at, d.packet.src.ip(), d.packet.dst.ip()));
            self.network.check_conservation().unwrap();
        }
        out
    }

    /// The share of the capacity that each carrier used until `now`.
    fn shares(&self, now: Time) -> Vec<f64> {
        let of = |c: &Carrier| self.network.link_stats(c.node, c.port, now).unwrap().report();
        self.carriers.iter().map(|carrier| of(carrier).utilisation).collect()
    }
}

#[test]
fn all_hosts_share_the_one_budget_both_ways() {
    let mut scene = scene(access(Rate::from_mbps(40.0)), None, 2);
    let (node, directions): (Vec<_>, Vec<_>) =
        scene.carriers.iter().map(|c| (scene.network.name(c.node), c.direction)).unzip();
    assert_eq!((node, directions), (vec!["air"; 2], Direction::BOTH.to_vec()));
    let end = Time::from_millis(1_000);
    scene.saturate(2_000, end);
    let shares = scene.shares(end);
    assert!(shares.iter().all(|share| (share - 0.5).abs() < 0.01), "{shares:?}");
    assert!(shares.iter().sum::<f64>() <= 1.0);
}

#[test]
fn with_one_per_host_each_host_has_a_budget_of_its_own() {
    let supply = Supply::Opportunities(Opportunities::new(vec![0, 7, 8, 9, 10]).unwrap().into());
    let own = HalfDuplexAccess { per_host: true, ..access(supply.clone()) };
    let mut scene = scene(own, None, 2);
    let of: Vec<(String, u32)> =
        scene.carriers.iter().map(|c| (scene.network.name(c.node).to_owned(), c.user)).collect();
    let named = |name: &str, user| (name.to_owned(), user);
    assert_eq!(of, [named("air", 0), named("air", 0), named("air.2", 1), named("air.2", 1)]);
    let end = Time::from_millis(1_000);
    let out = scene.saturate(1_000, end);
    let shares = scene.shares(end);
    assert!(shares.iter().all(|share| (share - 0.5).abs() < 0.02), "{shares:?}");
    // The first starts where the supply does, the second elsewhere.
    let times = |client: IpAddr| -> Vec<Time> {
        out.iter().filter(|(_, src, dst)| *src == client || *dst == client).map(|d| d.0).collect()
    };
    let (first, second) = (times(scene.pairs[0].1), times(scene.pairs[1].1));
    assert_ne!(first, second);
    let mut alone = self::scene(access(supply), None, 1);
    let alone_out = alone.saturate(1_000, end);
    assert_eq!(first, alone_out.iter().map(|d| d.0).collect::<Vec<_>>());
}

#[test]
fn it_lies_behind_another_access_and_each_way_has_its_own_delay_and_loss() {
    let mut air = access(Rate::from_mbps(12.0));
    air.down.delay = MS(3);
    air.up.impairments = vec![Impairment::Bernoulli(1.0)];
    let way = || Way::new(Rate::from_mbps(120.0), DEEP);
    let line = Access::Link(LinkAccess { down: way(), up: way() });
    let mut scene = scene(air, Some(line), 1);
    let (server, client) = scene.pairs[0];
    let end = Time::from_millis(1_000);
    let out = scene.saturate(1, end);
    // 5 ms in the core, 0.1 ms on the line, 3 ms in front of the air, 1 ms on it.
    assert_eq!(out, [(Time::from_nanos(9_100_000), server, client)]);
    assert_eq!(scene.network.counters().dropped_total().0, 1, "the way up loses everything");
}
