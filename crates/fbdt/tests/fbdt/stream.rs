//! A stream over emulated paths: what it adds up to, and what a path costs the others.

use airlane_base::Time;
use airlane_fbdt::wire::{Ack, Ranges, Segment};
use airlane_fbdt::{Config, Options, PathId, Receiver, Redundancy, Sender};
use bytes::Bytes;

use crate::emulated::{Stream, pattern};

#[test]
fn two_paths_add_up_to_their_sum_however_they_differ() {
    // Bytes per millisecond, one-way delay: 630 and 1800 Mbit/s as in figure 3, and unlike ones.
    for (fast, slow) in
        [((225_000, 2), (78_750, 3)), ((10_000, 5), (500, 40)), ((3_000, 30), (3_000, 2))]
    {
        let length = (2 * (fast.0 + slow.0)) as usize * 1000;
        let mut stream = Stream::new(Config::default(), &[slow, fast], length);
        let took = stream.finish(20_000);
        assert!(stream.received == pattern(length));
        let sum = 2000.0;
        assert!(
            sum / took as f64 > 0.95,
            "{fast:?} {slow:?}: {took} ms, {:?}",
            stream.sender.counts()
        );
        let counts = stream.sender.counts();
        assert!(counts.redundant_bytes * 50 < counts.distinct_bytes, "{counts:?}");
        // Equation 1: each path carries its part of the rate.
        let share = stream.carried[0] as f64 / stream.carried.iter().sum::<u64>() as f64;
        let expected = slow.0 as f64 / (slow.0 + fast.0) as f64;
        assert!((share - expected).abs() < 0.03, "{share} instead of {expected}");
    }
}

#[test]
fn memory_that_just_suffices_is_shared_as_the_rates_are() {
    // Two paths that take all that they are given, however long it then waits: both hold what the
    // other needs, unless each keeps to its part. Their round trips have 0.66 MB between them.
    let config = Config { receive_memory: 1 << 20, ..Config::default() };
    for rates in [[(6_000, 10), (30_000, 9)], [(30_000, 9), (6_000, 10)], [(18_000, 9); 2]] {
        let length = 36_000 * 2000;
        let mut stream = Stream::new(config, &rates, length);
        stream.takes_all = true;
        let took = stream.finish(20_000);
        assert!(stream.received == pattern(length));
        let counts = stream.sender.counts();
        assert!(2000.0 / took as f64 > 0.9, "{rates:?}: {took} ms, {counts:?}");
        assert!(counts.redundant_bytes * 25 < counts.distinct_bytes, "{counts:?}");
    }
}

#[test]
fn a_path_that_is_too_late_for_the_memory_costs_the_other_nothing() {
    // Figure 3: half a second more on either path, in which the other fills 6 MB many times.
    for (early, late) in [((225_000, 2), (78_750, 503)), ((78_750, 3), (225_000, 502))] {
        let length = early.0 as usize * 6000;
        let mut stream = Stream::new(Config::default(), &[late, early], length);
        let took = stream.finish(20_000);
        assert!(stream.received == pattern(length));
        let counts = stream.sender.counts();
        // Nobody knows at first.
        assert!(6000.0 / took as f64 > 0.85, "{early:?}: {took} ms, {counts:?}");
        assert!(counts.redundant_bytes * 50 < counts.distinct_bytes, "{counts:?}");
    }
}

#[test]
fn without_a_part_everything_arrives_as_well() {
    let all = Options::default();
    for options in [
        Options { is_two_way: false, ..all },
        Options { redundancy: Redundancy::Off, ..all },
        Options { redundancy: Redundancy::Published, ..all },
        Options { adapts_directions: false, ..all },
        Options { shares_memory: false, ..all },
        Options { pipelines_windows: false, ..all },
        Options { copied_bytes: 64 << 10, ..all },
    ] {
        let mut stream = Stream::new(Config::default(), &[(3_000, 5), (6_000, 40)], 30_000_000);
        stream.sender = Sender::with(Config::default(), 8 << 20, options);
        for path in &mut stream.paths {
            path.id = stream.sender.open(Time::ZERO);
        }
        let took = stream.finish(60_000);
        assert!(stream.received == pattern(30_000_000), "{options:?}");
        assert!(took < 6_000, "{options:?}: {took} ms");
        let again = stream.sender.counts().redundant_bytes;
        assert!(options.redundancy != Redundancy::Off || again == 0, "{options:?}: {again}");
    }
}

