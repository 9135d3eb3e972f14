//! What is dropped, case by case.

use airlane_base::{Rate, Seed, Time};
use airlane_octopus::{
    Capacity, DropDecision, Dropped, Dropper, Header, Marking, Options, Queue, Reason,
};

const IP_BYTES: u32 = 1500;

fn at(ms: u64) -> Time {
    Time::from_millis(ms)
}

/// A queue, what left it and what it dropped. A packet is called by its message and its number in it.
struct Bench {
    queue: Queue<(u32, u32)>,
    now: Time,
    left: Vec<(u32, u32)>,
    dropped: Vec<((u32, u32), Reason)>,
}

impl Bench {
    fn new(packets: usize, options: Options) -> Self {
        let capacity = Capacity { packets, ip_bytes: u64::MAX };
        Self { queue: Queue::new(capacity, options), now: at(0), left: vec![], dropped: vec![] }
    }

    /// The packets `range` of a message of `of` packets of a stream.
    fn packets(
        &mut self,
        stream: u16,
        message: u32,
        marking: Marking,
        range: std::ops::Range<u32>,
        of: u32,
    ) {
        for number in range {
            let (first, last) = (number == 0, number + 1 == of);
            let header = Header { stream, message, marking, first, last };
            let dropped = &mut self.dropped;
            self.queue.enqueue(self.now, 0, Some(&header), IP_BYTES, (message, number), |d| {
                dropped.push((d.packet, d.reason));
            });
        }
    }

    /// A whole message of stream 1.
    fn message(&mut self, message: u32, marking: Marking, packets: u32) {
        self.packets(1, message, marking, 0..packets, packets);
    }

    fn leave(&mut self, packets: usize) {
        for _ in 0..packets {
            let dropped = &mut self.dropped;
            let next =
                self.queue.dequeue(self.now, |d: Dropped<_>| dropped.push((d.packet, d.reason)));
            self.left.extend(next);
        }
    }

    fn left(&self) -> Vec<u32> {
        let mut messages: Vec<u32> = self.left.iter().map(|p| p.0).collect();
        messages.dedup();
        messages
    }

    fn dropped(&self) -> Vec<(u32, Reason)> {
        let mut messages: Vec<(u32, Reason)> =
            self.dropped.iter().map(|(p, r)| (p.0, *r)).collect();
        messages.dedup();
        messages
    }
}

fn frame(priority: u8, drops: u8) -> Marking {
    Marking { priority, drops: Some(drops), ..Marking::default() }
}

fn rate(kbps: u32) -> Marking {
    Marking { priority: 1, bitrate_kbps: kbps, ..Marking::default() }
}

#[test]
fn without_a_marking_nothing_is_dropped() {
    let mut bench = Bench::new(1000, Options::default());
    for message in 0..50 {
        bench.message(message, Marking::default(), 3);
        bench.message(message + 1000, frame(7, 1), 1);
        bench.now = at(u64::from(message) * 100);
    }
    bench.leave(1000);
    assert_eq!(bench.left.iter().filter(|p| p.0 < 1000).count(), 150);
}

#[test]
fn frames_of_three_temporal_layers_are_dropped_from_the_top() {
    // The frame-rate case of section 6.1: priority and threshold of a GoP of eight.
    let gop = [(1, 1), (3, 3), (2, 2), (3, 3), (1, 2), (3, 3), (2, 2), (3, 3)];
    let waiting = |frames: usize| {
        let mut bench = Bench::new(1000, Options::default());
        for (message, (priority, drops)) in gop.iter().take(frames).enumerate() {
            bench.message(message as u32, frame(*priority, *drops), 2);
        }
        bench.leave(16);
        bench.left()
    };
    assert_eq!(waiting(2), [0, 1], "the second drops nothing that is under 3");
    assert_eq!(waiting(3), [0, 2], "the third drops the second");
    assert_eq!(waiting(4), [0, 2, 3]);
    assert_eq!(waiting(5), [0, 4], "the fifth drops what is not a reference");
    assert_eq!(waiting(8), [0, 4, 6, 7]);
}

#[test]
fn a_dropper_counts_once_it_is_whole_and_before_it_leaves() {
    let mut bench = Bench::new(1000, Options::default());
    bench.message(0, frame(1, 1), 2);
    bench.packets(1, 1, frame(1, 1), 0..2, 3);
    bench.leave(1);
    assert_eq!(bench.left(), [0], "the dropper's last packet is not there yet");
    // What has begun to leave goes on.
    bench.packets(1, 1, frame(1, 1), 2..3, 3);
    bench.message(2, frame(1, 1), 1);
    bench.leave(10);
    assert_eq!(bench.left, [(0, 0), (0, 1), (2, 0)]);
    assert_eq!(bench.dropped(), [(1, Reason::Newer)]);
    // What it told is forgotten with the last of its stream, so numbers may begin anew.
    bench.message(0, frame(1, 1), 1);
    bench.leave(1);
    assert_eq!(bench.left.last(), Some(&(0, 0)));
}

