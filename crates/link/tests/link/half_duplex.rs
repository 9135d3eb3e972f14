//! Half-duplex links: the packet path in virtual time, settings, and a forwarder over loopback.

use std::net::SocketAddr;
use std::time::Duration;

use airlane_base::{Rate, Seed, Time};
use airlane_link::{Direction, LinkSpec, Way, half_duplex};
use airlane_net::{Limit, QueueSpec, Supply};
use proptest::prelude::*;

use crate::common::{TEST_TIMEOUT, conserves, forwarder, packet, socket, totals_when};
use crate::engine::{Train, of, run, train, way};

fn spec(up: Way, down: Way, seed: u64) -> LinkSpec {
    LinkSpec { half_duplex: true, ..LinkSpec::new(up, down, Seed(seed)) }
}

fn deep(mbps: f64) -> Way {
    Way::new(Rate::from_mbps(mbps), QueueSpec::DropTail(Limit::Packets(10_000)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_packet_comes_out_or_is_dropped_and_late_polls_change_nothing(
        (up, down, train, seed) in (way(), way(), train(), any::<u64>())
    ) {
        let spec = spec(up, down, seed);
        let ((arrivals, engine), (late, _)) = (run(&spec, &train, false), run(&spec, &train, true));
        let end = Time::from_millis(1_000_000);
        let mut used = 0.0;
        for direction in Direction::BOTH {
            let tally = engine.tally(direction);
            prop_assert!(tally.conserves());
            prop_assert_eq!((tally.held, engine.in_link(direction)), ((0, 0), (0, 0)));
            let sent = train.iter().filter(|(_, d, _)| *d == direction).count();
            prop_assert_eq!(tally.pushed.0, sent as u64);
            let arrived = of(&arrivals, direction);
            prop_assert_eq!(tally.polled.0, arrived.len() as u64);
            prop_assert!(arrived.is_sorted_by(|a, b| a.0 <= b.0 && a.2 < b.2), "nothing overtakes");
            prop_assert_eq!(arrived, of(&late, direction));
            used += engine.link_stats(direction, end).report().utilisation;
        }
        prop_assert!(used <= 1.0);
    }

    /// The laboratory's link delivers as the daemon's does, to the nanosecond.
    #[test]
    fn the_laboratory_delivers_at_the_same_times(
        (up, down, train, seed) in (way(), way(), train(), any::<u64>())
    ) {
        let (ours, _) = run(&spec(up.clone(), down.clone(), seed), &train, false);
        let (mut network, server, client) = half_duplex(&up, &down, Seed(seed));
        let end = |host| SocketAddr::new(network.addresses(host)[0], 9);
        let (server_end, client_end) = (end(server), end(client));
        for (at, direction, size) in &train {
            let ends = match direction {
                Direction::Down => (server_end, client_end),
                Direction::Up => (client_end, server_end),
            };
            network.send(*at, packet(*at, ends, *size));
        }
        let late = Time::FAR_FUTURE - Duration::from_secs(1);
        let theirs: Vec<_> = std::iter::from_fn(|| network.poll(late))
            .map(|d| (d.at, d.host == client, d.packet.payload.len()))
            .collect();
        let ours: Vec<_> =
            ours.into_iter().map(|(at, d, _, n)| (at, d == Direction::Down, n)).collect();
        prop_assert_eq!(ours, theirs);
    }
}

#[test]
fn two_full_directions_alternate_and_one_alone_has_everything() {
    let both: Train = (0..400)
        .map(|i| (Time::ZERO, if i < 200 { Direction::Up } else { Direction::Down }, 972))
        .collect();
    let spec = spec(deep(1.0), deep(8.0), 1);
    let (arrivals, _) = run(&spec, &both, false);
    // The capacity is that of the way down: a packet of 1000 bytes per millisecond.
    let times: Vec<u64> = arrivals.iter().map(|a| a.0.as_nanos()).collect();
    assert_eq!(times, (1..=400).map(|ms| ms * 1_000_000).collect::<Vec<u64>>());
    let turns = arrivals.windows(2).filter(|pair| pair[0].1 != pair[1].1).count();
    assert_eq!(turns, 399, "each packet is followed by one of the other direction");
    let alone: Train = both.into_iter().filter(|(_, d, _)| *d == Direction::Up).collect();
    let (arrivals, _) = run(&spec, &alone, false);
    assert_eq!(arrivals.last().map(|a| a.0), Some(Time::from_millis(200)));
}

#[test]
fn settings_have_one_capacity_and_two_ways() {
    let settings = |both: &[&str], up: &[&str], down: &[&str]| {
        LinkSpec::half_duplex_from_settings(both, up, down, Seed(1)).map_err(|e| e.to_string())
    };
    let both = ["rate_bps=1e6", "rtt_s=0.04", "rate_bps=40e6"];
    let spec = settings(&both, &["queue.kind=octopus"], &["delay_s=0.01", "rtt_s=0.02"]);
    assert!(spec.expect_err("two delays").starts_with("down.rtt_s: found beside delay_s"));
    let spec = settings(&both, &["loss.p=0.1"], &["queue.limit_packets=7"]).expect("sound");
    assert!(spec.half_duplex);
    assert_eq!(spec.down.supply, Supply::Constant(Rate::from_mbps(40.0)));
    assert_eq!((spec.up.delay, spec.down.delay), (Duration::from_millis(20), spec.up.delay));
    assert_eq!(spec.down.queue, QueueSpec::DropTail(Limit::Packets(7)));
    // 40 Mbit/s, 40 ms, one and a half times.
    assert_eq!(spec.up.queue, QueueSpec::DropTail(Limit::Bytes(300_000)));
    assert_eq!((spec.up.impairments.len(), spec.down.impairments.len()), (1, 0));
    for (both, up, down, says) in [
        (&[][..], &[][..], &[][..], "rate_bps: missing; expected exactly one of"),
        (&["rate_bps=1e6"], &[], &["rate_bps=2e6"], "down.rate_bps: found the capacity of one"),
        (&["rate_bps=1e6"], &["steps=[[0, 1e6]]"], &[], "up.steps: found the capacity of one"),
        (&[], &["rate_bps=1e6"], &["rate_bps=1e6"], "expected it with --both-directions"),
        (&["rate_bps=1e6", "trace=a"], &[], &[], "trace: found 2 capacities"),
        (&["rate_bps=x"], &[], &[], "rate_bps: found the text \"x\""),
        (&["rate_bps"], &[], &[], "rate_bps: no value; expected KEY=VALUE"),
        (&["rate_bps=1e6", "loss.p=7"], &[], &[], "up.loss.p: found 7"),
        (&["rate_bps=1e6", "queue=1"], &["queue.kind=pie"], &[], "up.queue.kind"),
    ] {
        let message = settings(both, up, down).expect_err("bad");
        assert!(message.contains(says), "{both:?} {up:?} {down:?}: {message}");
    }
}

#[test]
fn a_forwarder_serves_both_directions_from_one_budget() {
    const EACH: u64 = 50;
    let target = socket("127.0.0.1:0");
    // 40 Mbit/s up would be 200 us for a packet; both share 1 Mbit/s, 8 ms for each.
    let mut link = forwarder(spec(deep(40.0), deep(1.0), 1), "127.0.0.1:0", &target);
    let client = socket("127.0.0.1:0");
    let to = link.address().expect("an address");
    let mut buffer = [0; 2_000];
    client.send_to(&[0; 972], to).expect("sent");
    let (_, from) = target.recv_from(&mut buffer).expect("arrives");
    let before = link.totals().expect("at work");
    for _ in 0..EACH {
        client.send_to(&[1; 972], to).expect("sent");
        target.send_to(&[2; 972], from).expect("sent");
    }
    for socket in [&client, &target] {
        socket.set_read_timeout(Some(TEST_TIMEOUT)).expect("a timeout");
        for _ in 0..EACH {
            assert_eq!(socket.recv(&mut buffer).expect("arrives"), 972);
        }
    }
    let totals = totals_when(&mut link, "all packets", |t| t.up.held.0 + t.down.held.0 == 0);
    conserves(&totals);
    assert_eq!((totals.up.delivered.0, totals.down.delivered.0), (EACH + 1, EACH));
    let took = totals.at - before.at;
    assert!(took >= Duration::from_millis(8 * 2 * EACH), "{took:?} for both directions together");
    conserves(&link.stop().expect("stops"));
}
