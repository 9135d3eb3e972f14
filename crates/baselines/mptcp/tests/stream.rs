//! A stream over paths that do whatever they like: what is delivered is what was sent, and how fast.

mod paths;

use airlane_base::Time;
use airlane_mptcp::{Config, Options, PathState, SchedulerKind, Sender};
use paths::{Stream, pattern};
use proptest::prelude::*;

const ALL: [SchedulerKind; 8] = [
    SchedulerKind::MinRtt,
    SchedulerKind::Blest,
    SchedulerKind::Linux,
    SchedulerKind::Ecf,
    SchedulerKind::RoundRobin,
    SchedulerKind::Redundant,
    SchedulerKind::Musher,
    SchedulerKind::Linux518,
];

/// Bytes per millisecond and one-way delay: 630 and 1800 Mbit/s, as in figure 3 of the FBDT paper.
const WIFI: (u64, u64) = (78_750, 3);
const WIGIG: (u64, u64) = (225_000, 2);

/// A stream with more to send than it will, over paths of these rates and delays.
fn stream(kind: SchedulerKind, receive_memory: u64, paths: &[(u64, u64)]) -> Stream {
    let config = Config { receive_memory, ..Config::default() };
    let memory = 2 * receive_memory;
    Stream::new(config, memory, Options::of(kind), paths).without_end()
}

/// Bytes per millisecond in order, from `from` to `to`.
fn goodput(stream: &mut Stream, from: u64, to: u64) -> f64 {
    stream.run_until(from);
    let before = stream.received();
    stream.run_until(to);
    (stream.received() - before) as f64 / (to - from) as f64
}

#[test]
fn two_equal_paths_without_limits_add_up() {
    for kind in ALL {
        let mut stream = stream(kind, 64 << 20, &[(12_500, 10), (12_500, 10)]);
        let share = goodput(&mut stream, 500, 2500) / 25_000.0;
        match kind {
            SchedulerKind::Redundant => assert!((0.48..0.52).contains(&share), "{share}"),
            _ => assert!(share >= 0.95, "{kind:?}: {share} {:?}", stream.sender.counts()),
        }
    }
}

#[test]
fn unlike_paths_add_up_too_as_long_as_memory_is_no_limit() {
    for kind in &ALL[..5] {
        let mut stream = stream(*kind, 64 << 20, &[WIFI, WIGIG]);
        let share = goodput(&mut stream, 300, 1300) / (WIFI.0 + WIGIG.0) as f64;
        assert!(share >= 0.95, "{kind:?}: {share} {:?}", stream.sender.counts());
    }
}

#[test]
fn a_path_with_half_a_second_more_blocks_the_head_of_the_line() {
    // 500 ms more round trip for one of the two, as in figure 3: far more fits on its way than the
    // 6 MB of memory, which are soon all there unless it is left alone.
    let share = |kind, paths: [(u64, u64); 2]| {
        let mut stream = stream(kind, 6_000_000, &paths);
        goodput(&mut stream, 4000, 10_000) / (paths[0].0 + paths[1].0) as f64
    };
    let kinds = [SchedulerKind::MinRtt, SchedulerKind::Blest, SchedulerKind::Linux];
    for (slow, fast) in [(WIGIG, WIFI), (WIFI, WIGIG)] {
        let [min_rtt, blest, linux] = kinds.map(|k| share(k, [fast, (slow.0, slow.1 + 250)]));
        let alone = fast.0 as f64 / (WIFI.0 + WIGIG.0) as f64;
        assert!(min_rtt < alone, "less than the fast one alone: {min_rtt}");
        assert!(blest > min_rtt && blest > 0.99 * alone, "{blest} {min_rtt}");
        // Sockets of 4 MiB at most leave less to wait behind the slow path than all of the 6 MB would.
        assert!(linux < 0.7 * alone, "{linux} of {alone}");
    }
    // But where the memory nearly suffices (6 MB for 100 + 100 Mbit/s), care costs more than
    // blocking does.
    let [min_rtt, blest, _] = kinds.map(|kind| share(kind, [(12_500, 5), (12_500, 255)]));
    assert!(min_rtt > 1.2 * blest && min_rtt < 0.8, "{min_rtt} {blest}");
}

