//! Against an obvious implementation, and what has to hold whatever comes.

use std::collections::BTreeMap;

use airlane_base::{Rate, Seed, Time};
use airlane_octopus::{Capacity, Header, Marking, Options, Queue, Reason, is_older};
use proptest::prelude::*;

/// The same queue with all that ever happened.
struct Model {
    packets: usize,
    headless: bool,
    too_high_kbps: u32,
    waiting: Vec<Packet>,
    streams: BTreeMap<(u64, u16), Stream>,
    has_news: bool,
}

#[derive(Clone, Copy)]
struct Packet {
    id: usize,
    flow: u64,
    header: Option<Header>,
}

#[derive(Default)]
struct Stream {
    /// Droppers that came whole while something of the stream waited: threshold, message.
    droppers: Vec<(u8, u32)>,
    decided: Option<(u32, Option<Reason>)>,
    lost: Option<(u32, Reason)>,
}

impl Stream {
    fn is_outdated(&self, header: &Header) -> bool {
        let newest = |threshold: u8| self.droppers.iter().rfind(|(t, _)| *t == threshold);
        let older = |d: &(u8, u32)| is_older(header.message, d.1);
        (1..=header.marking.priority).any(|t| newest(t).is_some_and(older))
    }

    fn is_lost(&self, header: &Header) -> Option<Reason> {
        self.lost.filter(|(message, _)| *message == header.message).map(|(_, reason)| reason)
    }
}

impl Model {
    fn stream(&mut self, packet: &Packet) -> Option<(&mut Stream, Header)> {
        let header = packet.header?;
        Some((self.streams.entry((packet.flow, header.stream)).or_default(), header))
    }

    fn enqueue(&mut self, packet: Packet) -> Vec<(usize, Reason)> {
        if let Some((stream, header)) = self.stream(&packet) {
            if let Some(reason) = stream.is_lost(&header) {
                return vec![(packet.id, reason)];
            }
            if let Some(threshold) = header.marking.drops.filter(|_| header.last) {
                stream.droppers.push((threshold.max(1), header.message));
                self.has_news = true;
            }
        }
        let mut dropped = Vec::new();
        if self.waiting.len() >= self.packets && std::mem::take(&mut self.has_news) {
            for packet in std::mem::take(&mut self.waiting) {
                let mut goes = false;
                if let Some((stream, header)) = self.stream(&packet) {
                    let begun = stream.decided.is_some_and(|d| d.0 == header.message);
                    goes = stream.is_lost(&header).is_some();
                    if !goes && header.first && !begun && stream.is_outdated(&header) {
                        stream.lost = Some((header.message, Reason::Newer));
                        goes = true;
                    }
                }
                if goes {
                    dropped.push((packet.id, Reason::Newer))
                } else {
                    self.waiting.push(packet)
                }
            }
        }
        if self.waiting.len() < self.packets {
            self.waiting.push(packet);
        } else {
            dropped.push((packet.id, Reason::Overflow));
            if let Some((stream, header)) = self.stream(&packet) {
                stream.lost = Some((header.message, Reason::Overflow));
                if header.last && header.marking.drops.is_some() {
                    stream.droppers.pop();
                }
                let of = |other: &Packet| {
                    other.flow == packet.flow
                        && other.header.is_some_and(|o| {
                            (o.stream, o.message) == (header.stream, header.message)
                        })
                };
                dropped.extend(
                    self.waiting.iter().filter(|o| of(o)).map(|o| (o.id, Reason::Overflow)),
                );
                self.waiting.retain(|other| !of(other));
            }
        }
        self.forget();
        dropped
    }

    fn dequeue(&mut self) -> (Option<usize>, Vec<(usize, Reason)>) {
        let mut dropped = Vec::new();
        while !self.waiting.is_empty() {
            let packet = self.waiting.remove(0);
            let (headless, too_high) = (self.headless, self.too_high_kbps);
            let reason = self.stream(&packet).and_then(|(stream, header)| {
                let reason = if let Some(reason) = stream.is_lost(&header) {
                    Some(reason)
                } else if let Some((_, reason)) = stream.decided.filter(|d| d.0 == header.message) {
                    return reason;
                } else if !header.first {
                    return headless.then_some(Reason::Headless);
                } else if stream.is_outdated(&header) {
                    Some(Reason::Newer)
                } else {
                    (header.marking.bitrate_kbps >= too_high).then_some(Reason::Bitrate)
                };
                stream.decided = Some((header.message, reason));
                reason
            });
            self.forget();
            match reason {
                None => return (Some(packet.id), dropped),
                Some(reason) => dropped.push((packet.id, reason)),
            }
        }
        (None, dropped)
    }