/// The segments that each path gets now, asked in turn until neither has one.
fn taken(sender: &mut Sender, now: Time, paths: [PathId; 2]) -> [Vec<Segment>; 2] {
    let mut taken = [Vec::new(), Vec::new()];
    loop {
        let mut is_idle = true;
        for (path, taken) in paths.into_iter().zip(&mut taken) {
            if let Some(segment) = sender.next(now, path) {
                taken.push(segment);
                is_idle = false;
            }
        }
        if is_idle {
            return taken;
        }
    }
}

#[test]
fn the_paper_loads_the_next_window_when_the_last_has_arrived_or_is_on_its_way_twice() {
    let config = Config { segment_bytes: 1000, window_bytes: 6000, receive_memory: 60_000 };
    let mut sender = Sender::with(config, 60_000, Options::PUBLISHED);
    let mut receiver = Receiver::new(config);
    let at = |ms: u64| Time::from_millis(ms);
    let paths = [sender.open(at(0)).unwrap(), sender.open(at(0)).unwrap()];
    sender.push(&mut Bytes::from(vec![7; 18_000]));
    let indices = |segments: &[Segment]| -> Vec<(u64, u32)> {
        segments.iter().map(|segment| (segment.window, segment.index)).collect()
    };
    // Six packets, from both ends, and not one of the next window (3.1, figure 4).
    let [first, second] = taken(&mut sender, at(0), paths);
    assert_eq!(indices(&first), [(0, 0), (0, 1), (0, 2)]);
    assert_eq!(indices(&second), [(0, 5), (0, 4), (0, 3)]);
    // All of them arrive after 10 ms: the next window.
    for segment in first.into_iter().chain(second) {
        receiver.on_segment(at(10), segment).unwrap();
    }
    for path in paths {
        sender.on_ack(at(10), path, &receiver.ack(3000)).unwrap();
    }
    let [first, second] = taken(&mut sender, at(10), paths);
    assert_eq!((first.len(), second.len()), (3, 3));
    // The forward path's arrive, the backward one's do not: after its mean round trip of 10 ms, and not
    // before, they go forward as well; then the third window begins.
    for segment in first {
        receiver.on_segment(at(19), segment).unwrap();
    }
    sender.on_ack(at(19), paths[0], &receiver.ack(6000)).unwrap();
    assert_eq!(sender.next(at(19), paths[0]), None);
    assert_eq!(sender.next_event(at(19), paths[0]), Some(at(20)));
    let [again, _] = taken(&mut sender, at(20), paths);
    assert_eq!(indices(&again)[..3], [(1, 3), (1, 4), (1, 5)]);
    assert_eq!(again[3].window, 2);
    assert_eq!(sender.counts().redundant_bytes, 3000);
}

#[test]
fn one_window_at_a_time_costs_a_round_trip_each() {
    // 200 kB are 5 ms of both paths together; a window takes 10 ms more to be acknowledged.
    let config = Config { window_bytes: 200_000, ..Config::default() };
    let took = |options| {
        let mut stream = Stream::new(config, &[(10_000, 5), (30_000, 5)], 8_000_000);
        stream.sender = Sender::with(config, 8 << 20, options);
        for path in &mut stream.paths {
            path.id = stream.sender.open(Time::ZERO);
        }
        let took = stream.finish(60_000);
        assert!(stream.received == pattern(8_000_000), "{options:?}");
        took
    };
    let (published, shipped) = (took(Options::PUBLISHED), took(Options::default()));
    assert!(published > 2 * shipped, "{published} ms, {shipped} ms");
}

#[test]
fn little_under_way_goes_out_once_on_each_path_and_much_on_one_alone() {
    let options = Options { copied_bytes: 1000, ..Options::default() };
    let mut sender = Sender::with(Config::default(), 8 << 20, options);
    let mut receiver = Receiver::new(Config::default());
    let paths: Vec<PathId> = (0..3).map(|_| sender.open(Time::ZERO).unwrap()).collect();
    let sent = |sender: &mut Sender| -> Vec<Segment> {
        let asked = paths.iter().chain(&paths);
        asked.filter_map(|path| sender.next(Time::ZERO, *path)).collect()
    };
    sender.push(&mut Bytes::from_static(b"k"));
    let copies = sent(&mut sender);
    assert_eq!(copies.len(), 3);
    assert!(copies.iter().all(|segment| segment.payload == b"k"[..]));
    let is_new = copies.into_iter().map(|copy| receiver.on_segment(Time::ZERO, copy).unwrap());
    assert_eq!(is_new.collect::<Vec<_>>(), [true, false, false]);
    // The second does not wait for the first; both together are more than is copied.
    sender.push(&mut Bytes::from(vec![1; 1000]));
    assert_eq!(sent(&mut sender).len(), 1);
    sender.on_ack(Time::ZERO, paths[0], &receiver.ack(1)).unwrap();
    // With the first there, the second alone is little.
    assert_eq!(sent(&mut sender).len(), 2);
    assert_eq!(sender.counts().redundant_bytes, 2 + 2000);
}