/// Read off Linux 6.18 with `ss -tnMim`, whose headers are small: 2304 bytes for a packet of 1448. With
/// windows that were 408 and 302 packets at most the sockets of two subflows had 1 880 064 and
/// 1 391 616 bytes, and the stream's 3 275 776.
#[test]
fn a_kernel_has_memory_for_two_windows_of_each_subflow() {
    let windows = [408 * 1448, 302 * 1448];
    let room = |kind| {
        let options = Options { kernel_packet_bytes: 2304, ..Options::of(kind) };
        let mut sender = Sender::new(Config::default(), 64 << 20, options);
        for cwnd in windows {
            let path = sender.open(Time::ZERO).unwrap();
            sender.update(Time::ZERO, path, PathState { cwnd, ..PathState::default() });
            // A buffer does not shrink with its window.
            let less = PathState { cwnd: cwnd / 2, ..PathState::default() };
            sender.update(Time::ZERO, path, less);
        }
        sender.room()
    };
    assert_eq!(room(SchedulerKind::Linux), 3_275_776);
    assert_eq!(room(SchedulerKind::Linux518), 1_880_064);
}

#[test]
fn less_memory_than_the_stream_has_is_the_limit() {
    let mut sender = Sender::new(Config::default(), 30_000, Options::of(SchedulerKind::Linux));
    sender.open(Time::ZERO).unwrap();
    assert_eq!(sender.room(), 30_000);
    let mut unlimited = Sender::new(Config::default(), 64 << 20, Options::of(SchedulerKind::Blest));
    unlimited.open(Time::ZERO).unwrap();
    assert_eq!(unlimited.room(), 64 << 20);
}

#[test]
fn redundant_is_no_faster_than_the_best_path_and_no_outage_stops_it() {
    let mut stream = stream(SchedulerKind::Redundant, 6 << 20, &[(6_000, 5), (3_000, 9)]);
    let before = goodput(&mut stream, 500, 2000);
    assert!((0.9 * 6000.0..=1.01 * 6000.0).contains(&before), "{before}");
    stream.paths[0].stuck = true;
    let during = goodput(&mut stream, 2050, 2500);
    assert!(during > 0.9 * 3000.0, "{during}");
    stream.paths[0].stuck = false;
    let after = goodput(&mut stream, 3500, 4500);
    assert!(after > 0.9 * 6000.0, "{after}");
}

#[test]
fn musher_finds_the_share_of_the_rates() {
    for (paths, expected) in [([WIFI, WIGIG], 0.26), ([WIGIG, WIFI], 0.74)] {
        let mut stream = stream(SchedulerKind::Musher, 6 << 20, &paths);
        stream.run_until(5000);
        let before: Vec<u64> = stream.paths.iter().map(|p| p.carried).collect();
        let rate = goodput(&mut stream, 5000, 7000);
        let part = |i: usize| (stream.paths[i].carried - before[i]) as f64;
        let share = part(0) / (part(0) + part(1));
        assert!((share - expected).abs() < 0.05, "{share} instead of {expected}");
        assert!(rate / (WIFI.0 + WIGIG.0) as f64 > 0.9, "{rate}");
    }
}

#[test]
fn what_a_dead_path_had_is_sent_on_the_other() {
    for kind in ALL {
        let mut stream = stream(kind, 6 << 20, &[(6_000, 5), (6_000, 8)]);
        stream.run_until(1000);
        stream.paths[1].stuck = true;
        // The timeout is 200 ms; upstream Linux takes five of them.
        let is_linux = matches!(kind, SchedulerKind::Linux | SchedulerKind::Linux518);
        let wait = if is_linux { 1500 } else { 600 };
        let rate = goodput(&mut stream, 1000 + wait, 4000);
        assert!(rate > 0.9 * 6000.0, "{kind:?}: {rate} {:?}", stream.sender.counts());
        // It comes back with what it held, and is used again.
        stream.paths[1].stuck = false;
        let rate = goodput(&mut stream, 5000, 7000);
        let sum = if kind == SchedulerKind::Redundant { 6000.0 } else { 12_000.0 };
        assert!(rate > 0.9 * sum, "{kind:?}: {rate} {:?}", stream.sender.counts());
    }
}

#[test]
fn a_path_that_ends_leaves_what_it_had_to_the_others() {
    for kind in ALL {
        let mut stream = stream(kind, 6 << 20, &[(2_000, 5), (4_000, 50)]);
        stream.run_until(1000);
        stream.close(1);
        let rate = goodput(&mut stream, 1100, 2000);
        assert!(rate > 0.9 * 2000.0, "{kind:?}: {rate}");
        let moved = stream.sender.counts().moved_bytes;
        assert!(moved > 0 || kind == SchedulerKind::Redundant, "{kind:?}");
    }
}

