//! The vectors of `docs/reference/wire/fbdt.md`, and bytes that are refused.

use std::time::Duration;

use airlane_base::Time;
use airlane_fbdt::wire::{Ack, Frame, MAX_SEGMENTS, Ranges, Segment, WireError};
use airlane_fbdt::{AckError, Config, Receiver, ReceiverError, Sender};
use bytes::{Bytes, BytesMut};
use proptest::prelude::*;

fn bytes(hex: &str) -> BytesMut {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect::<Vec<u8>>().as_slice().into()
}

fn ranges(of: &[(u32, u32)]) -> Ranges {
    let mut ranges = Ranges::default();
    assert!(of.iter().all(|(low, high)| ranges.push(*low, *high)));
    ranges
}

#[test]
fn the_vectors_of_the_document_hold() {
    let text = include_str!("../../../../docs/reference/wire/fbdt.md");
    let vectors: Vec<BytesMut> = text
        .lines()
        .skip_while(|line| *line != "## Vectors")
        .filter_map(|line| Some(bytes(line.split('`').rev().nth(1)?)))
        .collect();
    let payload = Bytes::from_static(b"abc");
    let frames = [
        Frame::Segment(Segment { window: 5, index: 1, count: 3, payload }),
        Frame::Ack(Ack {
            received: 300_000,
            complete: 4,
            consumed: 1 << 20,
            missing: vec![(4, ranges(&[(1, 3), (5, 6)])), (6, Ranges::default())],
        }),
        Frame::End(7),
    ];
    assert_eq!(vectors.len(), frames.len());
    for (mut vector, frame) in vectors.into_iter().zip(frames) {
        let mut encoded = BytesMut::new();
        frame.encode(&mut encoded);
        assert_eq!(encoded, vector);
        assert_eq!(Frame::decode(&mut vector), Ok(Some(frame)));
        assert!(vector.is_empty());
    }
}

#[test]
fn frames_that_are_none_are_refused_before_anything_is_held_for_them() {
    let refused = |hex: &str| Frame::decode(&mut bytes(hex)).unwrap_err();
    assert_eq!(refused("04"), WireError::Type(4));
    let head = "01 0000000000000000";
    assert_eq!(
        refused(&format!("{head} 00000003 00000003 00000001")),
        WireError::Index { index: 3, count: 3 }
    );
    let count = MAX_SEGMENTS + 1;
    assert_eq!(
        refused(&format!("{head} 00000000 {count:08x} 00000001")),
        WireError::Index { index: 0, count }
    );
    for length in ["00000000", "00100001", "ffffffff"] {
        let error = refused(&format!("{head} 00000000 00000001 {length}"));
        assert!(matches!(error, WireError::Length(_)), "{error}");
    }
    let head = "02 0000000000000000 0000000000000004 0000000000000000";
    for rest in [
        "0101",                                                           // too many windows
        "0001 0000000000000003 0000",                                     // below `complete`
        "0002 0000000000000004 0000 0000000000000004 0000",               // twice
        "0001 0000000000000004 0041",                                     // too many runs
        "0001 0000000000000004 0001 00000002 00000002",                   // nothing
        "0001 0000000000000004 0002 00000001 00000003 00000003 00000004", // touch
        "0001 0000000000000004 0002 00000005 00000006 00000001 00000002", // descend
    ] {
        assert_eq!(refused(&format!("{head} {rest}")), WireError::Ack, "{rest}");
    }
}

