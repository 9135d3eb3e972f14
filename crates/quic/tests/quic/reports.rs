//! Reports of receivers, from the client to the controller of the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::common::*;
use airlane_base::Rate;
use airlane_congestion::{Algorithm, Signal};
use airlane_quic::{ControlStats, ReportSink, ReportSource, Reports, TransportConfig};
use airlane_runtime::RuntimeExt;
use bytes::Bytes;

const BYTES: u64 = 4_000_000;

/// A transfer under reports that ask for 4, 8 and 12 Mbit/s in turn, a second each, by a client that
/// gives `report` where it would give a number, to a server that reads them or does not.
fn transfer(report: fn(u8) -> Vec<u8>, is_read: bool) -> (ControlStats, u64, u64) {
    let (link, seen) = Link::new(Rate::from_mbps(20.0), Duration::from_millis(10), 1 << 22);
    let mut net = net(1, (link, seen));
    let (s, c) = (net.server.clone(), net.client.clone());
    let (made, read) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let source = {
        let made = made.clone();
        ReportSource::new(Duration::from_millis(40), move || {
            let made = made.clone();
            Box::new(move |now| {
                made.fetch_add(1, Ordering::Relaxed);
                let step = (now.as_secs_f64() as u8).min(2);
                Some(Bytes::from(report(4 * (step + 1))))
            })
        })
    };
    let sink = {
        let read = read.clone();
        ReportSink::new(move || {
            let read = read.clone();
            Box::new(move |_, bytes| {
                read.fetch_add(1, Ordering::Relaxed);
                let [mbps] = bytes else { return None };
                Some(Signal::Rate(Rate::from_mbps(f64::from(*mbps))))
            })
        })
    };
    let config = TransportConfig {
        reports: Reports { source: Some(source), sink: is_read.then_some(sink) },
        ..config(Algorithm::Explicit)
    };
    let stats = net
        .world
        .run(async move {
            let (_s, _c, to_server, to_client) =
                pair(&s, &c, SERVER_ADDR.into(), config).await.unwrap();
            let from = to_client.clone();
            s.spawn("send", async move { send_bulk(from, BYTES).await.unwrap() });
            assert_eq!(recv_bulk(&to_server).await.unwrap(), BYTES);
            to_client.control().stats()
        })
        .unwrap();
    (stats, made.load(Ordering::Relaxed), read.load(Ordering::Relaxed))
}

#[test]
fn a_controller_goes_by_what_its_receiver_reports() {
    let (stats, made, read) = transfer(|mbps| vec![mbps], true);
    assert_eq!(stats.pacing_rate, Some(Rate::from_mbps(12.0)));
    // 0.5 and 1 MB in the first two seconds, the rest at 1.5 MB/s.
    assert!((3.6..3.9).contains(&stats.now.as_secs_f64()), "{}", stats.now);
    assert!(made - read <= 1 && (85..98).contains(&read), "{made} and {read}");
}

#[test]
fn what_is_no_report_changes_nothing() {
    let (stats, _, read) = transfer(|_| vec![0; 700], true);
    assert_eq!(stats.pacing_rate, Some(Rate::from_mbps(1.0)));
    assert!(read > 100, "{read}");
    let (stats, made, _) = transfer(|mbps| vec![mbps], false);
    assert_eq!(stats.pacing_rate, Some(Rate::from_mbps(1.0)));
    assert!(made > 100, "{made}");
}
