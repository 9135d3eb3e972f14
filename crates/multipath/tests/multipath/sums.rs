//! A stream over several interfaces in virtual time, with QUIC on each.

use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_mptcp::{MptcpEngines, Options, SchedulerKind};
use airlane_multipath::{MultipathStream, Scheme, StreamConfig, StreamCounts};
use airlane_net::link::{RateProfile, Supply};
use airlane_runtime::RuntimeExt;

use crate::world::{Scene, TestBody, accept, mbps, open, scene};

const ENDLESS: u64 = 1 << 50;

/// Sends `bytes` of a pattern from the server to the client, until `until`. Returns what was read
/// by then, when it ended, and what the client's and the server's ends counted.
fn transfer(scene: Scene, bytes: u64, until: Time) -> (u64, Time, StreamCounts, StreamCounts) {
    transfer_with(StreamConfig::default(), scene, bytes, until)
}

fn transfer_with(
    config: StreamConfig,
    scene: Scene,
    bytes: u64,
    until: Time,
) -> (u64, Time, StreamCounts, StreamCounts) {
    let Scene { mut world, server, client, listen, interfaces } = scene;
    let clock = client.clone();
    let result = world.run(async move {
        let mut streams = accept(&server, listen, config.clone());
        let (counted, counts) = tokio::sync::oneshot::channel();
        server.spawn("source", async move {
            let stream: MultipathStream = streams.recv().await.unwrap();
            for piece in TestBody(0).pieces(0..bytes, 64 << 10) {
                if stream.write(piece).await.is_err() {
                    break;
                }
            }
            stream.finish();
            drop(stream.over().await);
            drop(counted.send(stream.counts()));
        });
        let (session, stream) = open(&client, (&interfaces, listen), config);
        stream.finish();
        let body = TestBody(0);
        let mut got = 0;
        let mut reads = async || {
            loop {
                let pieces = stream.read().await.unwrap();
                if pieces.is_empty() {
                    break;
                }
                for piece in pieces {
                    assert!(body.matches(got, &piece), "wrong bytes after {got}");
                    got += piece.len() as u64;
                }
            }
        };
        let ended = tokio::select! {
            biased;
            () = clock.sleep_until(until) => None,
            () = reads() => Some(clock.now()),
        };
        let own = stream.counts();
        match ended {
            Some(at) => {
                stream.over().await.unwrap();
                session.close().await;
                (got, at, own, counts.await.unwrap())
            }
            None => (got, until, own, StreamCounts::default()),
        }
    });
    result.unwrap()
}

#[test]
fn two_radios_add_up_to_their_sum() {
    let rtt = Duration::from_millis(10);
    let alone = |rate| {
        let (got, at, ..) =
            transfer(scene(vec![mbps(rate)], rtt), ENDLESS, Time::from_millis(8_000));
        got as f64 * 8.0 / at.as_secs_f64() / 1e6
    };
    let (slow, fast) = (alone(30.0), alone(90.0));
    assert!(slow > 27.0 && fast > 80.0, "{slow} and {fast} Mbit/s alone");
    let both = scene(vec![mbps(30.0), mbps(90.0)], rtt);
    let (got, at, counts, _) = transfer(both, ENDLESS, Time::from_millis(8_000));
    let together = got as f64 * 8.0 / at.as_secs_f64() / 1e6;
    assert!(together > 0.95 * (slow + fast), "{together} of {slow} + {fast} Mbit/s");
    let duplicates: u64 = counts.paths.iter().map(|p| p.duplicate_bytes).sum();
    assert!(duplicates * 50 < got, "{duplicates} of {got} bytes came twice");
}

