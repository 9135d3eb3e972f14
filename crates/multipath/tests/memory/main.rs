//! What a peer that has the key can have a serving end hold: what `docs/reference/wire/tunnel.md`
//! promises of it, counted to the byte. A program of its own, for its allocator counts.

mod allocator;
mod peer;

use airlane_fbdt::wire::{Frame, MAX_WINDOWS, Segment};
use airlane_multipath::{AcceptedStream, Body, Reason, SessionLimits, SubflowFrame};
use airlane_multipath::{Protocol, Terms};
use bytes::{Bytes, BytesMut};

use crate::peer::{Cost, Peer, data_stream, open, serve, terms};

const MIB: usize = 1 << 20;
/// Bytes of a subflow's buffers, and of what a session without streams takes.
const LINE_BYTES: usize = MIB;
/// Bytes that a stream takes beyond its memory in each direction: its tables, its tasks, and windows
/// of a byte each.
const STREAM_BYTES: usize = 256 << 10;

/// Reads nothing until the stream has failed.
async fn deaf(opened: AcceptedStream) {
    opened.stream.failed().await;
}

fn segment(window: u64, index: u32, count: u32, payload: &[u8]) -> Bytes {
    let mut out = BytesMut::new();
    let payload = Bytes::copy_from_slice(payload);
    Frame::Segment(Segment { window, index, count, payload }).encode(&mut out);
    out.freeze()
}

/// Of each of these streams 1023 windows of as many segments as fit, with a byte in each.
fn tables(streams: u32, wanted: Terms) -> Cost {
    let count = wanted.window_bytes / wanted.segment_bytes;
    let windows = move |stream| {
        let one = move |window| data_stream(stream, &segment(window, count - 1, count, b"x"));
        std::iter::once(open(stream, wanted)).chain((1..MAX_WINDOWS as u64).map(one))
    };
    let says = Box::new((0..streams).flat_map(windows));
    serve(SessionLimits::default(), Peer { says, reads: true }, deaf)
}

#[test]
fn windows_that_are_begun_and_not_filled_cost_no_more_than_the_memory_of_their_stream() {
    // 180 KB that were 1.3 GB: the first stream is refused the windows beyond its memory.
    let cost = tables(8, terms(256, 1 << 20, 32 << 20));
    assert!(cost.ended.is_none(), "{cost:?}");
    assert!(cost.peak < LINE_BYTES + 8 * (STREAM_BYTES + 32 * MIB / 4), "{cost:?}");
    // Those that are given up by and by leave nothing.
    assert!(cost.live < LINE_BYTES + 8 * STREAM_BYTES, "{cost:?}");
    // Windows of one segment are what a sender of keystrokes has: none is refused.
    let cost = tables(256, terms(16 << 10, 16 << 10, 256 << 10));
    assert!(cost.ended.is_none() && cost.peak < LINE_BYTES + 256 * STREAM_BYTES, "{cost:?}");
}

#[test]
fn what_is_held_is_what_is_counted_whatever_it_came_with() {
    // Of each frame of 64 KiB one segment of 1 KiB is new.
    let (memory, size) = (4 * MIB as u64, 1024_usize);
    let wanted = terms(size as u32, 64 << 10, memory);
    let payload = vec![7; size];
    let frame = move |n: u64| {
        // The first segment of the first window never comes.
        let (window, index) = ((n + 1) / 64, ((n + 1) % 64) as u32);
        let new = segment(window, index, 64, &payload);
        let old = segment(window, index, 64, &payload);
        data_stream(0, &[&new[..], &old.repeat(60)].concat())
    };
    let frames = memory / size as u64 - 2;
    let says = Box::new(std::iter::once(open(0, wanted)).chain((0..frames).map(frame)));
    let cost = serve(SessionLimits::default(), Peer { says, reads: true }, deaf);
    assert!(cost.ended.is_none(), "{cost:?}");
    assert!(cost.live > 3 * MIB, "{cost:?}");
    assert!(cost.peak < LINE_BYTES + STREAM_BYTES + memory as usize * 5 / 4, "{cost:?}");
}

#[test]
fn answers_that_nobody_reads_end_the_line() {
    // Streams that are refused at once: of frames that nobody knows.
    let wanted = Terms { protocol: Protocol::Mptcp, ..terms(16 << 10, 1 << 20, 8 << 20) };
    let says = Box::new((0..1_000_000).map(move |_| open(5, wanted)));
    let cost = serve(SessionLimits::default(), Peer { says, reads: false }, deaf);
    assert!(cost.ended.is_some() && cost.peak < LINE_BYTES, "{cost:?}");
}

#[test]
fn streams_that_are_given_up_leave_nothing_though_nobody_reads_their_answers() {
    let wanted = terms(16 << 10, 256 << 10, 1 << 20);
    let says = (0..8_000_u32).flat_map(move |stream| {
        let reset = SubflowFrame { stream, body: Body::Reset(Reason::GivenUp) }.encode();
        [open(stream, wanted), reset]
    });
    // What a target does with a stream that is given up: it lets go of it.
    let target = |opened: AcceptedStream| async move { drop(opened.stream.failed().await) };
    let cost = serve(SessionLimits::default(), Peer { says: Box::new(says), reads: false }, target);
    // Those of what the peer says at once are there for a moment.
    assert!(cost.peak < 16 * MIB && cost.live < LINE_BYTES + 2 * MIB, "{cost:?}");
}

#[test]
fn a_target_that_says_a_byte_at_a_time_costs_no_more_than_the_memory() {
    let memory = 256 << 10;
    let says = Box::new(std::iter::once(open(0, terms(256, 1024, memory as u64))));
    let target = move |opened: AcceptedStream| async move {
        for _ in 0..2 * memory {
            if opened.stream.write(Bytes::from_static(b"x")).await.is_err() {
                return;
            }
        }
    };
    let cost = serve(SessionLimits::default(), Peer { says, reads: true }, target);
    assert!(cost.peak < LINE_BYTES + STREAM_BYTES + memory * 3 / 2, "{cost:?}");
}

#[test]
fn a_trunk_holds_what_is_promised_when_each_of_its_streams_does_its_worst() {
    let bounds = SessionLimits {
        max_streams_per_session: 64,
        max_memory_per_session: 16 << 20,
        ..SessionLimits::default()
    };
    // What each is granted is less than it asks for.
    let wanted = terms(256, 64 << 10, 32 << 20);
    let stream = move |stream: u32| {
        let full = move |n: u64| {
            let segments: Vec<u8> =
                (0..256).flat_map(|i| segment(n + 1, i, 256, &[7; 256])).collect();
            data_stream(stream, &segments)
        };
        std::iter::once(open(stream, wanted)).chain((0..3).map(full))
    };
    let says = Box::new((0..80).flat_map(stream));
    // Targets send all that there is room for.
    let target = |opened: AcceptedStream| async move {
        let piece = Bytes::from(vec![7; 64 << 10]);
        while opened.stream.write(piece.slice(..)).await.is_ok() {}
    };
    let cost = serve(bounds, Peer { says, reads: true }, target);
    let each_way = 64 * (256 << 10) + 16 * MIB;
    let promised = 2 * each_way + each_way / 4 + 64 * STREAM_BYTES + LINE_BYTES;
    assert!(cost.ended.is_none() && cost.peak < promised, "{cost:?} of {promised}");
    assert!(cost.peak > promised / 4, "{cost:?} of {promised}");
}
