//! Octopus on calls of WebRTC: PDU Sets of RTP are its messages.

#![expect(clippy::vec_box, reason = "queues take packets boxed")]

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use airlane_base::{DropReason, Packet, Rate, Seed, Time};
use airlane_net::{Limit, OctopusConfig, QueueSpec};
use airlane_pdu_set::{DEFAULT_ID, PduSetImportance, PduSetMark};

use crate::common::packet;

/// Importances of a key frame, of three temporal layers, and of what may not be told.
const KEY: u8 = 1;
const T0: u8 = 2;
const T1: u8 = 5;
const T2: u8 = 15;
const UNKNOWN: u8 = 0;

/// The stream of a call: packets of frames, numbered through.
struct Stream {
    ssrc: u32,
    port: u16,
    set: u16,
}

impl Stream {
    fn new(ssrc: u32) -> Self {
        Self { ssrc, port: 5000, set: 1020 }
    }

    /// A frame of so many packets of this importance.
    fn frame(&mut self, id: u64, importance: u8, packets: u8) -> Vec<Box<Packet>> {
        let set_sequence = self.set;
        self.set = (self.set + 1) % 1024;
        let one = |place: u8| {
            let mark = PduSetMark {
                ends_set: place + 1 == packets,
                importance: PduSetImportance::new(importance).unwrap(),
                set_sequence,
                pdu_sequence: place % 64,
                ..PduSetMark::default()
            };
            let element = [&[DEFAULT_ID << 4 | 2], &mark.encode()[..]].concat();
            rtp(id, self.port, self.ssrc, &element)
        };
        (0..packets).map(one).collect()
    }
}

/// A packet of RTP with an element in its header.
fn rtp(id: u64, port: u16, ssrc: u32, element: &[u8]) -> Box<Packet> {
    let mut payload = vec![0x90, 96, 0, 0, 0, 0, 0, 0];
    payload.extend(ssrc.to_be_bytes());
    payload.extend([0xbe, 0xde, 0, element.len().div_ceil(4) as u8]);
    payload.extend(element);
    datagram(id, port, payload)
}

fn datagram(id: u64, port: u16, mut payload: Vec<u8>) -> Box<Packet> {
    payload.resize(1000, 0xaa);
    let (src, dst) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    let mut made = *packet(src.into(), dst.into(), 1028);
    made.id = id;
    made.dst = SocketAddr::new(dst.into(), port);
    made.payload = payload;
    Box::new(made)
}

/// Frames of which packets left, and of which packets were dropped, each once.
fn run(id: Option<u8>, packets: Vec<Box<Packet>>) -> (Vec<u64>, Vec<u64>) {
    run_with(OctopusConfig { pdu_set_id: id, ..OctopusConfig::default() }, 1, packets)
}

/// Result as of [`run`] for packets that leave so many milliseconds after they came.
fn run_with(
    config: OctopusConfig,
    leave_ms: u64,
    packets: Vec<Box<Packet>>,
) -> (Vec<u64>, Vec<u64>) {
    let spec = QueueSpec::Octopus(Limit::Unlimited, config);
    let mut queue = spec.build(Rate::from_mbps(10.0), Duration::from_millis(60), Seed(1));
    let mut drops = Vec::new();
    for packet in packets {
        queue.enqueue(Time::ZERO, packet, &mut drops);
    }
    let mut left = Vec::new();
    while let Some(packet) = queue.dequeue(Time::from_millis(leave_ms), &mut drops).packet() {
        left.push(packet.id);
    }
    assert!(drops.iter().all(|dropped| dropped.reason == DropReason::Newer));
    let mut dropped: Vec<u64> = drops.iter().map(|dropped| dropped.packet.id).collect();
    let both = left.iter().filter(|id| dropped.contains(id)).count();
    assert_eq!(both, 0, "a frame left in part: {left:?} {dropped:?}");
    left.dedup();
    dropped.dedup();
    (left, dropped)
}

