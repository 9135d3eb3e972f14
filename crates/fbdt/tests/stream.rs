//! A stream over paths that do whatever they like: what is delivered is what was sent.

use std::collections::VecDeque;

use airlane_base::Time;
use airlane_fbdt::wire::{Ack, Frame, Ranges, Segment};
use airlane_fbdt::{Config, Options, PathId, Receiver, Sender};
use bytes::{Bytes, BytesMut};
use proptest::prelude::*;

/// A path in both directions: a rate, a delay, and what is on its way.
struct Path {
    id: Option<PathId>,
    bytes_per_ms: u64,
    delay_ms: u64,
    /// By when the path has sent what it took.
    free_at_ms: f64,
    segments: VecDeque<(u64, Segment)>,
    acks: VecDeque<(u64, Ack)>,
    /// Bytes of segments that came on it.
    came: u64,
    stuck: bool,
}

struct Stream {
    sender: Sender,
    receiver: Receiver,
    paths: Vec<Path>,
    now_ms: u64,
    data: Bytes,
    received: Vec<u8>,
    /// Segments handed to each path that came, and bytes.
    carried: Vec<u64>,
    /// Whether paths keep more than a millisecond of data unsent.
    takes_all: bool,
}

fn pattern(length: usize) -> Bytes {
    (0..length as u64)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect::<Vec<_>>()
        .into()
}

impl Stream {
    fn new(config: Config, paths: &[(u64, u64)], length: usize) -> Self {
        let mut sender = Sender::new(config, 8 << 20);
        let mut open = |&(bytes_per_ms, delay_ms): &(u64, u64)| Path {
            id: sender.open(Time::ZERO),
            bytes_per_ms,
            delay_ms,
            free_at_ms: 0.0,
            segments: VecDeque::new(),
            acks: VecDeque::new(),
            came: 0,
            stuck: false,
        };
        let paths: Vec<Path> = paths.iter().map(&mut open).collect();
        let carried = vec![0; paths.len()];
        let data = pattern(length);
        Self {
            sender,
            receiver: Receiver::new(config),
            paths,
            now_ms: 0,
            data,
            received: vec![],
            carried,
            takes_all: false,
        }
    }

    fn now(&self) -> Time {
        Time::from_millis(self.now_ms)
    }

    /// A millisecond passes. Paths keep a millisecond of data unsent at most, or all.
    fn step(&mut self) {
        self.now_ms += 1;
        let now = self.now();
        self.sender.push(&mut self.data);
        if self.data.is_empty() {
            self.sender.finish();
        }
        for (i, path) in self.paths.iter_mut().enumerate() {
            let Some(id) = path.id else { continue };
            // A path that is stuck takes what fits its buffer.
            let most = if path.stuck { 20 } else { usize::MAX };
            let ahead_ms = if self.takes_all { 1e9 } else { 1.0 };
            while path.free_at_ms < self.now_ms as f64 + ahead_ms && path.segments.len() < most {
                let Some(segment) = self.sender.next(now, id) else { break };
                let starts = path.free_at_ms.max(self.now_ms as f64);
                path.free_at_ms = starts + segment.payload.len() as f64 / path.bytes_per_ms as f64;
                path.segments.push_back((path.free_at_ms.ceil() as u64 + path.delay_ms, segment));
            }
            let mut came = false;
            while !path.stuck && path.segments.front().is_some_and(|(at, _)| *at <= self.now_ms) {
                let (_, segment) = path.segments.pop_front().unwrap();
                self.carried[i] += segment.payload.len() as u64;
                path.came += segment.payload.len() as u64;
                self.receiver.on_segment(now, segment).unwrap();
                came = true;
            }
            if came {
                while let Some(bytes) = self.receiver.read(now) {
                    self.received.extend_from_slice(&bytes);
                }
            }
        }
        for path in &mut self.paths {
            let ack = self.receiver.ack(path.came);
            path.acks.push_back((self.now_ms + path.delay_ms, ack));
            while !path.stuck && path.acks.front().is_some_and(|(at, _)| *at <= self.now_ms) {
                let (_, ack) = path.acks.pop_front().unwrap();
                if let Some(id) = path.id {
                    self.sender.on_ack(now, id, &ack).unwrap();
                }
            }
        }
    }

    /// Runs until all has arrived. The milliseconds that it took.
    fn finish(&mut self, most_ms: u64) -> u64 {
        while !self.sender.is_done() {
            assert!(self.now_ms < most_ms, "not done: {:?}", self.sender.counts());
            self.step();
        }
        self.now_ms
    }
}

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
        Options { sends_again: false, ..all },
        Options { adapts_directions: false, ..all },
        Options { shares_memory: false, ..all },
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
        assert!(options.sends_again || again == 0, "{options:?}: {again}");
    }
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

