//! Marking of forwarded packets as PDU Sets.

use airlane_pdu_set::PduSetMark;
use airlane_sfu::Codec;
use airlane_sfu::pdu_set::{PduSetMarker, importance, is_droppable};

use crate::common::av1::{Mode, Publisher};
use crate::common::{Packet, Rtp, Track, vp8};

/// Packets of VP8 in three temporal layers, three a frame.
fn marks(track: &mut Track, marker: &mut PduSetMarker, packets: &[Packet]) -> Vec<PduSetMark> {
    let mark = |packet: &Packet| {
        let rtp = packet.rtp();
        let info = track.source.observe(&rtp).expect("a packet");
        marker.mark(rtp.timestamp, rtp.marker, &info).expect("a mark")
    };
    packets.iter().map(mark).collect()
}

#[test]
fn frames_are_numbered_and_their_packets_within() {
    let mut track = Track::new(Codec::Vp8, 1);
    let mut publisher = vp8::Publisher::new(Rtp::new(0, 1, 1), 1, 1);
    let packets: Vec<_> = (0..1100).flat_map(|place| publisher.frame(place == 0, 3)).collect();
    let marks = marks(&mut track, &mut PduSetMarker::default(), &packets);
    for (place, mark) in marks.iter().enumerate() {
        assert_eq!(usize::from(mark.set_sequence), place / 3 % 1024);
        assert_eq!(usize::from(mark.pdu_sequence), place % 3);
        assert_eq!(mark.ends_set, place % 3 == 2);
    }
    // VP8 tells in the first packet alone that a frame is a key frame: the others are as important.
    let importances: Vec<u8> = marks[..6].iter().map(|mark| mark.importance.number()).collect();
    // The second frame is of the highest of three layers, without the bit N.
    assert_eq!(importances, [1, 1, 1, 8, 8, 8]);
}

#[test]
fn a_frame_whose_end_is_lost_ends_where_the_next_begins_and_late_packets_are_of_their_frame() {
    let mut track = Track::new(Codec::Vp8, 1);
    let mut publisher = vp8::Publisher::new(Rtp::new(0, 1, 1), 1, 1);
    let mut packets = publisher.frames(20);
    let late = packets.remove(1);
    let oldest = packets[0].clone();
    packets.insert(3, late);
    let mut marker = PduSetMarker::default();
    let marks = marks(&mut track, &mut marker, &packets);
    let numbers = |mark: &PduSetMark| (mark.set_sequence, mark.pdu_sequence, mark.ends_set);
    let found: Vec<_> = marks[..4].iter().map(numbers).collect();
    assert_eq!(found, [(0, 0, false), (1, 0, false), (1, 1, true), (0, 1, true)]);
    // What is older than all that is remembered is not marked.
    let rtp = oldest.rtp();
    let info = track.source.observe(&rtp).expect("a packet");
    assert_eq!(marker.mark(rtp.timestamp, rtp.marker, &info), None);
}

#[test]
fn key_frames_matter_most_and_frames_that_none_depends_on_least() {
    let mut track = Track::new(Codec::Av1, 1);
    let mut publisher = Publisher::new(Rtp::new(0, 1, 1), Mode::L2T3Key);
    let packets = publisher.pictures(5);
    let marks = marks(&mut track, &mut PduSetMarker::default(), &packets);
    // Key picture, T2, T1, T2, T0: a picture's two spatial layers are one set.
    let found: Vec<(u16, u8)> =
        marks.iter().map(|mark| (mark.set_sequence, mark.importance.number())).collect();
    let expected = [1, 15, 5, 15, 2].into_iter().enumerate();
    let expected: Vec<_> = expected.flat_map(|(set, number)| [(set as u16, number); 4]).collect();
    assert_eq!(found, expected);
    let droppable: Vec<bool> =
        marks.iter().step_by(4).map(|m| is_droppable(m.importance)).collect();
    assert_eq!(droppable, [false, true, true, true, false]);
}

#[test]
fn simulcast_encodings_have_key_frames_that_matter_as_much() {
    let mut track = Track::new(Codec::Vp8, 2);
    let mut upper = vp8::Publisher::new(Rtp::new(1, 1, 1), 1, 1);
    let packets = upper.frame(true, 2);
    let info = track.source.observe(&packets[0].rtp()).expect("a packet");
    assert_eq!(importance(&info).number(), 1);
}