/// Frames of one stream, numbered from 0; each has three packets.
fn frames(importances: &[u8]) -> Vec<Box<Packet>> {
    let mut stream = Stream::new(7);
    let numbered = importances.iter().enumerate();
    numbered.flat_map(|(id, importance)| stream.frame(id as u64, *importance, 3)).collect()
}

#[test]
fn a_frame_makes_way_for_newer_ones_that_matter_more() {
    let of = |importances: &[u8]| run(Some(DEFAULT_ID), frames(importances)).0;
    // The lowest layer stays however long it waits: later frames depend on it. The numbers of the sets wrap.
    assert_eq!(of(&[T0, T2, T1, T2, T0, T2, T1]), [0, 4, 6]);
    assert_eq!(of(&[T0, T2, T1, T2]), [0, 2, 3]);
    assert_eq!(of(&[T2, T2, T2]), [2]);
    assert_eq!(of(&[T1, T1, T0, T0]), [2, 3]);
    // Nothing before a key frame is needed any more.
    assert_eq!(of(&[KEY, T0, T1, KEY, T2]), [3, 4]);
    assert_eq!(of(&[UNKNOWN, T2, UNKNOWN, T1]), [0, 2, 3]);
}

#[test]
fn nothing_is_dropped_before_it_has_waited() {
    let pdu_set_slack = Duration::from_millis(100);
    let config =
        OctopusConfig { pdu_set_id: Some(DEFAULT_ID), pdu_set_slack, ..OctopusConfig::default() };
    let of = |leave_ms: u64| run_with(config, leave_ms, frames(&[T0, T2, T1, T2, T0])).0;
    assert_eq!((of(99), of(100)), (vec![0, 1, 2, 3, 4], vec![0, 4]));
}

#[test]
fn marks_are_read_where_they_are_looked_for_alone() {
    let importances = [T0, T2, T1, T2, T0];
    for id in [None, Some(DEFAULT_ID + 1)] {
        assert_eq!(run(id, frames(&importances)), (vec![0, 1, 2, 3, 4], vec![]));
    }
}

#[test]
fn a_frame_that_is_not_whole_drops_nothing() {
    let mut packets = frames(&[T2, T2]);
    packets.pop();
    assert_eq!(run(Some(DEFAULT_ID), packets).0, [0, 1]);
    // A frame of more packets than its numbers count is one frame.
    let (mut stream, mut packets) = (Stream::new(7), Vec::new());
    packets.extend(stream.frame(0, T2, 150));
    packets.extend(stream.frame(1, T1, 150));
    assert_eq!(run(Some(DEFAULT_ID), packets), (vec![1], vec![0]));
}

#[test]
fn streams_and_connections_drop_nothing_of_each_other() {
    let (mut a, mut b) = (Stream::new(7), Stream::new(8));
    let mut elsewhere = Stream { port: 5001, ..Stream::new(7) };
    let mut packets = Vec::new();
    for id in 0..3 {
        packets.extend(a.frame(id * 10, T2, 2));
        packets.extend(b.frame(id * 10 + 1, T0, 2));
        packets.extend(elsewhere.frame(id * 10 + 2, T1, 2));
    }
    let (left, _) = run(Some(DEFAULT_ID), packets);
    assert_eq!(left, [1, 2, 11, 12, 20, 21, 22]);
}

#[test]
fn audio_feedback_and_handshakes_pass_in_their_place() {
    let mut packets = frames(&[T2, T2]);
    let level = [0x10, 0xb0];
    let others = [
        rtp(100, 5000, 9, &level),
        // STUN, DTLS, and feedback of the very stream, whatever follows.
        datagram(101, 5000, vec![0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42]),
        datagram(102, 5000, vec![23, 254, 253]),
        datagram(103, 5000, [&[0x91, 206, 0, 20, 0, 0, 0, 7][..], &[0x62, 15, 0, 0]].concat()),
    ];
    packets.splice(0..0, others);
    assert_eq!(run(Some(DEFAULT_ID), packets), (vec![100, 101, 102, 103, 1], vec![0]));
}
