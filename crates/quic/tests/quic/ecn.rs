//! Explicit congestion notification, from the socket to the controller.

use std::time::Duration;

use crate::common::*;
use airlane_base::{Rate, Seed};
use airlane_congestion::Algorithm;
use airlane_quic::ControlStats;
use airlane_runtime::RuntimeExt;
use airlane_runtime::real_time::TokioRuntime;

const BYTES: u64 = 4_000_000;

/// A transfer over 20 Mbit/s, 20 ms and a queue that is never full: both ends' statistics.
fn transfer(
    algorithm: Algorithm,
    ecn: bool,
    change: impl FnOnce(Link) -> Link,
) -> (ControlStats, ControlStats, Net) {
    let (link, seen) = Link::new(Rate::from_mbps(20.0), Duration::from_millis(10), 1 << 22);
    let mut net = net(1, (change(link), seen));
    let (s, c) = (net.server.clone(), net.client.clone());
    let mut config = config(algorithm);
    config.packets.ecn = ecn;
    let (sender, receiver) = net
        .world
        .run(async move {
            let (_s, _c, to_server, to_client) =
                pair(&s, &c, SERVER_ADDR.into(), config).await.unwrap();
            let from = to_client.clone();
            s.spawn("send", async move { send_bulk(from, BYTES).await.unwrap() });
            assert_eq!(recv_bulk(&to_server).await.unwrap(), BYTES);
            c.sleep(Duration::from_millis(100)).await;
            (to_client.control().stats(), to_server.control().stats())
        })
        .unwrap();
    (sender, receiver, net)
}

#[test]
fn packets_may_be_marked_only_where_it_is_asked_for() {
    let (sender, receiver, net) = transfer(Algorithm::Cubic, false, |link| link.marking_every(50));
    assert_eq!((net.seen.lock().markable, sender.mark_reports, receiver.marks_received), (0, 0, 0));
    let (_, _, net) = transfer(Algorithm::Cubic, true, |link| link);
    let seen = net.seen.lock();
    assert!(seen.markable > BYTES / 1_350 && seen.marked == 0, "{seen:?}");
}

#[test]
fn marks_are_counted_where_they_arrive_and_answered_where_they_are_reported() {
    for algorithm in [Algorithm::Reno, Algorithm::Cubic, Algorithm::Fast, Algorithm::Bbr] {
        let (unmarked, _, _) = transfer(algorithm, true, |link| link);
        // Marks far apart: each is an event of its own.
        let (sender, receiver, net) = transfer(algorithm, true, |link| link.marking_every(400));
        let marked = net.seen.lock().marked;
        assert!(marked >= 4, "{algorithm}: {marked}");
        assert_eq!(receiver.marks_received, marked, "{algorithm}");
        assert_eq!((sender.mark_reports, sender.lost_packets), (marked, 0), "{algorithm}");
        let answered = match algorithm {
            Algorithm::Reno | Algorithm::Cubic => sender.window < unmarked.window,
            // Its window comes back within a few round trips.
            Algorithm::Fast => sender.window <= unmarked.window,
            // Its window follows its model of the path: a mark holds it back for a round trip.
            _ => sender.window <= unmarked.window * 11 / 10,
        };
        assert!(answered, "{algorithm}: {} after {}", sender.window, unmarked.window);
    }
}

#[test]
fn several_marks_in_a_round_trip_are_one_event() {
    // Every second packet of the whole transfer: a window that fell by half for each report would be
    // at its least all the time.
    let (sender, receiver, _) = transfer(Algorithm::Reno, true, |link| link.marking_every(2));
    assert!(receiver.marks_received > 1_000, "{receiver:?}");
    assert!(sender.window >= 2 * 1_350 && sender.lost_packets == 0, "{sender:?}");
    let (rare, _, _) = transfer(Algorithm::Reno, true, |link| link.marking_every(400));
    assert!(rare.window > 2 * sender.window, "{} and {}", rare.window, sender.window);
}

#[test]
fn a_controller_that_asks_for_it_hears_of_each_mark() {
    // In equilibrium two packets of a window are marked: one of twenty means some forty packets.
    for (every, packets) in [(10, 12..30), (20, 26..60)] {
        let (sender, receiver, net) =
            transfer(Algorithm::Prague, false, |link| link.marking_every(every));
        assert!(packets.contains(&(sender.window / 1_350)), "{every}: {sender:?}");
        assert_eq!((receiver.marks_received, sender.lost_packets), (net.seen.lock().marked, 0));
        assert!(net.seen.lock().markable > BYTES / 1_350, "without `ecn` too");
    }
}

#[test]
fn a_path_that_clears_marks_is_noticed_and_does_no_harm() {
    for algorithm in [Algorithm::Cubic, Algorithm::Prague] {
        let (sender, receiver, net) = transfer(algorithm, true, Link::clearing_ecn);
        let seen = net.seen.lock();
        // The peer reports no counts: after the first acknowledgements nothing allows marks any more.
        assert!((1..100).contains(&seen.markable), "{algorithm}: {seen:?}");
        assert_eq!((sender.mark_reports, receiver.marks_received), (0, 0), "{algorithm}");
    }
}

#[tokio::test]
async fn over_real_sockets_a_transfer_that_allows_marks_arrives() {
    let runtime = TokioRuntime::new(Seed(1));
    let mut config = deployed(Algorithm::Cubic);
    config.packets.ecn = true;
    let addr = ([127, 0, 0, 1], 0).into();
    let (_, stats) =
        crate::common::transfer(runtime.clone(), runtime, addr, config, 5_000_000).await;
    assert!(stats.acked_bytes >= 5_000_000 && stats.mark_reports == 0, "{stats:?}");
}