#[test]
fn penalties_and_early_retransmissions_come_with_blocking_alone() {
    let counts = |receive_memory| {
        let paths = [(12_500, 5), (12_500, 105)];
        let mut stream = stream(SchedulerKind::MinRtt, receive_memory, &paths);
        stream.run_until(3000);
        stream.sender.counts()
    };
    let (blocked, free) = (counts(1_000_000), counts(64 << 20));
    assert!(blocked.early > 0 && blocked.penalties > 0, "{blocked:?}");
    assert_eq!((free.early, free.penalties), (0, 0), "{free:?}");
}

#[test]
fn a_timeout_that_has_passed_is_not_told_again() {
    // The harness asserts it. The only path falls silent, so that the stream waits for less.
    let config = Config { segment_bytes: 2150, receive_memory: 15_050 };
    let mut stream = Stream::new(config, 14_198, Options::of(SchedulerKind::MinRtt), &[(100, 3)])
        .with_end(16_098);
    stream.run_until(3);
    stream.paths[0].stuck = true;
    stream.run_until(924);
    stream.open(112, 0);
    stream.finish(5000);
}

/// What may happen to a stream.
#[derive(Clone, Debug)]
enum Event {
    Step(u16),
    Stall(usize, bool),
    Close(usize),
    Open { bytes_per_ms: u64, delay_ms: u64 },
    Read(bool),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => (1u16..40).prop_map(Event::Step),
        1 => (200u16..1500).prop_map(Event::Step),
        2 => (0usize..4, any::<bool>()).prop_map(|(path, stuck)| Event::Stall(path, stuck)),
        1 => (0usize..4).prop_map(Event::Close),
        1 => any::<bool>().prop_map(Event::Read),
        2 => (1u64..2000, 0u64..60)
            .prop_map(|(bytes_per_ms, delay_ms)| Event::Open { bytes_per_ms, delay_ms }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever paths join, stall, end and return: every byte once, in order, and both ends within
    /// the window and their memory.
    #[test]
    fn every_byte_is_delivered_once_and_in_order(
        events in prop::collection::vec(event(), 1..60),
        length in 0usize..400_000,
        segment_bytes in 100u32..3000,
        (receive_memory, send_memory) in (700u64..60_000, 700u64..60_000),
        (kind, early, penalises) in (0usize..ALL.len(), any::<bool>(), any::<bool>()),
    ) {
        let config = Config { segment_bytes, receive_memory };
        let options = Options {
            retransmits_early: early, penalises, ..Options::of(ALL[kind])
        };
        let mut stream = Stream::new(config, send_memory, options, &[(100, 3)]).with_end(length);
        for event in events {
            match event {
                Event::Step(ms) => {
                    let to = stream.now_ms + u64::from(ms);
                    stream.run_until(to);
                }
                Event::Stall(path, stuck) => {
                    if let Some(path) = stream.paths.get_mut(path) {
                        path.stuck = stuck;
                    }
                }
                Event::Close(path) => stream.close(path),
                Event::Open { bytes_per_ms, delay_ms } => stream.open(bytes_per_ms, delay_ms),
                Event::Read(reads) => stream.reads = reads,
            }
        }
        // One path that works is enough.
        stream.reads = true;
        stream.open(2000, 2);
        let most = stream.now_ms + 400_000;
        stream.finish(most);
        prop_assert!(stream.bytes() == pattern(length));
        prop_assert!(stream.receiver.is_done());
    }
}

#[test]
fn a_path_without_data_on_its_way_is_not_silent() {
    use airlane_mptcp::wire::Ack;
    use bytes::Bytes;

    // The end of a stream that has little to say: its connections carry acknowledgements all the
    // time, which arrive, but none of its data.
    for kind in ALL {
        let config = Config::default();
        let mut sender = Sender::new(config, 1 << 20, Options::of(kind));
        let paths = [0; 2].map(|_| sender.open(Time::ZERO).unwrap());
        let (mut now, mut sent) = (Time::ZERO, 0);
        let mut acked_packets = 0;
        for step in 0..100 {
            sender.push(&mut Bytes::from_static(&[1; 100]));
            let path = sender.chosen(now).unwrap_or_else(|| panic!("{kind:?}: nobody in {step}"));
            sent += sender.next(now, path).unwrap().payload.len() as u64;
            sender
                .on_ack(now, &Ack { data_ack: sent, window: sent + config.receive_memory })
                .unwrap();
            for in_flight in [140, 80] {
                now += std::time::Duration::from_millis(200);
                acked_packets += 1;
                for path in paths {
                    let state = PathState { in_flight, acked_packets, ..PathState::default() };
                    sender.update(now, path, state);
                }
                assert_eq!(sender.chosen(now), None, "{kind:?}");
            }
        }
        assert_eq!((sent, sender.counts().timeouts), (10_000, 0), "{kind:?}");
    }
}