    /// Streams of which nothing waits have no droppers.
    fn forget(&mut self) {
        for ((flow, id), stream) in &mut self.streams {
            let waits = |p: &Packet| p.flow == *flow && p.header.is_some_and(|h| h.stream == *id);
            if !self.waiting.iter().any(waits) {
                stream.droppers.clear();
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Enqueue { flow: u64, header: Option<Header> },
    Dequeue,
}

/// Packets as a hostile sender might make them.
fn any_step() -> impl Strategy<Value = Step> {
    let marking =
        (0_u8..8, proptest::option::of(0_u8..8), prop::sample::select(vec![0_u32, 1, 9_000]))
            .prop_map(|(priority, drops, bitrate_kbps)| Marking {
                priority,
                drops,
                bitrate_kbps,
                slack_ms: 0,
            });
    let message = prop_oneof![6 => 0_u32..6, 1 => u32::MAX - 3..=u32::MAX, 1 => any::<u32>()];
    let header = (0_u16..3, message, marking, any::<bool>(), any::<bool>()).prop_map(
        |(stream, message, marking, first, last)| Header { stream, message, marking, first, last },
    );
    prop_oneof![
        3 => (0_u64..2, proptest::option::weighted(0.9, header)).prop_map(|(flow, header)| Step::Enqueue { flow, header }),
        2 => Just(Step::Dequeue),
    ]
}

/// Messages as an honest sender makes them: packets of a message in order, streams interleaved.
fn messages() -> impl Strategy<Value = Vec<(u16, Marking, u32)>> {
    let marking =
        (0_u8..8, proptest::option::of(1_u8..8), prop::sample::select(vec![0_u32, 1, 9_000]))
            .prop_map(|(priority, drops, bitrate_kbps)| Marking {
                priority,
                drops,
                bitrate_kbps,
                slack_ms: 0,
            });
    proptest::collection::vec((0_u16..3, marking, 1_u32..6), 1..60)
}

fn queue<T>(packets: usize, headless: bool) -> Queue<T> {
    let options = Options { streams: 8, headless, seed: Seed(9), ..Options::default() };
    let mut queue = Queue::new(Capacity { packets, ip_bytes: u64::MAX }, options);
    // Six streams have a sixth each at least: 1 kbit/s is always there and 9000 never.
    queue.set_bandwidth(Some(Rate::from_bps(8_000_000)));
    queue
}

proptest! {
    #[test]
    fn the_queue_is_as_the_obvious_one(
        packets in 1_usize..12,
        headless: bool,
        steps in proptest::collection::vec(any_step(), 1..300),
    ) {
        let mut queue = queue(packets, headless);
        let mut model = Model {
            packets, headless, too_high_kbps: 9_000,
            waiting: vec![], streams: BTreeMap::new(), has_news: false,
        };
        for (id, step) in steps.into_iter().enumerate() {
            let now = Time::from_millis(id as u64);
            let mut dropped = Vec::new();
            match step {
                Step::Enqueue { flow, header } => {
                    queue.enqueue(now, flow, header.as_ref(), 1500, id, |d| dropped.push((d.packet, d.reason)));
                    let mut expected = model.enqueue(Packet { id, flow, header });
                    expected.sort_unstable();
                    dropped.sort_unstable();
                    prop_assert_eq!(&dropped, &expected);
                }
                Step::Dequeue => {
                    let left = queue.dequeue(now, |d| dropped.push((d.packet, d.reason)));
                    prop_assert_eq!((left, dropped), model.dequeue());
                }
            }
            prop_assert_eq!(queue.len(), model.waiting.len());
            prop_assert_eq!(queue.ip_bytes(), 1500 * queue.len() as u64);
        }
    }

    #[test]
    fn a_message_leaves_whole_or_not_at_all(
        messages in messages(),
        leave in proptest::collection::vec(0_usize..4, 1..40),
        mix: u64,
    ) {
        // A packet per stream in turn, as `mix` has it.
        let mut streams: [Vec<(usize, Header)>; 3] = Default::default();
        for (message, (stream, marking, packets)) in messages.iter().enumerate() {
            for number in 0..*packets {
                let header = Header {
                    stream: *stream,
                    message: (u32::MAX - 20).wrapping_add(message as u32),
                    marking: *marking,
                    first: number == 0,
                    last: number + 1 == *packets,
                };
                streams[usize::from(*stream)].push((message, header));
            }
        }
        streams.iter_mut().for_each(|s| s.reverse());
        let mut queue = queue(10_000, false);
        let mut left = BTreeMap::<usize, u32>::new();
        let mut turn = mix;
        let mut leave = leave.iter().cycle();
        while streams.iter().any(|s| !s.is_empty()) {
            turn = turn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let stream = (turn >> 33) as usize % 3;
            if let Some((message, header)) = streams[stream].pop() {
                queue.enqueue(Time::ZERO, 0, Some(&header), 1500, message, |_| {});
            }
            for _ in 0..*leave.next().unwrap() {
                let Some(message) = queue.dequeue(Time::ZERO, |_| {}) else { break };
                *left.entry(message).or_default() += 1;
            }
        }
        while let Some(message) = queue.dequeue(Time::ZERO, |_| {}) {
            *left.entry(message).or_default() += 1;
        }
        for (message, (_, marking, packets)) in messages.iter().enumerate() {
            let left = left.get(&message).copied().unwrap_or(0);
            prop_assert!(left == 0 || left == *packets, "message {message}: {left} of {packets}");
            let may_not_be_dropped = marking.priority == 0 && marking.bitrate_kbps < 9_000;
            prop_assert!(left > 0 || !may_not_be_dropped, "message {message}");
        }
    }
}