#[test]
fn segments_that_do_not_fit_are_refused_and_change_nothing() {
    let config = Config { segment_bytes: 10, window_bytes: 40, receive_memory: 100 };
    let mut receiver = Receiver::new(config);
    let segment = |window, index, count, bytes: usize| Segment {
        window,
        index,
        count,
        payload: vec![7; bytes].into(),
    };
    let misfit = |s: &Segment| ReceiverError::Misfit {
        window: s.window,
        index: s.index,
        bytes: s.payload.len(),
    };
    assert_eq!(receiver.on_segment(Time::ZERO, segment(0, 0, 3, 10)), Ok(true));
    let before = receiver.ack(0);
    for wrong in [
        segment(0, 1, 2, 10), // another number of segments
        segment(0, 1, 3, 9),  // short, and not the last
        segment(0, 1, 3, 11), // too long
        segment(0, 1, 3, 0),  // empty
        segment(0, 3, 3, 10), // behind the last
        segment(1, 0, 5, 10), // a window that is too large
    ] {
        assert_eq!(receiver.on_segment(Time::ZERO, wrong.clone()), Err(misfit(&wrong)));
    }
    assert_eq!(
        receiver.on_segment(Time::ZERO, segment(1024, 0, 1, 1)),
        Err(ReceiverError::Memory(1024))
    );
    assert_eq!(receiver.on_segment(Time::ZERO, segment(0, 0, 3, 10)), Ok(false), "a duplicate");
    assert_eq!((receiver.ack(0), receiver.duplicate_bytes()), (before, 10));
    for window in 1..10 {
        assert_eq!(receiver.on_segment(Time::ZERO, segment(window, 1, 2, 10)), Ok(true));
    }
    assert_eq!(
        receiver.on_segment(Time::ZERO, segment(10, 0, 1, 1)),
        Err(ReceiverError::Memory(10))
    );
    assert_eq!(receiver.held_bytes(), 100);
    assert_eq!(receiver.on_end(5), Err(ReceiverError::End(5)), "more has come than that");
    assert_eq!(receiver.on_end(10), Ok(()));
    assert_eq!(receiver.on_end(11), Err(ReceiverError::End(11)));
    assert_eq!(receiver.on_segment(Time::ZERO, segment(10, 0, 1, 1)), Err(ReceiverError::End(10)));
}

#[test]
fn acknowledgements_of_what_was_never_sent_are_refused() {
    let mut sender = Sender::new(Config::default(), 1 << 20);
    let path = sender.open(Time::ZERO).unwrap();
    sender.push(&mut Bytes::from_static(b"abc"));
    assert!(sender.next(Time::ZERO, path).is_some());
    for (complete, consumed, window) in
        [(2, 0, 0), (u64::MAX, 0, 0), (0, 4, 0), (0, 0, 1), (0, 0, u64::MAX)]
    {
        let missing = vec![(window, Ranges::default())];
        let ack = Ack { complete, consumed, missing, ..Ack::default() };
        assert_eq!(sender.on_ack(Time::ZERO, path, &ack), Err(AckError), "{ack:?}");
    }
    let good = Ack { received: 3, complete: 1, consumed: 3, missing: Vec::new() };
    let more = Ack { received: 4, ..good.clone() };
    assert_eq!(sender.on_ack(Time::ZERO, path, &more), Err(AckError));
    assert_eq!(sender.on_ack(Time::ZERO, path, &good), Ok(()));
}

#[test]
fn bytes_wait_from_coming_until_they_are_read_in_order() {
    let config = Config { segment_bytes: 10, window_bytes: 40, receive_memory: 100 };
    let mut receiver = Receiver::new(config);
    let segment = |index| Segment { window: 0, index, count: 2, payload: vec![7; 10].into() };
    let at = |ms| Time::ZERO + Duration::from_millis(ms);
    receiver.on_segment(at(0), segment(1)).unwrap();
    assert_eq!(receiver.read(at(10)), None);
    receiver.on_segment(at(20), segment(0)).unwrap();
    receiver.on_segment(at(20), segment(1)).unwrap();
    while receiver.read(at(20)).is_some() {}
    let waited = receiver.waited();
    assert_eq!((waited.count(), waited.quantile(0.5)), (20, Duration::ZERO));
    let most = waited.quantile(1.0).as_secs_f64();
    assert!((most / 0.02 - 1.0).abs() < 1.0 / 32.0, "{most}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

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
