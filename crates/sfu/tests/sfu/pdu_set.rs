//! PDU Set marks.

use airlane_sfu::pdu_set::{PduSetFields, PduSetImportance, PduSetMark, PduSetMarker};
use airlane_sfu::{Codec, DescriptorError};
use proptest::prelude::*;

use crate::common::av1::{Mode, Publisher};
use crate::common::{Rtp, Track, vp8};

#[test]
fn a_mark_is_three_bytes_and_what_was_negotiated() {
    let mut mark = PduSetMark {
        ends_set: true,
        ends_burst: true,
        importance: PduSetImportance::new(5).expect("four bits"),
        set_sequence: 0b10_0000_0001,
        pdu_sequence: 0b10_0011,
        set_bytes: None,
        pdu_count: None,
    };
    let plain = PduSetFields::default();
    assert_eq!(mark.encode(), [0b1001_0101, 0b1000_0000, 0b0110_0011]);
    assert_eq!(PduSetMark::decode(&mark.encode(), plain), Ok(mark));
    (mark.set_bytes, mark.pdu_count) = (Some(0x01_02_03), Some(0x0405));
    assert_eq!(mark.encode()[3..], [1, 2, 3, 4, 5]);
    let both = PduSetFields { has_set_bytes: true, has_pdu_count: true };
    assert_eq!(PduSetMark::decode(&mark.encode(), both), Ok(mark));
    for length in 0..both.bytes() {
        let cut = PduSetMark::decode(&mark.encode()[..length], both);
        assert_eq!(cut, Err(DescriptorError::Truncated));
    }
}

#[test]
fn reserved_bits_are_ignored_and_what_does_not_fit_is_unknown() {
    let read = PduSetMark::decode(&[0b0110_0000, 0, 0], PduSetFields::default());
    let read = read.expect("a mark");
    assert!(!read.ends_set && !read.ends_burst);
    assert_eq!(read.importance, PduSetImportance::UNKNOWN);
    let large = PduSetMark { set_bytes: Some(1 << 24), ..read };
    assert_eq!(large.encode(), [0; 6]);
    assert_eq!(PduSetImportance::new(16), None);
}

#[test]
fn frames_are_numbered_and_their_packets_within() {
    let mut track = Track::new(Codec::Vp8, 1);
    let mut publisher = vp8::Publisher::new(Rtp::new(0, 1, 1), 1, 1);
    let mut marker = PduSetMarker::default();
    let mut marks = Vec::new();
    for place in 0..1100 {
        for packet in publisher.frame(place == 0, 3) {
            let info = track.source.observe(&packet.rtp()).expect("a packet");
            marks.push(marker.mark(&info, false));
        }
    }
    for (place, mark) in marks.iter().enumerate() {
        assert_eq!(usize::from(mark.set_sequence), place / 3 % 1024);
        assert_eq!(usize::from(mark.pdu_sequence), place % 3);
        assert_eq!(mark.ends_set, place % 3 == 2);
    }
}

#[test]
fn a_frame_whose_end_is_lost_ends_where_the_next_begins() {
    let mut track = Track::new(Codec::Vp8, 1);
    let mut publisher = vp8::Publisher::new(Rtp::new(0, 1, 1), 1, 1);
    let mut marker = PduSetMarker::default();
    let mut packets = publisher.frames(2);
    packets.remove(1);
    let mark = |packet: &crate::common::Packet| {
        let info = track.source.observe(&packet.rtp()).expect("a packet");
        let mark = marker.mark(&info, false);
        (mark.set_sequence, mark.pdu_sequence)
    };
    assert_eq!(packets.iter().map(mark).collect::<Vec<_>>(), [(0, 0), (1, 0), (1, 1)]);
}

#[test]
fn key_frames_matter_most_and_frames_that_none_depends_on_least() {
    let mut track = Track::new(Codec::Av1, 1);
    let mut publisher = Publisher::new(Rtp::new(0, 1, 1), Mode::L2T3Key);
    let importance = |packet: &crate::common::Packet| {
        let info = track.source.observe(&packet.rtp()).expect("a packet");
        PduSetImportance::of(&info).number()
    };
    let packets = publisher.pictures(5);
    let numbers: Vec<u8> = packets.iter().step_by(2).map(importance).collect();
    // Key picture, T2, T1, T2, T0: the two spatial layers of each.
    assert_eq!(numbers, [1, 3, 15, 15, 5, 6, 15, 15, 2, 3]);
}

proptest! {
    #[test]
    fn any_bytes_are_a_mark_that_is_written_the_same(data in any::<[u8; 8]>(), bits in 0..4_u8) {
        let fields = PduSetFields { has_set_bytes: bits & 1 == 1, has_pdu_count: bits & 2 == 2 };
        let mark = PduSetMark::decode(&data, fields).expect("a mark");
        let mut expected = data[..fields.bytes()].to_vec();
        expected[0] &= 0b1001_1111;
        prop_assert_eq!(mark.encode(), expected);
    }
}
