//! Whatever happens, packets and bytes are conserved at every node and in the network.

use std::sync::Arc;
use std::time::Duration;

use crate::common::{numbered, packet};
use airlane_base::{Dscp, Ecn, Rate, Seed, Time};
use airlane_net::{
    AbcConfig, Capacity, CodelConfig, DualPi2Config, Dumbbell, GilbertElliott, Impairment,
    JitterLaw, Latency, Limit, Node, OctopusConfig, Opportunities, PieConfig, Port, QueueSpec,
    RateProfile, Supply, Way,
};
use proptest::prelude::*;

fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![
        (0_usize..12).prop_map(Limit::Packets),
        (0_u64..20_000).prop_map(Limit::Bytes),
        (0.0_f64..3.0).prop_map(Limit::Bdp),
        Just(Limit::Unlimited),
    ]
}

pub fn queue() -> impl Strategy<Value = QueueSpec> {
    prop_oneof![
        limit().prop_map(QueueSpec::DropTail),
        (limit(), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(l, ecn, de, rate)| {
            let config = PieConfig {
                target: Duration::from_millis(1),
                max_burst: Duration::ZERO,
                alpha_per_s: 50.0,
                latency: if rate { Latency::DepartureRate } else { Latency::Timestamps },
                ecn,
                derandomise: de,
                ..PieConfig::default()
            };
            QueueSpec::Pie(l, config)
        }),
        (limit(), any::<bool>(), any::<bool>()).prop_map(|(limit, slack, headless)| {
            QueueSpec::Octopus(limit, OctopusConfig { slack, headless, ..OctopusConfig::default() })
        }),
        (limit(), any::<bool>(), any::<bool>()).prop_map(|(limit, ecn, flows)| {
            let (target, interval) = (Duration::from_micros(200), Duration::from_millis(2));
            let config = CodelConfig { target, interval, ecn };
            match flows {
                true => QueueSpec::FqCodel(limit, config),
                false => QueueSpec::Codel(limit, config),
            }
        }),
        limit().prop_map(QueueSpec::PriorityDrop),
        limit().prop_map(|limit| QueueSpec::Abc(limit, AbcConfig::default())),
        (limit(), 1_u64..50)
            .prop_map(|(limit, ms)| QueueSpec::DiscardTimer(limit, Duration::from_millis(ms))),
        limit().prop_map(|limit| {
            // Some overload it.
            let config = DualPi2Config {
                update_interval: Duration::from_millis(1),
                alpha_per_s: 50.0,
                ..DualPi2Config::default()
            };
            QueueSpec::DualPi2(limit, config)
        }),
    ]
}

pub fn supply() -> impl Strategy<Value = Supply> {
    prop_oneof![
        (100_000_u64..20_000_000).prop_map(|r| Supply::Constant(Rate::from_bps(r))),
        prop::collection::vec((1_u64..30_000, 0_u64..20_000_000), 1..6).prop_map(|pieces| {
            let (mut steps, mut at) = (Vec::new(), 0);
            for (length, rate) in pieces {
                steps.push((Duration::from_micros(at), Rate::from_bps(rate + steps.len() as u64)));
                at += length;
            }
            steps[0].1 = Rate::from_mbps(3.0);
            let profile = RateProfile::new(&steps, Some(Duration::from_micros(at)));
            Supply::Profile(Arc::new(profile.unwrap()))
        }),
        prop::collection::vec(0_u32..60, 1..30).prop_map(|mut ms| {
            ms.sort_unstable();
            ms.push(61);
            Supply::Opportunities(Arc::new(Opportunities::new(ms).unwrap()))
        }),
    ]
}