#[test]
fn streams_and_flows_are_dropped_apart() {
    let mut bench = Bench::new(1000, Options::default());
    bench.packets(1, 0, frame(1, 1), 0..1, 1);
    bench.packets(2, 5, frame(1, 1), 0..1, 1);
    let header = Header { stream: 1, message: 9, marking: frame(1, 1), first: true, last: true };
    bench.queue.enqueue(bench.now, 77, Some(&header), IP_BYTES, (9, 0), |_| {});
    bench.queue.enqueue(bench.now, 77, None, IP_BYTES, (99, 0), |_| {});
    bench.leave(10);
    assert_eq!((bench.left(), bench.dropped()), (vec![0, 5, 9, 99], vec![]));
}

#[test]
fn layers_are_dropped_while_the_stream_is_served_too_slowly() {
    let mut bench = Bench::new(1000, Options::default());
    bench.queue.set_bandwidth(Some(Rate::from_mbps(3.0)));
    for (message, kbps) in [0, 1500, 3000, 3001, 9000].into_iter().enumerate() {
        bench.message(message as u32, rate(kbps), 3);
    }
    bench.leave(20);
    assert_eq!(bench.left(), [0, 1, 2]);
    assert_eq!(bench.dropped(), [(3, Reason::Bitrate), (4, Reason::Bitrate)]);
}

#[test]
fn service_is_measured_from_what_leaves_while_packets_wait() {
    let mut bench = Bench::new(1000, Options::default());
    bench.message(0, rate(0), 30);
    for message in 1..20 {
        bench.message(message, rate(if message % 2 == 0 { 6500 } else { 5500 }), 2);
    }
    // 1500 bytes each 2 ms: 6 Mbit/s.
    while !bench.queue.is_empty() {
        bench.leave(1);
        bench.now += std::time::Duration::from_millis(2);
    }
    let odd: Vec<u32> = (0..20).filter(|m| *m == 0 || m % 2 == 1).collect();
    assert_eq!(bench.left(), odd);
    assert_eq!(bench.queue.bandwidth(bench.now), None, "nothing waits");
    // After calm it is not known, which is enough for everything.
    bench.message(20, rate(1_000_000), 1);
    bench.leave(1);
    assert_eq!(bench.left().last(), Some(&20));
}

#[test]
fn a_stream_has_its_max_min_share() {
    // Of 8 Mbit/s; one stream asks for 1, the other for 12.
    let share = |stream: u16, kbps: u32| {
        let mut bench = Bench::new(100_000, Options::default());
        bench.queue.set_bandwidth(Some(Rate::from_mbps(8.0)));
        for ms in 0..300 {
            bench.now = at(ms);
            if ms % 12 == 0 {
                bench.packets(1, 1, Marking::default(), 0..1, 1);
            }
            bench.packets(2, 1, Marking::default(), 0..1, 1);
        }
        let before = bench.queue.len();
        bench.packets(stream, 2, rate(kbps), 0..1, 1);
        bench.leave(before + 1);
        bench.dropped.is_empty()
    };
    assert!(share(2, 6_800) && !share(2, 7_200), "what the first leaves");
    assert!(share(1, 3_800) && !share(1, 4_200), "half, which it does not use");
}

#[test]
fn slack_keeps_what_has_not_waited_for_long() {
    let slack =
        |message: u32| Marking { slack_ms: 100, ..frame(1, if message == 0 { 7 } else { 1 }) };
    for (waited, left) in [(99, vec![0, 1]), (100, vec![1])] {
        let mut bench = Bench::new(1000, Options { slack: true, ..Options::default() });
        bench.message(0, slack(0), 2);
        bench.message(1, slack(1), 2);
        bench.now = at(waited);
        bench.leave(4);
        assert_eq!(bench.left(), left, "after {waited} ms");
    }
    // Nor what is not whole.
    let mut bench = Bench::new(1000, Options { slack: true, ..Options::default() });
    bench.queue.set_bandwidth(Some(Rate::from_mbps(1.0)));
    bench.packets(1, 0, rate(2000), 0..2, 3);
    bench.leave(2);
    bench.message(1, rate(2000), 1);
    bench.leave(1);
    assert_eq!((bench.left(), bench.dropped()), (vec![0], vec![(1, Reason::Bitrate)]));
}

#[test]
fn a_rest_without_its_head_passes_or_is_dropped() {
    for (headless, left) in [(false, vec![0, 1, 2]), (true, vec![0, 2])] {
        let mut bench = Bench::new(1000, Options { headless, ..Options::default() });
        bench.message(0, rate(0), 2);
        bench.packets(1, 1, rate(0), 1..3, 3);
        bench.message(2, rate(0), 2);
        bench.leave(6);
        assert_eq!(bench.left(), left);
    }
}

