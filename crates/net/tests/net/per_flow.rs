//! A queue per flow: each its share, whatever the others do.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use airlane_base::{Packet, Rate, Seed, Time};
use airlane_net::link::Supply;
use airlane_net::{Dropped, Limit, Port, Queue, QueueSpec};

use crate::common::packet;

const RTT: Duration = Duration::from_millis(20);

fn of_flow(flow: u8, bytes: u32) -> Box<Packet> {
    let (src, dst) = (Ipv4Addr::new(10, 0, 0, flow), Ipv4Addr::new(10, 0, 1, flow));
    packet(src.into(), dst.into(), bytes)
}

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

fn per_flow(limit: Limit) -> Box<dyn Queue> {
    let spec = QueueSpec::PerFlow(Box::new(QueueSpec::DropTail(limit)));
    spec.build(Rate::from_mbps(10.0), RTT, Seed(3))
}

/// IP bytes that left by flow, of a link of 10 Mbit/s to which each flow sends packets of a size at a rate.
fn shares(flows: &[(u8, u32, f64)], queue: Box<dyn Queue>, ms: u64) -> BTreeMap<u8, u64> {
    let mut link = Supply::Constant(Rate::from_mbps(10.0)).link(Duration::ZERO, queue);
    let (mut drops, mut left) = (Vec::<Dropped>::new(), BTreeMap::new());
    let mut owed: BTreeMap<u8, f64> = BTreeMap::new();
    for now in 0..ms {
        while let Some(packet) = link.poll(at(now), &mut drops) {
            let std::net::IpAddr::V4(ip) = packet.src.ip() else { unreachable!() };
            *left.entry(ip.octets()[3]).or_default() += u64::from(packet.ip_bytes());
        }
        for (flow, bytes, mbps) in flows {
            let owed = owed.entry(*flow).or_default();
            *owed += mbps * 1e3 / 8.0;
            while *owed > f64::from(*bytes) {
                *owed -= f64::from(*bytes);
                link.push(at(now), Port::ONLY, of_flow(*flow, *bytes), &mut drops);
            }
        }
        drops.clear();
    }
    assert!(link.counters(Port::ONLY).conserves());
    left
}

#[test]
fn bytes_are_shared_evenly_whatever_the_packets() {
    let left = shares(&[(1, 1_400, 20.0), (2, 300, 20.0)], per_flow(Limit::Packets(100)), 2_000);
    let share = left[&1] as f64 / (left[&1] + left[&2]) as f64;
    assert!((share - 0.5).abs() < 0.01, "{share}");
}

#[test]
fn a_flow_below_its_share_loses_nothing_and_leaves_the_rest() {
    let left = shares(&[(1, 1_000, 2.0), (2, 1_400, 50.0)], per_flow(Limit::Packets(20)), 4_000);
    let mbps = |flow| left[&flow] as f64 * 8.0 / 4.0 / 1e6;
    assert!((mbps(1) - 2.0).abs() < 0.02, "{}", mbps(1));
    assert!((mbps(1) + mbps(2) - 10.0).abs() < 0.05, "{} and {}", mbps(1), mbps(2));
}

#[test]
fn each_flow_has_the_whole_limit() {
    let mut queue = per_flow(Limit::Packets(3));
    let mut drops = Vec::new();
    for flow in [1, 1, 1, 1, 2, 2, 3] {
        queue.enqueue(at(0), of_flow(flow, 1_000), &mut drops);
    }
    assert_eq!((queue.len(), drops.len()), (6, 1));
    assert_eq!(drops[0].packet.src, of_flow(1, 1_000).src);
    let mut order = Vec::new();
    while let Some(packet) = queue.dequeue(at(1), &mut drops).packet() {
        order.push(packet.src.ip().to_string());
    }
    assert_eq!((order.len(), queue.len(), queue.bytes()), (6, 0, 0));
    assert_eq!(order[5], "10.0.0.1", "the longest queue has the last word: {order:?}");
}
