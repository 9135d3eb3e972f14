//! Connections in virtual time over a constant link.

use std::time::Duration;

use crate::common::*;
use airlane_base::{Dscp, Rate, Time};
use airlane_congestion::{Algorithm, ControllerConfig};
use airlane_quic::{AckPolicy, Cipher, ControlStats, Endpoint, QuicError, TransportConfig};
use airlane_runtime::RuntimeExt;
use bytes::Bytes;

const MBPS_10: Rate = Rate::from_bps(10_000_000);
const DELAY: Duration = Duration::from_millis(10);
/// 1.6 BDP of 10 Mbit/s and 20 ms.
const QUEUE_BYTES: u64 = 40_000;

fn link() -> (Link, std::sync::Arc<parking_lot::Mutex<Seen>>) {
    Link::new(MBPS_10, DELAY, QUEUE_BYTES)
}

/// A transfer over [`link`]: its time, the sender's statistics, and the packet hash.
fn run(seed: u64, config: TransportConfig, bytes: u64) -> (Duration, ControlStats, u64) {
    let mut net = net(seed, link());
    let (s, c) = (net.server.clone(), net.client.clone());
    let (took, stats) = net.world.run(transfer(s, c, SERVER_ADDR.into(), config, bytes)).unwrap();
    let hash = net.seen.lock().hash.finish();
    (took, stats, hash)
}

#[test]
fn a_bulk_transfer_fills_a_constant_link_with_either_cipher() {
    for cipher in [Cipher::Null, Cipher::lab_tls().unwrap()] {
        let config = sealed(cipher.clone(), Algorithm::Cubic);
        let bytes = 12_000_000;
        let (took, stats, _) = run(1, config, bytes);
        let goodput = Rate::of(bytes, took).mbps();
        assert!((9.2..9.75).contains(&goodput), "{cipher:?}: {goodput} Mbit/s");
        let k = stats;
        assert!(k.acked_bytes >= bytes && k.lost_packets > 0, "{k:?}");
        assert_eq!(k.acked_packets + k.lost_packets, k.sent_packets, "{k:?}");
        assert_eq!(k.in_flight, 0, "{k:?}");
        // All the time there was data to send, but for the last window.
        let busy = k.busy.as_secs_f64() / took.as_secs_f64();
        assert!((0.97..=1.0).contains(&busy), "{busy} {k:?}");
        assert!(!k.has_data);
    }
}

