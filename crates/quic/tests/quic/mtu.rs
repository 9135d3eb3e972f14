//! MTU discovery: packets grow to what the path takes, and back where it takes less than before.

use std::time::Duration;

use crate::common::*;
use airlane_base::{Rate, Time};
use airlane_congestion::Algorithm;
use airlane_quic::{ControlStats, TransportConfig};

/// A transfer of 4 MB on a path without losses of its own, which passes UDP payloads of `most` bytes
/// at most from some time on: what the sender counted, and the payload sizes that arrived.
fn run(most: usize, from: Time) -> (Duration, ControlStats, Vec<usize>) {
    let (link, seen) = Link::new(Rate::from_mbps(20.0), Duration::from_millis(10), 1 << 20);
    let mut net = net(1, (link.passing_at_most(most, from), seen));
    net.seen.lock().keep = true;
    let (s, c) = (net.server.clone(), net.client.clone());
    let config = TransportConfig { most_payload_bytes: Some(1452), ..config(Algorithm::Cubic) };
    let transfer = transfer(s, c, SERVER_ADDR.into(), config, 4_000_000);
    let (took, stats) = net.world.run(transfer).unwrap();
    let sizes = net.seen.lock().down.iter().map(|(_, size)| *size).collect();
    (took, stats, sizes)
}

#[test]
fn packets_grow_to_what_the_path_takes() {
    for (most, least) in [(1452, 1432), (1400, 1380), (1350, 1350)] {
        let (_, k, sizes) = run(most, Time::ZERO);
        assert!(sizes[0] <= 1350, "the first is as every path takes it");
        let largest = *sizes.iter().max().unwrap();
        assert!((least..=most).contains(&largest), "{largest} where {most} pass");
        let full = sizes.iter().filter(|size| **size == largest).count();
        assert!(full * 4 > sizes.len() * 3, "{full} of {} have {largest}", sizes.len());
        // A probe that is lost is no loss, and leaves nothing behind.
        assert_eq!((k.lost_packets, k.in_flight), (0, 0), "{k:?}");
        assert_eq!(k.acked_packets, k.sent_packets, "{k:?}");
    }
}

#[test]
fn packets_shrink_where_large_ones_vanish() {
    let (took, k, sizes) = run(1380, Time::from_millis(800));
    assert!(sizes.contains(&1452));
    assert!(sizes.iter().rev().take(100).all(|size| *size <= 1350));
    assert!(k.lost_packets > 0 && k.in_flight == 0, "{k:?}");
    // 1.7 s for the bytes, and what it takes to notice.
    assert!(took < Duration::from_secs(5), "{took:?}");
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
