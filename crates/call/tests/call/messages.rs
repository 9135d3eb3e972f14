//! Messages, whole, cut, joined and of any bytes.

use std::time::Duration;

use airlane_base::Rate;
use airlane_call::wire::{
    FromParticipant, FromServer, HEADER_BYTES, MAX_FRAME_BYTES, MediaHeader, ParticipantId, Track,
    UplinkReport, VERSION, WireError,
};
use airlane_call::{InvalidLayers, LayerTable};
use airlane_plum::{Epoch, Notice};
use bytes::BytesMut;
use proptest::prelude::*;

fn header() -> MediaHeader {
    MediaHeader {
        track: Track::Screen,
        is_key: true,
        temporal_layer: 2,
        reference_distance: 4,
        has_speech: false,
        source: ParticipantId(513),
        frame: 70_000,
        captured: Duration::from_micros(123_456_789),
        payload_bytes: 4_321,
    }
}

#[test]
fn headers_keep_what_they_say() {
    let reports = [
        UplinkReport::default(),
        UplinkReport { epoch: Some(Epoch(0)), estimate: None },
        UplinkReport { epoch: Some(Epoch(u32::MAX)), estimate: Some(Rate::from_bps(2_500_000)) },
    ];
    for report in reports {
        let bytes = header().encode_up(&report);
        let read = MediaHeader::decode_up(bytes[..].try_into().expect("the length of a header"));
        assert_eq!(read, Ok((header(), report)));
    }
    let notice = Notice { epoch: Epoch(9), target: Some(Rate::from_bps(1_500_000)) };
    let bytes = header().encode_down(&notice);
    let read = MediaHeader::decode_down(bytes[..].try_into().expect("the length of a header"));
    assert_eq!(read, Ok((header(), notice)));
}

#[test]
fn what_is_out_of_range_is_refused() {
    let bytes: [u8; HEADER_BYTES] =
        header().encode_down(&Notice::default())[..].try_into().expect("a header");
    let with = |place: usize, byte: u8| {
        let mut bytes = bytes;
        bytes[place] = byte;
        MediaHeader::decode_down(bytes)
    };
    assert_eq!(with(0, VERSION - 1), Err(WireError::Version(VERSION - 1)));
    assert_eq!(with(1, 4), Err(WireError::Track(4)));
    assert!(matches!(with(17, 0xff), Err(WireError::FrameBytes(n)) if n > MAX_FRAME_BYTES));
    // A float that is no number.
    assert!(matches!(with(20, 0xff), Err(WireError::Notice(_))), "{:?}", with(20, 0xff));
}

fn from_participant() -> Vec<FromParticipant> {
    vec![
        FromParticipant::Join("Ada".to_owned()),
        FromParticipant::Report(UplinkReport { epoch: Some(Epoch(3)), estimate: None }),
        FromParticipant::RequestKeyFrame(ParticipantId(7), Track::Camera),
        FromParticipant::Publish(Track::Screen, LayerTable::default()),
        FromParticipant::Publish(
            Track::Camera,
            LayerTable::new(&[0.06, 0.26, 1.0], 3).expect("layers"),
        ),
        FromParticipant::Mute(Track::Camera),
        FromParticipant::Channel(Rate::from_bps(12_000_000)),
    ]
}

fn from_server() -> Vec<FromServer> {
    vec![
        FromServer::Welcome(ParticipantId(1)),
        FromServer::Joined(ParticipantId(2), "Grace".to_owned()),
        FromServer::Left(ParticipantId(2)),
        FromServer::Notice(Notice { epoch: Epoch(1), target: None }),
        FromServer::RequestKeyFrame(Track::Screen),
        FromServer::Pause(true),
        FromServer::Sends(ParticipantId(2), Track::Screen, true),
    ]
}

#[test]
fn messages_come_out_as_they_went_in_however_they_are_cut() {
    let (mut up, mut down) = (BytesMut::new(), BytesMut::new());
    from_participant().iter().for_each(|message| message.encode(&mut up));
    from_server().iter().for_each(|message| message.encode(&mut down));
    let (mut buffer, mut read) = (BytesMut::new(), Vec::new());
    for byte in up {
        buffer.extend_from_slice(&[byte]);
        read.extend(FromParticipant::decode(&mut buffer).expect("messages"));
    }
    assert_eq!(read, from_participant());
    let mut read = Vec::new();
    while let Some(message) = FromServer::decode(&mut down).expect("messages") {
        read.push(message);
    }
    assert_eq!(read, from_server());
}

#[test]
fn layers_that_are_none_are_refused() {
    let publish = |body: &[u8]| {
        let mut buffer = BytesMut::from(&[0, body.len() as u8 + 1, 4][..]);
        buffer.extend_from_slice(body);
        FromParticipant::decode(&mut buffer)
    };
    let none = Err(WireError::Layers(InvalidLayers));
    assert_eq!(publish(&[1, 0, 0xff, 0xff]), none, "no temporal layer");
    assert_eq!(publish(&[1, 4, 0xff, 0xff]), none, "four temporal layers");
    assert_eq!(publish(&[1, 1]), none, "no spatial layer");
    assert_eq!(publish(&[1, 1, 0, 0, 0xff, 0xff]), none, "a layer without bytes");
    assert_eq!(publish(&[1, 1, 0x80, 0, 0x80, 0, 0xff, 0xff]), none, "layers that do not rise");
    assert_eq!(publish(&[1, 1, 0x80, 0]), none, "a part of the whole");
    let layers = |count: u8| {
        let below = (1..count).flat_map(|share| [share, 0]);
        [1, 1].into_iter().chain(below).chain([0xff, 0xff]).collect::<Vec<u8>>()
    };
    assert!(publish(&layers(8)).is_ok_and(|message| message.is_some()), "eight spatial layers");
    assert_eq!(publish(&layers(9)), none, "nine spatial layers");
    assert_eq!(publish(&[1, 1, 0xff]), Err(WireError::Length(3)));
    assert_eq!(publish(&[0, 1, 0xff, 0xff]), Err(WireError::Video(0)));
}

#[test]
fn names_are_bounded() {
    let mut buffer = BytesMut::new();
    FromParticipant::Join("\u{e4}".repeat(60)).encode(&mut buffer);
    let message = FromParticipant::decode(&mut buffer).expect("a message");
    assert_eq!(message, Some(FromParticipant::Join("\u{e4}".repeat(32))));
    let mut empty = BytesMut::from(&[0, 2, 1, VERSION][..]);
    assert_eq!(FromParticipant::decode(&mut empty), Err(WireError::Name));
}

proptest! {
    #[test]
    fn any_bytes_are_messages_or_an_error(bytes: Vec<u8>, head: [u8; HEADER_BYTES]) {
        let mut buffer = BytesMut::from(&bytes[..]);
        while let Ok(Some(_)) = FromParticipant::decode(&mut buffer) {}
        let mut buffer = BytesMut::from(&bytes[..]);
        while let Ok(Some(_)) = FromServer::decode(&mut buffer) {}
        if let Ok((header, report)) = MediaHeader::decode_up(head) {
            prop_assert!(header.payload_bytes <= MAX_FRAME_BYTES);
            let again = header.encode_up(&report);
            prop_assert!(MediaHeader::decode_up(again[..].try_into().unwrap()).is_ok());
        }
        drop(MediaHeader::decode_down(head));
    }
}
