//! Octopus as a queue of packets: where it finds its header, and what it tells of drops.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use crate::common::{numbered, packet};
use airlane_base::{DropReason, Packet, Rate, Seed, Time};
use airlane_net::{Dropped, Limit, OctopusConfig, Queue, QueueSpec};
use airlane_octopus::{Header, Marking};

/// How a message of one packet comes.
#[derive(Clone, Copy, Debug)]
enum As {
    /// A datagram of the laboratory, from this port.
    Datagram(u16),
    /// An IP packet as it is, of this protocol.
    Ip { v6: bool, protocol: u8, fragment: u16 },
}

const UDP: u8 = 17;

/// Message `message` of stream 1, which older ones of it make way for.
fn message(id: u64, message: u32, how: As, bitrate_kbps: u32) -> Box<Packet> {
    let marking = Marking { priority: 1, drops: Some(1), bitrate_kbps, slack_ms: 0 };
    let header = Header { stream: 1, message, marking, first: true, last: true };
    let mut payload = header.encode().unwrap().to_vec();
    payload.resize(1200, 0xaa);
    let (src, dst) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    let mut made = *packet(src.into(), dst.into(), 1228);
    made.id = id;
    match how {
        As::Datagram(port) => {
            made.src = SocketAddr::new(src.into(), port);
            made.payload = payload;
        }
        As::Ip { v6, protocol, fragment } => {
            let mut ip = match v6 {
                false => {
                    let mut ip = vec![0; 20];
                    ip[0] = 0x45;
                    ip[6..8].copy_from_slice(&fragment.to_be_bytes());
                    ip[9] = protocol;
                    ip[12..16].copy_from_slice(&src.octets());
                    ip[16..20].copy_from_slice(&dst.octets());
                    ip
                }
                true => {
                    let mut ip = vec![0; 40];
                    ip[0] = 0x60;
                    ip[6] = protocol;
                    ip[8..24].copy_from_slice(&Ipv6Addr::LOCALHOST.octets());
                    ip[24..40].copy_from_slice(&Ipv6Addr::LOCALHOST.octets());
                    ip
                }
            };
            ip.extend([0x10, 0, 0x20, 0, 0, 0, 0, 0]);
            ip.extend(payload);
            made.header_bytes = 0;
            made.payload = ip;
        }
    }
    Box::new(made)
}

fn queue(limit: Limit) -> Box<dyn Queue> {
    let spec = QueueSpec::Octopus(limit, OctopusConfig::default());
    spec.build(Rate::from_mbps(10.0), Duration::from_millis(60), Seed(1))
}

/// Ids of what left and of what was dropped, with the reason.
fn run(
    limit: Limit,
    packets: impl Iterator<Item = Box<Packet>>,
) -> (Vec<u64>, Vec<(u64, DropReason)>) {
    let (mut queue, mut drops, mut all) = (queue(limit), Vec::new(), 0);
    for packet in packets {
        queue.enqueue(Time::ZERO, packet, &mut drops);
        all += 1;
    }
    let mut left = Vec::new();
    while let Some(packet) = queue.dequeue(Time::from_millis(1), &mut drops).packet() {
        left.push(packet.id);
    }
    assert_eq!((queue.len(), queue.bytes(), left.len() + drops.len()), (0, 0, all));
    (left, drops.into_iter().map(|Dropped { packet, reason }| (packet.id, reason)).collect())
}

#[test]
fn headers_are_found_in_datagrams_and_in_ip_packets() {
    for how in [
        As::Datagram(1),
        As::Ip { v6: false, protocol: UDP, fragment: 0 },
        As::Ip { v6: true, protocol: UDP, fragment: 0 },
    ] {
        let packets = (0..3).map(|i| message(i, i as u32, how, 0));
        let (left, dropped) = run(Limit::Unlimited, packets);
        let newer = |id| (id, DropReason::Newer);
        assert_eq!((left, dropped), (vec![2], vec![newer(0), newer(1)]), "{how:?}");
    }
}

#[test]
fn what_is_no_whole_datagram_passes() {
    for how in [
        As::Ip { v6: false, protocol: 6, fragment: 0 },
        As::Ip { v6: true, protocol: 6, fragment: 0 },
        As::Ip { v6: false, protocol: UDP, fragment: 0x2000 },
        As::Ip { v6: false, protocol: UDP, fragment: 185 },
    ] {
        let packets = (0..3).map(|i| message(i, i as u32, how, 0));
        assert_eq!(run(Limit::Unlimited, packets).0, [0, 1, 2], "{how:?}");
    }
    // However short.
    let whole = message(0, 0, As::Ip { v6: false, protocol: UDP, fragment: 0 }, 0);
    let v6 = message(0, 0, As::Ip { v6: true, protocol: UDP, fragment: 0 }, 0);
    let cut = |packet: &Packet, len: usize| {
        Box::new(Packet { payload: packet.payload[..len].to_vec(), ..packet.clone() })
    };
    let packets = (0..70).flat_map(|len| [cut(&whole, len), cut(&v6, len)]);
    assert!(run(Limit::Unlimited, packets).1.is_empty());
}

#[test]
fn without_messages_it_is_droptail() {
    let run = |spec: QueueSpec| {
        let mut queue = spec.build(Rate::from_mbps(10.0), Duration::from_millis(60), Seed(1));
        let (mut drops, mut left) = (Vec::new(), Vec::new());
        for i in 0..200 {
            let now = Time::from_millis(i);
            queue.enqueue(now, numbered(i, 200 + (i * 37 % 1300) as u32), &mut drops);
            if i % 3 == 0 {
                left.extend(queue.dequeue(now, &mut drops).packet().map(|packet| packet.id));
            }
        }
        let drops: Vec<_> = drops.iter().map(|d| (d.packet.id, d.reason)).collect();
        (left, drops)
    };
    for limit in [Limit::Packets(20), Limit::Bytes(9_000), Limit::Unlimited] {
        let octopus = run(QueueSpec::Octopus(limit, OctopusConfig::default()));
        assert_eq!(octopus, run(QueueSpec::DropTail(limit)));
    }
}

#[test]
fn streams_of_several_connections_are_told_apart() {
    let packets = (0..3).map(|i| message(i, i as u32, As::Datagram(i as u16), 0));
    assert_eq!(run(Limit::Unlimited, packets).0, [0, 1, 2]);
}

#[test]
fn drops_have_their_reasons() {
    let packets = (0..4).map(|i| message(i, 0, As::Datagram(i as u16), 0));
    let overflow = |id| (id, DropReason::Overflow);
    assert_eq!(run(Limit::Packets(2), packets), (vec![0, 1], vec![overflow(2), overflow(3)]));
    // A link of 1 Mbit/s; messages of another connection ask for more.
    let (mut queue, mut drops) = (queue(Limit::Unlimited), Vec::new());
    for i in 0..20 {
        let kbps = if i % 2 == 0 { 0 } else { 2_000 };
        queue.enqueue(Time::ZERO, message(i, 0, As::Datagram(i as u16), kbps), &mut drops);
    }
    let mut now = Time::ZERO;
    while queue.dequeue(now, &mut drops).packet().is_some() {
        now += Duration::from_millis(10);
    }
    assert!(drops.iter().all(|d| d.reason == DropReason::Bitrate && d.packet.id > 4));
    assert_eq!(drops.len(), 8, "from the sixth packet on it is known that there is 1 Mbit/s");
}