#[test]
fn packets_either_way_have_the_dscp_of_their_endpoint() {
    let plain = config(Algorithm::Cubic);
    let mut video = config(Algorithm::Cubic);
    video.packets.dscp = Dscp::AF41;
    for (config, dscp) in [(plain, Dscp::DEFAULT), (video, Dscp::AF41)] {
        let mut net = net(1, link());
        let (s, c) = (net.server.clone(), net.client.clone());
        net.world.run(transfer(s, c, SERVER_ADDR.into(), config, 500_000)).unwrap();
        let seen = net.seen.lock();
        assert!(seen.packets > 500 && seen.dscps.iter().eq([&dscp]), "{seen:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_packets_wherever_the_clock_starts() {
    for cipher in [Cipher::Null, Cipher::lab_tls().unwrap()] {
        let world = |seed, clock_shift| {
            let config = sealed(cipher.clone(), Algorithm::Bbr);
            run(seed, TransportConfig { clock_shift, ..config }, 2_000_000).2
        };
        let first = world(3, Duration::ZERO);
        assert_eq!(first, world(3, Duration::ZERO));
        assert_eq!(first, world(3, Duration::from_nanos(123_456_789_123)));
        assert_ne!(first, world(4, Duration::ZERO));
    }
}

#[test]
fn an_explicit_rate_is_kept_in_every_tenth_of_a_second() {
    let rate = Rate::from_mbps(12.0);
    let config = controlled(ControllerConfig::Explicit { rate });
    let mut net = net(1, Link::new(Rate::from_mbps(100.0), DELAY, 1 << 20));
    net.seen.lock().keep = true;
    let (s, c) = (net.server.clone(), net.client.clone());
    net.world.run(transfer(s, c, SERVER_ADDR.into(), config, 4_500_000)).unwrap();
    let seen = net.seen.lock();
    // The rate is one of UDP payload; the first half second and the end are left out.
    let window = |from: Time| {
        let to = from + Duration::from_millis(100);
        let in_window = seen.down_times.iter().filter(|(t, _)| (from..to).contains(t));
        Rate::of(in_window.map(|(_, b)| u64::from(*b) - 28).sum(), to - from).mbps()
    };
    for i in 5..28 {
        let mbps = window(Time::from_millis(i * 100));
        assert!((mbps - 12.0).abs() <= 0.11, "window {i}: {mbps} Mbit/s");
    }
}

#[test]
fn a_rate_set_from_outside_holds_at_once() {
    let config = controlled(ControllerConfig::Explicit { rate: Rate::from_bps(20_000) });
    let mut net = net(1, Link::new(Rate::from_mbps(100.0), DELAY, 1 << 20));
    net.seen.lock().keep = true;
    let (s, c) = (net.server.clone(), net.client.clone());
    net.world
        .run(async move {
            let (_s, _c, to_server, to_client) =
                pair(&s, &c, SERVER_ADDR.into(), config).await.unwrap();
            let sender = to_client.clone();
            s.spawn("send", async move {
                // The world ends before this does.
                let _ = send_bulk(sender, 1 << 40).await;
            });
            let reader = to_server.clone();
            c.spawn("read", async move {
                let _ = recv_bulk(&reader).await;
            });
            for (at, mbps) in [(2, 4.0), (4, 30.0), (6, 0.5)] {
                s.sleep_until(Time::from_millis(at * 1000)).await;
                assert!(to_client.control().set_rate(Rate::from_mbps(mbps)));
                assert_eq!(to_client.control().stats().pacing_rate, Some(Rate::from_mbps(mbps)));
            }
            s.sleep_until(Time::from_millis(8_000)).await;
        })
        .unwrap();
    let seen = net.seen.lock();
    for (from, mbps) in [(2, 4.0), (4, 30.0), (6, 0.5)] {
        // The first packets after a change: at 20 kbit/s the next would have been half a second off.
        let change = Time::from_millis(from * 1000) + DELAY;
        let first = seen.down_times.iter().find(|(t, _)| *t >= change).unwrap().0;
        let gap = Rate::from_mbps(mbps).time_for(1378) + Duration::from_millis(1);
        assert!(first - change <= gap, "{mbps}: {:?}", first - change);
        let (from, to) = (change + Duration::from_millis(100), change + Duration::from_secs(2));
        let in_window = seen.down_times.iter().filter(|(t, _)| (from..to).contains(t));
        let got = Rate::of(in_window.map(|(_, b)| u64::from(*b) - 28).sum(), to - from).mbps();
        assert!((got / mbps - 1.0).abs() < 0.03, "{got} instead of {mbps}");
    }
}

#[test]
fn losses_are_repaired_and_counted() {
    let mut net = net(1, {
        let (link, seen) = link();
        (link.losing_every(50), seen)
    });
    let (s, c) = (net.server.clone(), net.client.clone());
    let config = config(Algorithm::Reno);
    let (_, stats) = net.world.run(transfer(s, c, SERVER_ADDR.into(), config, 2_000_000)).unwrap();
    let (k, dropped) = (stats, net.seen.lock().dropped);
    assert!(dropped > 20);
    assert!(k.lost_packets.abs_diff(dropped) <= 4, "{dropped} dropped, {k:?}");
    assert_eq!(k.acked_packets + k.lost_packets, k.sent_packets, "{k:?}");
}

#[test]
fn busy_time_leaves_pauses_out_and_so_measures_the_link() {
    let mut net = net(1, link());
    let (s, c) = (net.server.clone(), net.client.clone());
    net.world
        .run(async move {
            let (_s, _c, to_server, to_client) =
                pair(&s, &c, SERVER_ADDR.into(), config(Algorithm::Cubic)).await.unwrap();
            let mut total = Duration::ZERO;
            for round in 0..10 {
                let before = to_client.control().stats();
                let start = s.now();
                let sender = to_client.clone();
                s.spawn("send", async move { send_bulk(sender, 1_000_000).await.unwrap() });
                recv_bulk(&to_server).await.unwrap();
                total += s.now() - start;
                s.sleep(Duration::from_millis(700)).await;
                let after = to_client.control().stats();
                assert!(!after.has_data && after.in_flight == 0, "{after:?}");
                let progress = to_client.control().progress();
                assert_eq!(
                    (progress.acked_bytes, progress.busy, progress.min_rtt),
                    (after.acked_bytes, after.busy, after.rtt.map(|r| r.min)),
                );
                let (bytes, busy) =
                    (after.acked_bytes - before.acked_bytes, after.busy - before.busy);
                let rate = Rate::of(bytes, busy).mbps();
                // The link carries 9.8 Mbit/s of UDP payload. Handing a window over before its
                // last byte has left makes the rate a little higher, a queue that drains lower.
                println!("round {round}: {rate:.2} Mbit/s while busy for {busy:?}");
                if round > 1 {
                    assert!((9.0..10.8).contains(&rate), "round {round}: {rate} {busy:?}");
                }
            }
            let busy = to_client.control().stats().busy;
            assert!(busy < total, "{busy:?} of {total:?} transferring");
        })
        .unwrap();
}

#[test]
fn decimated_acknowledgements_are_fewer() {
    let acks = |acks| {
        let config = TransportConfig { acks, ..config(Algorithm::Cubic) };
        let mut net = net(1, link());
        let (s, c) = (net.server.clone(), net.client.clone());
        let (took, stats) =
            net.world.run(transfer(s, c, SERVER_ADDR.into(), config, 5_000_000)).unwrap();
        let up = net.seen.lock().up_packets;
        (up as f64 / stats.acked_packets as f64, took)
    };
    let (every_second, a) = acks(AckPolicy::EverySecond);
    let (decimated, b) = acks(AckPolicy::chromium(Duration::from_millis(20)));
    assert!((0.5..0.6).contains(&every_second), "{every_second}");
    assert!((0.1..0.25).contains(&decimated), "{decimated}");
    assert!(b.as_secs_f64() < a.as_secs_f64() * 1.1, "{a:?} {b:?}");
}

#[test]
fn acknowledgements_of_many_packets_are_not_answered_by_as_many_at_once() {
    let acks = AckPolicy::chromium(2 * DELAY);
    let config = TransportConfig { acks, ..config(Algorithm::Reno) };
    let (link, seen) = Link::new(Rate::from_mbps(1000.0), DELAY, 1 << 20);
    let mut net = net(1, (link.losing_every(200), seen));
    net.seen.lock().keep = true;
    let (s, c) = (net.server.clone(), net.client.clone());
    let (took, stats) =
        net.world.run(transfer(s, c, SERVER_ADDR.into(), config, 5_000_000)).unwrap();
    let acks = net.seen.lock().up_packets as f64 / stats.acked_packets as f64;
    assert!(acks < 0.25, "{acks} per packet");
    // About 17 packets per 20 ms, of which the window opens ten at a time.
    let from = Time::ZERO + took / 2;
    let times: Vec<Time> =
        net.seen.lock().down_times.iter().map(|(t, _)| *t).filter(|t| *t > from).collect();
    let tight = times.windows(6).filter(|w| w[5] - w[0] < Duration::from_micros(400)).count();
    assert!(times.len() > 1000 && tight == 0, "{tight} of {} bursts of six", times.len());
}

#[test]
fn a_weight_reaches_the_controller_and_a_file_the_secrets() {
    let dir = scratch("keys");
    let keylog = dir.join("keys.txt");
    let mut net = net(1, link());
    let (s, c) = (net.server.clone(), net.client.clone());
    let mut config = sealed(Cipher::lab_tls().unwrap(), Algorithm::Cubic);
    config.debug_files.keylog = Some(keylog.clone());
    net.world
        .run(async move {
            let (_s, _c, to_server, to_client) =
                pair(&s, &c, SERVER_ADDR.into(), config).await.unwrap();
            to_client.control().set_weight(2.5);
            let stats = to_client.control().stats();
            assert_eq!((stats.weight, stats.controller), (2.5, "cubic"));
            let (mut send, mut recv) = to_server.open_bi().await.unwrap();
            send.write_all(Bytes::from_static(b"ping")).await.unwrap();
            send.finish().unwrap();
            let (mut back, mut forth) = to_client.accept_bi().await.unwrap();
            assert_eq!(forth.read_to_end(10).await.unwrap(), b"ping");
            back.write_all(Bytes::from_static(b"pong")).await.unwrap();
            back.finish().unwrap();
            assert_eq!(recv.read_to_end(10).await.unwrap(), b"pong");
        })
        .unwrap();
    drop(net);
    let keys = std::fs::read_to_string(&keylog).unwrap();
    assert!(keys.contains("SERVER_TRAFFIC_SECRET_0 "), "{keys}");
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn peers_without_a_protocol_in_common_do_not_connect() {
    for cipher in [Cipher::Null, Cipher::lab_tls().unwrap()] {
        let mut net = net(1, link());
        let (s, c) = (net.server.clone(), net.client.clone());
        let speaking = |protocol: &[u8]| TransportConfig {
            alpn: vec![protocol.to_vec()],
            ..sealed(cipher.clone(), Algorithm::Reno)
        };
        let (ours, theirs) = (speaking(b"airlane/1"), speaking(b"h3"));
        let result = net.world.run(async move {
            let server = Endpoint::server(&s, SERVER_ADDR.into(), theirs).unwrap();
            let client = Endpoint::client(&c, ([0, 0, 0, 0], 0).into(), ours).unwrap();
            client.connect(server.local_addr(), "lab.airlane").await.map(|_| ())
        });
        assert!(matches!(result.unwrap(), Err(QuicError::Transport(_))), "{cipher:?}");
    }
}

#[test]
fn a_connection_ends_when_its_peer_closes_it_or_falls_silent() {
    let mut net = net(1, link());
    let (s, c) = (net.server.clone(), net.client.clone());
    net.world
        .run(async move {
            let idle_timeout = Some(Duration::from_secs(5));
            let mut config = config(Algorithm::Reno);
            config.timers.idle_timeout = idle_timeout;
            let (_s, endpoint, to_server, to_client) =
                pair(&s, &c, SERVER_ADDR.into(), config).await.unwrap();
            let second = endpoint.connect(SERVER_ADDR.into(), "lab.airlane").await.unwrap();
            to_server.close(7, "enough");
            let (code, reason) = (7, "enough".to_owned());
            assert_eq!(to_client.closed().await, QuicError::ClosedByPeer { code, reason });
            assert_eq!(to_server.closed().await, QuicError::ClosedHere);
            let start = c.now();
            assert_eq!(second.closed().await, QuicError::TimedOut);
            assert!(c.now() - start < Duration::from_secs(6));
            // The handle outlives its connection.
            assert!(to_client.control().stats().sent_packets > 0);
            to_client.control().set_weight(2.0);
        })
        .unwrap();
}

#[test]
fn streams_one_after_the_other_hold_more_in_flight_than_one_may() {
    // 400 Mbit/s and 100 ms: 3700 packets in flight, and a loss every 500.
    const STREAMS: u64 = 24;
    let (fast, seen) = Link::new(Rate::from_mbps(500.0), Duration::from_millis(50), 1 << 22);
    let mut net = net(1, (fast.losing_every(200), seen));
    let config = controlled(ControllerConfig::Explicit { rate: Rate::from_bps(400_000_000) });
    let (s, c) = (net.server.clone(), net.client.clone());
    net.world
        .run(async move {
            let (_s, _c, to_server, to_client) =
                pair(&s, &c, SERVER_ADDR.into(), config).await.unwrap();
            let start = c.now();
            s.spawn("send", async move {
                let megabyte = Bytes::from_static(&[0x5a; 1 << 20]);
                for _ in 0..STREAMS {
                    let mut stream = to_client.open_uni().await.unwrap();
                    stream.write_all(megabyte.clone()).await.unwrap();
                    stream.finish().unwrap();
                }
                to_client.closed().await;
            });
            let (done, mut lengths) = tokio::sync::mpsc::unbounded_channel();
            for _ in 0..STREAMS {
                // Each is read as it comes: unread ones would fill the connection's window.
                let mut stream = to_server.accept_uni().await.unwrap();
                let done = done.clone();
                c.spawn("read", async move {
                    done.send(stream.read_to_end(1 << 20).await.unwrap().len()).unwrap();
                });
            }
            drop(done);
            let mut total = 0;
            while let Some(length) = lengths.recv().await {
                total += length;
            }
            assert_eq!(total, STREAMS as usize * (1 << 20));
            let mbps = Rate::of(total as u64, c.now() - start).mbps();
            assert!(mbps > 180.0, "{mbps} Mbit/s");
        })
        .unwrap();
}

#[test]
fn a_stream_that_the_peer_stopped_is_reset_with_the_peers_code() {
    const STOPPED: u32 = 0x10c;
    const OWN: u32 = 0x102;
    let mut net = net(1, link());
    net.seen.lock().keep = true;
    let (s, c) = (net.server.clone(), net.client.clone());
    let config = config(Algorithm::Cubic);
    net.world
        .run(async move {
            let (_s, _c, to_server, to_client) =
                pair(&s, &c, SERVER_ADDR.into(), config).await.unwrap();
            let mut sending = to_client.open_uni().await.unwrap();
            sending.write_all(Bytes::from(vec![0; 100_000])).await.unwrap();
            let mut receiving = to_server.accept_uni().await.unwrap();
            receiving.stop(STOPPED).unwrap();
            let refused = sending.delivered().await;
            assert_eq!(refused, Err(QuicError::StreamEnded { code: STOPPED.into() }));
            sending.reset(OWN).unwrap();
            c.sleep(Duration::from_millis(200)).await;
        })
        .unwrap();
    // RESET_STREAM (RFC 9000, section 19.4): 4, the stream's number, the code in two bytes.
    let seen = net.seen.lock();
    let resets = |code: u32| {
        let frame = [4, 3, 0x40 | (code >> 8) as u8, code as u8];
        seen.payloads.iter().filter(|p| p.windows(4).any(|w| w == frame)).count()
    };
    assert_eq!((resets(STOPPED), resets(OWN)), (1, 0));
}

/// Both ends send, and nothing arrives for ten seconds: then both windows are full. The acknowledgements of what
/// arrives afterwards are not held back by them, or both ends would wait for a probe timeout of many seconds.
#[test]
fn ends_whose_windows_are_full_do_not_wait_for_each_other() {
    for algorithm in [Algorithm::Cubic, Algorithm::Bbr] {
        let (from, until) = (Time::from_millis(2_000), Time::from_millis(12_000));
        let (link, seen) = Link::new(Rate::from_mbps(10.0), Duration::from_millis(10), 100_000);
        let mut net = net(1, (link.holding(from, until), seen));
        let (s, c) = (net.server.clone(), net.client.clone());
        let (down, up) = net
            .world
            .run(async move {
                let (_s, _c, to_server, to_client) =
                    pair(&s, &c, SERVER_ADDR.into(), config(algorithm)).await.unwrap();
                for (runtime, connection) in [(&c, &to_server), (&s, &to_client)] {
                    let (to, from) = (connection.clone(), connection.clone());
                    runtime.spawn("send", async move { drop(send_bulk(to, 1 << 30).await) });
                    runtime.spawn("receive", async move { drop(recv_bulk(&from).await) });
                }
                let acked = || {
                    let of = |c: &airlane_quic::Connection| c.control().stats().acked_bytes;
                    (of(&to_client), of(&to_server))
                };
                c.sleep_until(until + Duration::from_millis(1_500)).await;
                let before = acked();
                c.sleep_until(until + Duration::from_millis(2_500)).await;
                let after = acked();
                to_server.close(0, "done");
                (after.0 - before.0, after.1 - before.1)
            })
            .unwrap();
        assert!(down > 500_000 && up > 100_000, "{algorithm}: {down} and {up} bytes in a second");
    }
}
