//! The vectors of `docs/design/mptcp.md`, and bytes that are refused.

use std::time::Duration;

use airlane_base::Time;
use airlane_mptcp::wire::{Ack, Frame, MAX_SEGMENTS, Segment, WireError};
use airlane_mptcp::{AckError, Config, Options, Receiver, ReceiverError, SchedulerKind, Sender};
use bytes::{Bytes, BytesMut};
use proptest::prelude::*;

fn bytes(hex: &str) -> BytesMut {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect::<Vec<u8>>().as_slice().into()
}

fn segment(dsn: u64, bytes: usize) -> Segment {
    Segment { dsn, payload: (0..bytes as u64).map(|i| (dsn + i) as u8).collect::<Vec<_>>().into() }
}

#[test]
fn the_vectors_of_the_document_hold() {
    let text = include_str!("../../../../docs/design/mptcp.md");
    let vectors: Vec<BytesMut> = text
        .lines()
        .skip_while(|line| *line != "## Vectors")
        .filter_map(|line| Some(bytes(line.split('`').rev().nth(1)?)))
        .collect();
    let frames = [
        Frame::Segment(Segment { dsn: 5000, payload: Bytes::from_static(b"abc") }),
        Frame::Ack(Ack { data_ack: 5003, window: 6 << 20 }),
        Frame::End(5003),
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
    assert_eq!(refused("00"), WireError::Type(0));
    for length in ["00000000", "00100001", "ffffffff"] {
        let error = refused(&format!("01 0000000000000000 {length}"));
        assert!(matches!(error, WireError::Length(_)), "{error}");
    }
    assert_eq!(refused("01 ffffffffffffffff 00000001"), WireError::Dsn(u64::MAX));
    assert_eq!(
        refused("02 0000000000000002 0000000000000001"),
        WireError::Ack { data_ack: 2, window: 1 }
    );
}

#[test]
fn segments_that_do_not_fit_are_refused_and_change_nothing() {
    let mut receiver = Receiver::new(Config { segment_bytes: 10, receive_memory: 100 });
    assert_eq!(receiver.on_segment(Time::ZERO, segment(20, 10)), Ok(true));
    let before = receiver.ack();
    for wrong in [segment(0, 0), segment(0, 11)] {
        let misfit = ReceiverError::Misfit { dsn: 0, bytes: wrong.payload.len() };
        assert_eq!(receiver.on_segment(Time::ZERO, wrong), Err(misfit));
    }
    assert_eq!(receiver.on_segment(Time::ZERO, segment(91, 10)), Err(ReceiverError::Memory(91)));
    let last = Segment { dsn: u64::MAX, payload: Bytes::from_static(b"x") };
    assert_eq!(receiver.on_segment(Time::ZERO, last), Err(ReceiverError::Memory(u64::MAX)));
    assert_eq!(receiver.on_segment(Time::ZERO, segment(20, 10)), Ok(false), "a duplicate");
    assert_eq!((receiver.ack(), receiver.duplicate_bytes()), (before, 10));
    assert_eq!(receiver.on_end(29), Err(ReceiverError::End(29)), "more has come than that");
    assert_eq!(receiver.on_end(40), Ok(()));
    assert_eq!(receiver.on_end(41), Err(ReceiverError::End(41)));
    assert_eq!(receiver.on_segment(Time::ZERO, segment(31, 10)), Err(ReceiverError::End(31)));
    assert_eq!(receiver.ack(), before);
}

#[test]
fn the_window_is_what_the_application_took_and_the_memory() {
    let mut receiver = Receiver::new(Config { segment_bytes: 10, receive_memory: 30 });
    assert_eq!(receiver.ack(), Ack { data_ack: 0, window: 30 });
    for dsn in [20, 10] {
        assert_eq!(receiver.on_segment(Time::ZERO, segment(dsn, 10)), Ok(true));
        assert_eq!(receiver.ack(), Ack { data_ack: 0, window: 30 });
        assert_eq!(receiver.read(Time::ZERO), None);
    }
    assert_eq!(receiver.on_segment(Time::ZERO, segment(0, 10)), Ok(true));
    assert_eq!(receiver.ack(), Ack { data_ack: 30, window: 30 });
    assert_eq!(receiver.read(Time::ZERO), Some(segment(0, 10).payload));
    assert_eq!(receiver.ack(), Ack { data_ack: 30, window: 40 });
    assert_eq!(receiver.held_bytes(), 20);
}

#[test]
fn no_more_segments_are_held_than_agreed_on_however_small() {
    let mut receiver = Receiver::new(Config::default());
    for i in 1..=MAX_SEGMENTS as u64 {
        assert_eq!(receiver.on_segment(Time::ZERO, segment(2 * i, 1)), Ok(true));
    }
    assert_eq!(receiver.on_segment(Time::ZERO, segment(1, 1)), Err(ReceiverError::Memory(1)));
}

#[test]
fn acknowledgements_of_what_was_never_sent_are_refused() {
    let config = Config { segment_bytes: 10, receive_memory: 100 };
    let mut sender = Sender::new(config, 1 << 20, Options::of(SchedulerKind::MinRtt));
    let path = sender.open(Time::ZERO).unwrap();
    sender.push(&mut Bytes::from_static(b"abc"));
    assert!(sender.next(Time::ZERO, path).is_some());
    for (data_ack, window) in [(4, 104), (u64::MAX, u64::MAX), (0, 101), (3, 104), (3, 2)] {
        let ack = Ack { data_ack, window };
        assert_eq!(sender.on_ack(Time::ZERO, &ack), Err(AckError), "{ack:?}");
    }
    assert_eq!(sender.on_ack(Time::ZERO, &Ack { data_ack: 3, window: 103 }), Ok(()));
    assert_eq!(sender.on_ack(Time::ZERO, &Ack { data_ack: 1, window: 100 }), Ok(()), "an old one");
}

proptest! {
    /// Whatever overlaps with whatever: bytes are delivered once and in order, within the memory.
    #[test]
    fn segments_that_overlap_in_any_way_are_put_in_order(
        parts in prop::collection::vec((0u64..300, 1usize..40), 1..80),
        reads in any::<u64>(),
    ) {
        let mut receiver = Receiver::new(Config { segment_bytes: 39, receive_memory: 200 });
        let mut received = Vec::new();
        for (i, (dsn, length)) in parts.into_iter().enumerate() {
            let before = (receiver.ack(), receiver.held_bytes(), receiver.duplicate_bytes());
            match receiver.on_segment(Time::ZERO, segment(dsn, length)) {
                Ok(is_new) => {
                    let new = receiver.held_bytes() - before.1;
                    prop_assert_eq!(is_new, new > 0);
                    prop_assert_eq!(new + receiver.duplicate_bytes() - before.2, length as u64);
                }
                Err(_) => prop_assert_eq!(
                    before,
                    (receiver.ack(), receiver.held_bytes(), receiver.duplicate_bytes())
                ),
            }
            prop_assert!(receiver.held_bytes() <= 200);
            while reads & (1 << (i % 64)) != 0 && let Some(part) = receiver.read(Time::ZERO) {
                received.extend_from_slice(&part);
            }
        }
        while let Some(part) = receiver.read(Time::ZERO) {
            received.extend_from_slice(&part);
        }
        prop_assert_eq!(received.len() as u64, receiver.ack().data_ack);
        prop_assert!(received.iter().enumerate().all(|(i, byte)| *byte == i as u8));
    }

    /// No frame of a peer makes either end panic.
    #[test]
    fn no_peer_makes_an_end_panic(
        segments in prop::collection::vec((any::<u64>(), 0usize..20, any::<bool>()), 0..40),
        acks in prop::collection::vec((any::<u64>(), any::<u64>()), 0..40),
        ends in prop::collection::vec(any::<u64>(), 0..4),
        small in any::<u64>(),
    ) {
        let config = Config { segment_bytes: 10, receive_memory: 100 };
        let mut receiver = Receiver::new(config);
        for (dsn, length, is_small) in segments {
            let dsn = if is_small { dsn % 200 } else { dsn };
            let payload = vec![7; length].into();
            let _ = receiver.on_segment(Time::ZERO, Segment { dsn, payload });
            prop_assert!(receiver.held_bytes() <= 100);
        }
        for end in ends {
            let _ = receiver.on_end(end % (1 + small));
        }
        let mut sender = Sender::new(config, 1000, Options::of(SchedulerKind::Linux));
        let path = sender.open(Time::ZERO).unwrap();
        sender.push(&mut vec![7; 500].into());
        for (data_ack, window) in acks {
            let _ = sender.next(Time::ZERO, path);
            let (data_ack, window) = (data_ack % (1 + small % 600), window % (1 + small % 900));
            let _ = sender.on_ack(Time::ZERO, &Ack { data_ack, window });
        }
    }

    /// What is written is read back, however the bytes are cut; and no bytes make the reader panic.
    #[test]
    fn frames_come_back_from_bytes_cut_anywhere(
        payload in prop::collection::vec(any::<u8>(), 1..300),
        dsn in 0..u64::MAX - 300,
        cuts in prop::collection::vec(1usize..50, 1..20),
        noise in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let ack = Ack { data_ack: dsn, window: dsn + 7 };
        let frames = [
            Frame::Segment(Segment { dsn, payload: payload.into() }),
            Frame::End(dsn),
            Frame::Ack(ack),
        ];
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

#[test]
fn bytes_wait_from_coming_until_they_are_read_in_order() {
    let mut receiver = Receiver::new(Config { segment_bytes: 10, receive_memory: 100 });
    let at = |ms| Time::ZERO + Duration::from_millis(ms);
    receiver.on_segment(at(0), segment(10, 10)).unwrap();
    assert_eq!(receiver.read(at(10)), None);
    receiver.on_segment(at(20), segment(0, 10)).unwrap();
    while receiver.read(at(20)).is_some() {}
    let waited = receiver.waited();
    assert_eq!((waited.count(), waited.quantile(0.5)), (20, Duration::ZERO));
    let most = waited.quantile(1.0).as_secs_f64();
    assert!((most / 0.02 - 1.0).abs() < 1.0 / 32.0, "{most}");
}
