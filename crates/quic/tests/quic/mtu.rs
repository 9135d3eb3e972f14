//! MTU discovery: packets grow to what the path takes, and back where it takes less than before.

use std::time::Duration;

use crate::common::*;
use airlane_base::{Rate, Time};
use airlane_congestion::Algorithm;
use airlane_quic::ControlStats;

/// A transfer of 4 MB on a path without losses of its own, which passes UDP payloads of `most` bytes
/// at most from some time on: what the sender counted, and the payload sizes that arrived.
fn run(payload_bytes: u16, most: usize, from: Time) -> (Duration, ControlStats, Vec<usize>) {
    let (link, seen) = Link::new(Rate::from_mbps(20.0), Duration::from_millis(10), 1 << 20);
    let mut net = net(1, (link.passing_at_most(most, from), seen));
    net.seen.lock().keep = true;
    let (s, c) = (net.server.clone(), net.client.clone());
    let mut config = config(Algorithm::Cubic);
    config.packets.payload_bytes = payload_bytes;
    config.packets.max_payload_bytes = Some(1452);
    let transfer = transfer(s, c, SERVER_ADDR.into(), config, 4_000_000);
    let (took, stats) = net.world.run(transfer).unwrap();
    let sizes = net.seen.lock().down.iter().map(|(_, size)| *size).collect();
    (took, stats, sizes)
}

#[test]
fn packets_grow_to_what_the_path_takes() {
    for (first, most, least) in [
        (1350, 1452, 1432),
        (1350, 1400, 1380),
        (1350, 1350, 1350),
        // Where nothing is known (RFC 9000, section 14): paths of 1500 bytes, of 1280 below IPv4 and
        // IPv6, and of the least that QUIC needs.
        (1200, 1452, 1432),
        (1200, 1252, 1230),
        (1200, 1232, 1212),
        (1200, 1200, 1200),
    ] {
        let (_, k, sizes) = run(first, most, Time::ZERO);
        assert!(sizes[0] <= usize::from(first), "the first is as every path takes it");
        let largest = *sizes.iter().max().unwrap();
        assert!((least..=most).contains(&largest), "{largest} where {most} pass");
        // Each size that does not pass is tried three times.
        let last = &sizes[sizes.len() / 2..];
        let full = last.iter().filter(|size| **size == largest).count();
        assert!(full * 10 > last.len() * 9, "{full} of {} have {largest}", last.len());
        // A probe that is lost is no loss, and leaves nothing behind.
        assert_eq!((k.lost_packets, k.in_flight), (0, 0), "{k:?}");
        assert_eq!(k.acked_packets, k.sent_packets, "{k:?}");
    }
}

#[test]
fn packets_shrink_where_large_ones_vanish() {
    for (first, narrow) in [(1350, 1380), (1200, 1252), (1200, 1200)] {
        let (took, k, sizes) = run(first, narrow, Time::from_millis(800));
        assert!(sizes.iter().any(|size| *size >= 1432), "{first}");
        assert!(sizes.iter().rev().take(100).all(|size| *size <= usize::from(first)));
        assert!(k.lost_packets > 0 && k.in_flight == 0, "{k:?}");
        // 1.7 s for the bytes, and what it takes to notice.
        assert!(took < Duration::from_secs(5), "{took:?}");
    }
}

#[test]
fn without_discovery_packets_keep_their_size() {
    let (link, seen) = Link::new(Rate::from_mbps(20.0), Duration::from_millis(10), 1 << 20);
    let mut net = net(1, (link, seen));
    net.seen.lock().keep = true;
    let (s, c) = (net.server.clone(), net.client.clone());
    let config = config(Algorithm::Cubic);
    net.world.run(transfer(s, c, SERVER_ADDR.into(), config, 1_000_000)).unwrap();
    assert_eq!(net.seen.lock().down.iter().map(|(_, size)| *size).max(), Some(1350));
}