#[test]
fn a_radio_that_goes_dark_for_a_while_costs_no_byte() {
    let steps = [
        (Duration::ZERO, Rate::from_mbps(50.0)),
        (Duration::from_secs(1), Rate::ZERO),
        (Duration::from_secs(4), Rate::from_mbps(50.0)),
    ];
    let dark = RateProfile::new(&steps, None).unwrap();
    let interfaces = || vec![mbps(20.0), Supply::Profile(Arc::new(dark.clone()))];
    let rtt = Duration::from_millis(20);
    // The other interface goes on with its 20 Mbit/s, and what was on its way on the dark one comes over
    // it within half a second.
    let by = |ms| transfer(scene(interfaces(), rtt), ENDLESS, Time::from_millis(ms)).0;
    let meanwhile = (by(3_500) - by(1_500)) as f64 * 8.0 / 2.0 / 1e6;
    assert!(meanwhile > 18.0, "{meanwhile} of 20 Mbit/s in the dark");
    let soon = by(1_500) as f64 * 8.0 / 1e6;
    assert!(soon > 0.8 * (70.0 + 10.0 / 2.0), "{soon} Mbit in a second up and half a one down");
    // 30 MB take 5.6 s at 70 Mbit/s up and 20 down. The connection that was in the
    // dark tries at intervals that double (RFC 9002, 6.2.1), so it would hear that it is up up to 3 s
    // late; another takes its place.
    let bytes = 30_000_000;
    let (got, at, ..) = transfer(scene(interfaces(), rtt), bytes, Time::from_millis(60_000));
    assert_eq!(got, bytes);
    assert!(at < Time::from_millis(6_000), "done at {at}");
    let (at_light, later) = (by(4_000), by(5_000));
    let first_second = (later - at_light) as f64 * 8.0 / 1e6;
    assert!(first_second > 20.0 + 0.5 * 50.0, "{first_second} Mbit in the first second of light");
}

/// As MPTCP: with these schedulers the two interfaces have so much of their sum at least and at most.
#[test]
fn the_schedulers_of_mptcp_run_over_the_same_paths() {
    let shares = [
        (SchedulerKind::MinRtt, 0.95, 1.01),
        (SchedulerKind::Blest, 0.95, 1.01),
        (SchedulerKind::Linux, 0.9, 1.01),
        (SchedulerKind::Ecf, 0.9, 1.01),
        (SchedulerKind::RoundRobin, 0.95, 1.01),
        // The faster interface's rate.
        (SchedulerKind::Redundant, 0.7, 0.8),
        // It begins with halves, and its steps are made for gains that are not to be had here.
        (SchedulerKind::Musher, 0.45, 1.01),
    ];
    for (kind, least, most) in shares {
        let scheme = Scheme::Other(Arc::new(MptcpEngines(Options::of(kind))));
        let config = StreamConfig { scheme, ..StreamConfig::default() };
        let both = scene(vec![mbps(30.0), mbps(90.0)], Duration::from_millis(10));
        let (got, at, ..) = transfer_with(config.clone(), both, ENDLESS, Time::from_millis(8_000));
        let share = got as f64 * 8.0 / at.as_secs_f64() / 115e6;
        assert!((least..most).contains(&share), "{kind:?}: {share} of the sum");
        let interfaces = vec![mbps(10.0), mbps(20.0), mbps(30.0)];
        let three = scene(interfaces, Duration::from_millis(10));
        let (got, ..) = transfer_with(config, three, 3_000_001, Time::from_millis(20_000));
        assert_eq!(got, 3_000_001, "{kind:?}");
    }
}

#[test]
fn a_stream_ends_when_all_has_arrived_at_both_ends() {
    let interfaces = vec![mbps(10.0), mbps(20.0), mbps(30.0)];
    let (got, _, client, server) = transfer(
        scene(interfaces, Duration::from_millis(10)),
        5_000_001,
        Time::from_millis(20_000),
    );
    assert_eq!(got, 5_000_001);
    assert_eq!(server.sent.distinct_bytes, 5_000_001);
    assert_eq!(client.paths.len(), 3);
    assert_eq!(client.paths.iter().map(|p| p.first_bytes).sum::<u64>(), 5_000_001);
}