fn impairment() -> impl Strategy<Value = Impairment> {
    let ms = |n: u64| Duration::from_micros(n);
    prop_oneof![
        (0_u64..9_000).prop_map(move |d| Impairment::Delay(ms(d))),
        (0_u64..9_000, any::<bool>()).prop_map(move |(d, reorder)| Impairment::Jitter {
            law: JitterLaw::Uniform(ms(d)),
            reorder
        }),
        (0_u64..9_000, 0_u64..9_000, any::<bool>()).prop_map(move |(d, sd, reorder)| {
            Impairment::Jitter { law: JitterLaw::Normal(ms(d), ms(sd)), reorder }
        }),
        (0.0_f64..=1.0).prop_map(Impairment::Bernoulli),
        (0.0_f64..0.9, 1.0_f64..9.0)
            .prop_map(|(l, b)| Impairment::GilbertElliott(GilbertElliott::bursts(l, b))),
    ]
}

/// (microseconds since the packet before, IP bytes)
fn arrivals() -> impl Strategy<Value = Vec<(u64, u32)>> {
    prop::collection::vec(
        (prop_oneof![Just(0), 0_u64..3_000, 0_u64..200_000], 28_u32..4_000),
        1..150,
    )
}

/// That of packet `id`.
fn dscp(id: u64) -> Dscp {
    Dscp::new((id % 64) as u8).unwrap()
}

/// Runs a node through arrivals and checks it against what was seen from outside.
fn check(node: &mut dyn Node, arrivals: &[(u64, u32)]) {
    let mut seen = [(0_u64, 0_u64); 3];
    let mut count = |i: usize, bytes: u32| {
        seen[i] = (seen[i].0 + 1, seen[i].1 + u64::from(bytes));
        seen
    };
    let mut drops = Vec::new();
    let (mut at, mut last) = (Time::ZERO, Time::ZERO);
    let mut run = |node: &mut dyn Node, until: Time, arriving: Option<(u64, u32)>| {
        let mut totals = None;
        while let Some(next) = node.next_event().filter(|t| *t <= until) {
            assert!(next >= last, "events do not go back");
            last = next;
            while let Some(p) = node.poll(next, &mut drops) {
                assert_eq!(p.dscp, dscp(p.id), "nodes do not touch it");
                totals = Some(count(1, p.ip_bytes()));
            }
            assert!(node.next_event().is_none_or(|t| t > next), "polling ends");
        }
        if let Some((id, bytes)) = arriving {
            let mut p = numbered(id, bytes);
            p.ecn = [Ecn::Ect0, Ecn::NotEct, Ecn::Ect1][id as usize % 3];
            p.dscp = dscp(id);
            node.push(until, Port::ONLY, p, &mut drops);
            totals = Some(count(0, bytes));
        }
        for d in drops.drain(..) {
            totals = Some(count(2, d.packet.ip_bytes()));
        }
        if let Some([pushed, polled, dropped]) = totals {
            let c = node.counters(Port::ONLY);
            assert!(c.conserves(), "{c:?}");
            assert_eq!((c.pushed, c.polled, c.dropped_total()), (pushed, polled, dropped));
        }
    };
    for (id, (gap, bytes)) in arrivals.iter().enumerate() {
        at += Duration::from_micros(*gap);
        run(node, at, Some((id as u64, *bytes)));
    }
    // Everything leaves or was dropped in the end.
    run(node, Time::from_millis(1_000_000_000), None);
    assert_eq!(node.counters(Port::ONLY).held, (0, 0));
}