/// What may happen to a stream.
#[derive(Clone, Debug)]
enum Event {
    Step(u8),
    Stall(usize, bool),
    Close(usize),
    Open { bytes_per_ms: u64, delay_ms: u64 },
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => (1u8..40).prop_map(Event::Step),
        2 => (0usize..4, any::<bool>()).prop_map(|(path, stuck)| Event::Stall(path, stuck)),
        1 => (0usize..4).prop_map(Event::Close),
        2 => (1u64..2000, 0u64..60)
            .prop_map(|(bytes_per_ms, delay_ms)| Event::Open { bytes_per_ms, delay_ms }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever paths join, stall, end and return: every byte once, in order, and both ends within
    /// their memory.
    #[test]
    fn every_byte_is_delivered_once_and_in_order(
        events in prop::collection::vec(event(), 1..60),
        length in 0usize..600_000,
        segment_bytes in 1u32..3000,
        window in 1u32..40,
        memory in 1u64..40,
    ) {
        let window_bytes = segment_bytes * window;
        let receive_memory = u64::from(window_bytes) * memory;
        let config = Config { segment_bytes, window_bytes, receive_memory };
        let length = length.min(segment_bytes as usize * 3000);
        let mut stream = Stream::new(config, &[(100, 3)], length);
        for event in events {
            match event {
                Event::Step(ms) => (0..ms).for_each(|_| stream.step()),
                Event::Stall(path, stuck) => {
                    if let Some(path) = stream.paths.get_mut(path) {
                        path.stuck = stuck;
                    }
                }
                Event::Close(path) if path < stream.paths.len() => {
                    let gone = stream.paths.remove(path);
                    stream.carried.remove(path);
                    if let Some(id) = gone.id {
                        stream.sender.close(id);
                    }
                }
                Event::Close(_) => {}
                Event::Open { bytes_per_ms, delay_ms } => {
                    let id = stream.sender.open(stream.now());
                    let free_at_ms = stream.now_ms as f64;
                    stream.carried.push(0);
                    stream.paths.push(Path {
                        id, bytes_per_ms, delay_ms, free_at_ms,
                        segments: VecDeque::new(), acks: VecDeque::new(), came: 0, stuck: false,
                    });
                }
            }
            prop_assert!(stream.receiver.held_bytes() <= receive_memory);
        }
        // One path that works is enough.
        if stream.paths.iter().filter(|path| path.id.is_some()).count() == 16
            && let Some(id) = stream.paths[0].id.take()
        {
            stream.sender.close(id);
        }
        let id = stream.sender.open(stream.now());
        prop_assert!(id.is_some());
        stream.carried.push(0);
        let free_at_ms = stream.now_ms as f64;
        stream.paths.push(Path {
            id, bytes_per_ms: 2000, delay_ms: 2, free_at_ms,
            segments: VecDeque::new(), acks: VecDeque::new(), came: 0, stuck: false,
        });
        let most = stream.now_ms + 200_000;
        stream.finish(most);
        prop_assert!(stream.received == pattern(length));
        stream.receiver.on_end(stream.sender.end().unwrap()).unwrap();
        prop_assert!(stream.receiver.is_done());
    }

    /// What is written is read back, however the bytes are cut; and no bytes make the reader panic.
    #[test]
    fn frames_come_back_from_bytes_cut_anywhere(
        payload in prop::collection::vec(any::<u8>(), 1..300),
        (window, index, more) in (any::<u64>(), 0u32..1000, 1u32..1000),
        cuts in prop::collection::vec(1usize..50, 1..20),
        noise in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let segment = Segment { window, index, count: index + more, payload: payload.into() };
        let frames = [Frame::Segment(segment), Frame::End(window), Frame::Ack(Ack { complete: 3, ..Ack::default() })];
        let mut whole = BytesMut::new();
        frames.iter().for_each(|f| f.encode(&mut whole));
        let (mut buffer, mut read) = (BytesMut::new(), Vec::new());
        for cut in cuts.iter().cycle() {
            if whole.is_empty() {
                break;
            }
            let part = whole.split_to((*cut).min(whole.len()));
            buffer.extend_from_slice(&part);
            while let Some(frame) = Frame::decode(&mut buffer).unwrap() {
                read.push(frame);
            }
        }
        prop_assert_eq!(&read[..], &frames[..]);
        let mut noise = BytesMut::from(&noise[..]);
        while let Ok(Some(_)) = Frame::decode(&mut noise) {}
    }
}
