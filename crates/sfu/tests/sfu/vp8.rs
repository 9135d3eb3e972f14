//! VP8: the descriptor, temporal layers, picture numbers.

use airlane_sfu::{Codec, DescriptorError, LayerIndex, Vp8Descriptor};

use crate::common::vp8::{Publisher, base_layer_index, picture_id, temporal};
use crate::common::{FIRST_SEQUENCE, Packet, Rtp, Track, assert_whole_stream};

fn publisher() -> Publisher {
    Publisher::new(Rtp::new(0, 65_000, 4_000_000_000), 32_760, 250)
}

fn temporal_target(temporal: u8) -> Option<LayerIndex> {
    Some(LayerIndex::new(0, temporal))
}

#[test]
fn the_shortest_descriptor_is_read() {
    // S of partition 0, then the header of a key frame and that of another.
    let key = Vp8Descriptor::parse(&[0x10, 0x00]).expect("a descriptor");
    assert!(key.begins_frame && key.is_key_frame && !key.is_discardable);
    assert_eq!((key.bytes, key.temporal, key.numbers.picture_id), (1, 0, None));
    let inter = Vp8Descriptor::parse(&[0x30, 0x01]).expect("a descriptor");
    assert!(inter.begins_frame && !inter.is_key_frame && inter.is_discardable);
    // A later partition begins no frame, and a packet within a partition does not either.
    for first in [0x11, 0x00] {
        let later = Vp8Descriptor::parse(&[first, 0x00]).expect("a descriptor");
        assert!(!later.begins_frame && !later.is_key_frame);
    }
}

#[test]
fn all_fields_of_a_descriptor_are_read() {
    // X; I, L, T and K; a picture id of 15 bits; TL0PICIDX; TID 2, Y, KEYIDX 17.
    let bytes = [0x90, 0xf0, 0x92, 0x34, 0x56, 0xb1, 0x01];
    let read = Vp8Descriptor::parse(&bytes).expect("a descriptor");
    let id = read.numbers.picture_id.expect("a picture id");
    assert_eq!((id.value, id.is_long), (0x1234, true));
    assert_eq!(read.numbers.base_layer_index.map(|index| index.value), Some(0x56));
    assert_eq!((read.temporal, read.is_layer_sync, read.key_index), (2, true, Some(17)));
    assert_eq!(read.bytes, 6);
    // The same without K: the byte of TID is there, and holds no key index.
    let read = Vp8Descriptor::parse(&[0x90, 0x20, 0x40, 0x01]).expect("a descriptor");
    assert_eq!((read.temporal, read.is_layer_sync, read.key_index), (1, false, None));
}

#[test]
fn a_descriptor_that_is_cut_off_is_refused() {
    let bytes = [0x90, 0xf0, 0x92, 0x34, 0x56, 0xb1, 0x01];
    for length in 0..bytes.len() {
        assert_eq!(Vp8Descriptor::parse(&bytes[..length]), Err(DescriptorError::Truncated));
    }
}

#[test]
fn a_receiver_begins_at_a_key_frame() {
    let (mut track, mut publisher) = (Track::new(Codec::Vp8, 1), publisher());
    assert_eq!(track.receiver.wants_key_frame(), Some(0));
    assert!(track.pass_all(&publisher.frame(false, 3)).is_empty());
    assert_eq!(track.receiver.wants_key_frame(), Some(0));
    let received = track.pass_all(&publisher.frame(true, 3));
    assert_eq!(received.len(), 3);
    assert_eq!(received[0].sequence, FIRST_SEQUENCE);
    assert_eq!(track.receiver.wants_key_frame(), None);
}

#[test]
fn a_key_frame_that_has_lost_its_first_packet_begins_nothing() {
    let (mut track, mut publisher) = (Track::new(Codec::Vp8, 1), publisher());
    let mut key = publisher.frame(true, 3);
    // The first packet comes again when the others have passed by: too late for them.
    let mut first = key.remove(0);
    first.is_repeated = true;
    assert!(track.pass_all(&key).is_empty());
    assert!(track.pass(&first).is_none());
    assert_eq!(track.receiver.wants_key_frame(), Some(0));
    assert_eq!(track.pass_all(&publisher.frame(true, 2)).len(), 2);
}

#[test]
fn dropped_layers_leave_no_gap_in_any_number() {
    for max in 0..3 {
        let (mut track, mut publisher) = (Track::new(Codec::Vp8, 1), publisher());
        track.receiver.set_target(temporal_target(max));
        let received = track.pass_all(&publisher.frames(40));
        assert_eq!(received.len(), 2 * [10, 20, 40][usize::from(max)]);
        assert!(received.iter().all(|packet| temporal(packet) <= max));
        assert_whole_stream(&received);
        for pair in received.chunks(2).collect::<Vec<_>>().windows(2) {
            let (before, after) = (&pair[0][0], &pair[1][0]);
            assert_eq!(picture_id(after), (picture_id(before) + 1) & 0x7fff);
            let step = u8::from(temporal(after) == 0);
            assert_eq!(base_layer_index(after), base_layer_index(before).wrapping_add(step));
        }
        assert!(received.chunks(2).all(|frame| picture_id(&frame[0]) == picture_id(&frame[1])));
    }
}