#[test]
fn without_the_mark_of_its_head_a_message_is_cut() {
    for (per_packet, left, dropped) in
        [(false, vec![0, 1], vec![]), (true, vec![0, 1], vec![(0, Reason::Newer)])]
    {
        let mut bench = Bench::new(1000, Options { per_packet, ..Options::default() });
        bench.message(0, frame(1, 1), 4);
        bench.leave(2);
        bench.message(1, frame(1, 1), 2);
        bench.leave(4);
        assert_eq!((bench.left(), bench.dropped()), (left, dropped), "{per_packet}");
        let of_first = bench.left.iter().filter(|packet| packet.0 == 0).count();
        assert_eq!(of_first, if per_packet { 2 } else { 4 });
    }
    // Also by the bitrate, and where the queue makes room.
    let mut bench = Bench::new(4, Options { per_packet: true, ..Options::default() });
    bench.message(0, Marking { bitrate_kbps: 2_000, ..frame(1, 1) }, 3);
    bench.leave(1);
    bench.queue.set_bandwidth(Some(Rate::from_mbps(1.0)));
    bench.leave(1);
    assert_eq!(bench.dropped, [((0, 1), Reason::Bitrate), ((0, 2), Reason::Bitrate)]);
    let mut bench = Bench::new(4, Options { per_packet: true, ..Options::default() });
    bench.message(0, frame(1, 1), 3);
    bench.leave(1);
    bench.message(1, frame(1, 1), 2);
    bench.message(2, frame(1, 1), 2);
    bench.leave(4);
    assert_eq!(bench.left, [(0, 0), (2, 0), (2, 1)]);
}

#[test]
fn a_full_queue_drops_whole_messages() {
    let mut bench = Bench::new(5, Options::default());
    bench.message(0, rate(0), 3);
    bench.message(1, rate(0), 4);
    assert_eq!(bench.queue.len(), 3, "two packets of it had found room");
    bench.message(2, rate(0), 2);
    bench.leave(10);
    assert_eq!((bench.left(), bench.dropped()), (vec![0, 2], vec![(1, Reason::Overflow)]));
    assert_eq!((bench.dropped.len(), bench.queue.ip_bytes()), (4, 0));
}

#[test]
fn what_newer_messages_drop_makes_room_for_them() {
    // Nothing leaves for a long time: the newest messages are there when it goes on.
    let mut bench = Bench::new(50, Options::default());
    bench.message(0, frame(1, 1), 10);
    bench.leave(1);
    for message in 1..100 {
        bench.message(message, frame(1, 1), 7);
    }
    bench.leave(100);
    assert_eq!(bench.left(), [0, 99], "what had begun, and the newest");
    assert!(bench.dropped.iter().all(|(_, reason)| *reason == Reason::Newer));
}

#[test]
fn ten_thousand_streams_take_turns_in_a_table_of_few() {
    let options = Options { streams: 32, ..Options::default() };
    let mut bench = Bench::new(16, options);
    for i in 0..10_000_u32 {
        bench.packets(i as u16, i, frame(1, 1), 0..1, 1);
        bench.leave(usize::from(i > 8));
    }
    assert!(bench.dropped.is_empty());
    // More streams than places at once: those without a place pass.
    let mut dropper = Dropper::new(Options { streams: 2, seed: Seed(5), ..Options::default() });
    let marks: Vec<_> = (0..9)
        .map(|i| {
            let header = Header {
                stream: i / 3,
                message: i.into(),
                marking: frame(1, 1),
                first: true,
                last: true,
            };
            dropper.enqueue(at(0), 0, Some(&header), IP_BYTES).unwrap()
        })
        .collect();
    let passed = marks.iter().map(|mark| dropper.dequeue(at(0), mark) == DropDecision::Pass);
    let passed: Vec<bool> = passed.collect();
    assert_eq!(passed, [false, false, true, false, false, true, true, true, true]);
}

#[test]
fn what_has_begun_may_be_reconsidered_once() {
    let mut bench = Bench::new(100, Options::default());
    bench.message(0, frame(1, 1), 4);
    bench.leave(1);
    bench.message(1, frame(1, 1), 3);
    // As ever: what has begun goes on.
    bench.leave(1);
    bench.queue.reconsider();
    bench.leave(1);
    assert_eq!(bench.left(), [0, 1]);
    assert_eq!(bench.dropped, [((0, 2), Reason::Newer), ((0, 3), Reason::Newer)]);
    // What no newer message drops goes on, and once decided anew it is as before.
    bench.queue.reconsider();
    bench.leave(1);
    bench.message(2, frame(1, 1), 1);
    bench.leave(2);
    assert_eq!(bench.left, [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 0)]);
}

#[test]
fn what_nothing_drops_goes_on_when_it_is_reconsidered() {
    let mut bench = Bench::new(100, Options::default());
    bench.message(0, Marking::default(), 3);
    bench.leave(1);
    bench.message(1, frame(1, 1), 1);
    bench.queue.reconsider();
    bench.leave(3);
    assert_eq!(bench.left(), [0, 1]);
}