proptest! {
    #[test]
    fn links_conserve(supply in supply(), queue in queue(), arrivals in arrivals(), seed: u64) {
        let rtt = Duration::from_millis(10);
        let queue = queue.build(supply.mean(), rtt, Seed(seed));
        check(&mut *supply.link(Duration::from_millis(seed % 100), queue), &arrivals);
    }

    #[test]
    fn impairments_conserve(what in impairment(), arrivals in arrivals(), seed: u64) {
        check(&mut *what.build(Seed(seed)), &arrivals);
    }

    #[test]
    fn networks_conserve_and_repeat(
        down in (supply(), queue()),
        up in (supply(), queue()),
        impair in prop::collection::vec(impairment(), 0..3),
        sends in prop::collection::vec((0_u64..5_000, 0_usize..8, 28_u32..2_000), 1..100),
        seed: u64,
    ) {
        let mut spec = Dumbbell::new(Rate::from_mbps(1.0), Duration::from_millis(7), 1.0, 4);
        spec.downlink = Way { impairments: impair.clone(), ..Way::new(down.0, down.1) };
        spec.uplink = Way { impairments: impair, ..Way::new(up.0, up.1) };
        spec.rtts[3] = Duration::from_millis(3);
        // Polled at every event, or only when the next packet is sent: all the same.
        let run = |lazily: bool| {
            let mut d = spec.build(Seed(seed));
            let n = &mut d.network;
            let mut delivered = Vec::new();
            let mut at = Time::ZERO;
            for (gap, who, bytes) in &sends {
                at += Duration::from_micros(*gap);
                while let Some(next) = n.next_event().filter(|t| *t < at && !lazily) {
                    while let Some(x) = n.poll(next) {
                        delivered.push((x.at, x.host, x.packet.id));
                    }
                }
                let flow = who / 2;
                let s = n.addresses(d.servers[flow])[0];
                let c = n.addresses(d.clients[flow])[0];
                let (src, dst) = if who % 2 == 0 { (s, c) } else { (c, s) };
                n.send(at, packet(src, dst, *bytes));
                n.check_conservation().unwrap();
                assert_eq!(n.tally(), n.counters());
            }
            let late = at + Duration::from_secs(1_000_000);
            while let Some(x) = n.poll(late) {
                delivered.push((x.at, x.host, x.packet.id));
            }
            n.check_conservation().unwrap();
            assert_eq!(n.tally(), n.counters());
            let c = n.counters();
            assert_eq!(c.held, (0, 0));
            assert_eq!(c.polled.0, delivered.len() as u64);
            assert!(delivered.is_sorted_by_key(|(at, ..)| *at));
            (delivered, n.packet_hash())
        };
        prop_assert_eq!(run(false), run(true));
        prop_assert_eq!(run(false), run(false));
    }
}

#[test]
fn queue_names_are_those_of_tables() {
    let rtt = Duration::from_millis(10);
    for (spec, name) in [
        (QueueSpec::DropTail(Limit::Unlimited), "droptail"),
        (QueueSpec::Pie(Limit::Unlimited, PieConfig::default()), "pie"),
        (QueueSpec::Octopus(Limit::Unlimited, OctopusConfig::default()), "octopus"),
        (QueueSpec::Codel(Limit::Unlimited, CodelConfig::default()), "codel"),
        (QueueSpec::FqCodel(Limit::Unlimited, CodelConfig::default()), "fq-codel"),
        (QueueSpec::PriorityDrop(Limit::Unlimited), "priority-drop"),
        (QueueSpec::Abc(Limit::Unlimited, AbcConfig::default()), "abc"),
        (QueueSpec::DiscardTimer(Limit::Unlimited, rtt), "discard-timer"),
        (QueueSpec::DualPi2(Limit::Unlimited, DualPi2Config::default()), "dualpi2"),
    ] {
        assert_eq!(spec.build(Rate::from_mbps(1.0), rtt, Seed(0)).name(), name);
    }
    let capacity = Limit::Bdp(1.5).resolve(Rate::from_mbps(10.0), Duration::from_millis(20));
    assert_eq!(capacity, Capacity::Bytes(37_500));
    let fixed = |limit: Limit| limit.fixed(Rate::from_mbps(10.0), Duration::from_millis(20));
    assert_eq!(fixed(Limit::Bdp(1.5)), Limit::Bytes(37_500));
    assert_eq!(fixed(Limit::Bdp(0.0)), Limit::Bytes(1_500));
    assert_eq!(fixed(Limit::Packets(9)), Limit::Packets(9));
}