#[test]
fn temporal_layers_go_down_at_once_and_up_at_layer_syncs() {
    let (mut track, mut publisher) = (Track::new(Codec::Vp8, 1), publisher());
    let layers = |packets: &[Packet]| packets.iter().map(temporal).collect::<Vec<_>>();
    let mut frames = publisher.frames(16).chunks(2).map(<[_]>::to_vec).collect::<Vec<_>>();
    let mut next = |count| frames.drain(..count).flatten().collect::<Vec<_>>();
    assert_eq!(layers(&track.pass_all(&next(2))), [0, 0, 2, 2]);
    track.receiver.set_target(temporal_target(0));
    assert_eq!(layers(&track.pass_all(&next(3))), [0, 0]);
    track.receiver.set_target(temporal_target(2));
    // T2 depends on the lowest layer, yet T1 was left out before; T1 is a step up, the next T2 is no sync.
    assert_eq!(layers(&track.pass_all(&next(3))), [1, 1]);
    assert_eq!(layers(&track.pass_all(&next(4))), [0, 0, 2, 2, 1, 1, 2, 2]);
    assert_eq!(track.receiver.layer(), temporal_target(2));
    assert_eq!(track.receiver.wants_key_frame(), None);
}

#[test]
fn a_layer_does_not_change_within_a_frame() {
    let (mut track, mut publisher) = (Track::new(Codec::Vp8, 1), publisher());
    track.pass_all(&publisher.frame(true, 1));
    let frame = publisher.frame(false, 3);
    assert!(track.pass(&frame[0]).is_some());
    track.receiver.set_target(temporal_target(0));
    assert_eq!(track.pass_all(&frame[1..]).len(), 2);
    publisher.frame(false, 1);
    assert!(track.pass_all(&publisher.frame(false, 2)).is_empty());
}

#[test]
fn a_retransmission_gets_the_number_that_was_left_for_it() {
    let (mut track, mut publisher) = (Track::new(Codec::Vp8, 1), publisher());
    track.receiver.set_target(temporal_target(1));
    let mut packets = publisher.frames(8);
    // Lost: the second packets of a frame that passes (T1) and of one that does not (T2).
    let mut dropped = packets.remove(3);
    let mut passing = packets.remove(4);
    assert_eq!((temporal(&dropped), temporal(&passing)), (2, 1));
    let received = track.pass_all(&packets);
    let gaps: Vec<u64> = (FIRST_SEQUENCE..FIRST_SEQUENCE + received.len() as u64 + 2)
        .filter(|number| received.iter().all(|packet| packet.sequence != *number))
        .collect();
    // Both leave a gap, as nobody knows what was lost; the one that passes fills its own.
    assert_eq!(gaps, [FIRST_SEQUENCE + 2, FIRST_SEQUENCE + 4]);
    (dropped.is_repeated, passing.is_repeated) = (true, true);
    assert_eq!(track.pass(&dropped), None);
    let filled = track.pass(&passing).expect("it passes").sequence;
    assert_eq!(filled, FIRST_SEQUENCE + 4);
    assert_eq!(track.pass(&passing).expect("once more").sequence, filled);
}

#[test]
fn a_picture_id_of_seven_bits_keeps_its_width() {
    let mut track = Track::new(Codec::Vp8, 1);
    track.receiver.set_target(temporal_target(0));
    let mut rtp = Rtp::new(0, 10, 0);
    let mut ids = Vec::new();
    for number in 120..140_u8 {
        let (id, temporal) = (number & 0x7f, number % 2);
        let is_key = number == 120;
        let payload = vec![0x90, 0xa0, id, temporal << 6, u8::from(!is_key), 9];
        let packet = rtp.packet(true, payload);
        rtp.next_picture();
        if let Some(out) = track.pass(&packet) {
            assert_eq!(out.payload.len(), packet.payload.len());
            assert_eq!(out.payload[3..], packet.payload[3..]);
            ids.push(out.payload[2]);
        }
    }
    assert_eq!(ids, [120, 121, 122, 123, 124, 125, 126, 127, 0, 1]);
}

#[test]
fn an_encoder_that_counts_anew_goes_on_behind_the_last_picture() {
    let (mut track, mut publisher) = (Track::new(Codec::Vp8, 1), publisher());
    let before = track.pass_all(&publisher.frames(3));
    (publisher.picture_id, publisher.base_layer_index) = (32_700, 7);
    let after = track.pass_all(&publisher.frames(3));
    assert_eq!(after.len(), 6);
    assert_eq!(picture_id(&after[0]), (picture_id(&before[5]) + 1) & 0x7fff);
    assert_eq!(base_layer_index(&after[0]), base_layer_index(&before[5]).wrapping_add(1));
}

#[test]
fn a_receiver_that_was_paused_begins_again_at_a_key_frame() {
    let (mut track, mut publisher) = (Track::new(Codec::Vp8, 1), publisher());
    let before = track.pass_all(&publisher.frames(4));
    track.receiver.set_target(None);
    assert_eq!(track.receiver.wants_key_frame(), None);
    assert!(track.pass_all(&publisher.frames(200)).is_empty());
    track.receiver.set_target(Some(LayerIndex::HIGHEST));
    assert_eq!(track.receiver.wants_key_frame(), Some(0));
    assert!(track.pass_all(&publisher.frame(false, 2)).is_empty());
    let after = track.pass_all(&publisher.frames(4));
    assert_whole_stream(&[before.clone(), after.clone()].concat());
    // Time went on as the publisher's did.
    let steps = 2970 * (200 + 1 + 1);
    assert_eq!(after[0].timestamp, before[7].timestamp.wrapping_add(steps));
}

#[test]
fn a_jump_of_sequence_numbers_needs_a_key_frame_and_is_hidden() {
    let (mut track, mut publisher) = (Track::new(Codec::Vp8, 1), publisher());
    let before = track.pass_all(&publisher.frames(4));
    publisher.rtp.sequence += 1 << 40;
    assert!(track.pass_all(&publisher.frame(false, 2)).is_empty());
    assert_eq!(track.receiver.wants_key_frame(), Some(0));
    let after = track.pass_all(&publisher.frames(4));
    assert_whole_stream(&[before, after].concat());
}