#[test]
fn a_path_that_stalls_costs_its_own_rate_and_no_more() {
    let mut stream = Stream::new(Config::default(), &[(3_000, 5), (6_000, 5)], 60_000_000);
    while stream.now_ms < 2000 {
        stream.step();
    }
    stream.paths[1].stuck = true;
    let before = stream.received.len();
    while stream.now_ms < 7000 {
        stream.step();
    }
    let rate = (stream.received.len() - before) as f64 / 5000.0;
    assert!(rate > 0.9 * 3000.0, "{rate}");
    // It comes back with what it held.
    stream.paths[1].stuck = false;
    stream.finish(30_000);
    assert!(stream.received == pattern(60_000_000));
}

#[test]
fn three_and_four_paths_add_up_too() {
    for rates in [
        &[(3_000u64, 5u64), (9_000, 10), (1_000, 20)][..],
        &[(2_000, 5), (4_000, 9), (500, 20), (8_000, 3)],
    ] {
        let sum: u64 = rates.iter().map(|(rate, _)| rate).sum();
        let length = sum as usize * 4000;
        let mut stream = Stream::new(Config::default(), rates, length);
        let took = stream.finish(40_000);
        assert!(stream.received == pattern(length));
        assert!(4000.0 / took as f64 > 0.93, "{rates:?}: {took} ms, {:?}", stream.sender.counts());
    }
}

#[test]
fn a_path_that_ends_leaves_what_it_had_to_the_others() {
    let mut stream = Stream::new(Config::default(), &[(2_000, 5), (4_000, 50)], 20_000_000);
    while stream.now_ms < 1000 {
        stream.step();
    }
    let gone = stream.paths.remove(1);
    stream.sender.close(gone.id.unwrap());
    stream.finish(30_000);
    assert!(stream.received == pattern(20_000_000));
    assert!(stream.sender.counts().moved_bytes > 0);
}

#[test]
fn what_a_path_brought_before_it_ended_is_not_sent_again() {
    let at = Time::from_millis;
    let config = Config { segment_bytes: 1000, ..Config::default() };
    let mut sender = Sender::new(config, 1 << 20);
    let gone = sender.open(at(0)).unwrap();
    sender.push(&mut pattern(4000));
    sender.finish();
    for index in 0..3 {
        assert_eq!(sender.next(at(0), gone).unwrap().index, index);
    }
    sender.close(gone);
    let left = sender.open(at(10)).unwrap();
    // All but the second of them had come. So, it says, has the last, which was never sent.
    let mut missing = Ranges::default();
    missing.push(1, 2);
    sender.on_ack(at(20), left, &Ack { missing: vec![(0, missing)], ..Ack::default() }).unwrap();
    let mut next = || sender.next(at(20), left).map(|segment| segment.index);
    let mut sent = [next(), next()];
    sent.sort();
    assert_eq!((sent, next()), ([Some(1), Some(3)], None));
    sender.on_ack(at(30), left, &Ack { complete: 1, ..Ack::default() }).unwrap();
    assert!(sender.is_done());
}

#[test]
fn a_few_bytes_leave_on_the_path_that_is_there_first() {
    let at = Time::from_millis;
    let config = Config { segment_bytes: 1000, ..Config::default() };
    let mut sender = Sender::new(config, 1 << 20);
    let (slow, fast) = (sender.open(at(0)).unwrap(), sender.open(at(0)).unwrap());
    sender.push(&mut pattern(2000));
    assert_eq!(sender.next(at(0), slow).unwrap().index, 0);
    assert_eq!(sender.next(at(0), fast).unwrap().index, 1);
    let mut first = Ranges::default();
    first.push(0, 1);
    sender.on_ack(at(10), slow, &Ack { missing: vec![(0, first)], ..Ack::default() }).unwrap();
    sender.on_ack(at(200), slow, &Ack { complete: 1, ..Ack::default() }).unwrap();
    assert_eq!([slow, fast].map(|path| sender.next(at(200), path)), [None, None]);
    sender.push(&mut pattern(1));
    assert_eq!(sender.next(at(200), slow), None);
    assert_eq!(sender.next(at(200), fast).unwrap().payload, pattern(1));
}
