//! Simulcast: switches between the encodings of VP8.

use std::time::Duration;

use airlane_base::Time;
use airlane_sfu::{Codec, LayerIndex};

use crate::common::av1::{Mode, Publisher as DescribedPublisher};
use crate::common::vp8::{Publisher, base_layer_index, picture_id};
use crate::common::{FIRST_SEQUENCE, Packet, Rtp, Track, assert_whole_stream};

/// Two encodings whose numbers have nothing to do with each other.
fn publishers() -> [Publisher; 2] {
    [
        Publisher::new(Rtp::new(0, 65_000, 4_000_000_000), 100, 3),
        Publisher::new(Rtp::new(1, 70, 12_345), 20_000, 200),
    ]
}

fn encoding_target(encoding: u8) -> Option<LayerIndex> {
    Some(LayerIndex::new(encoding, 2))
}

/// The next picture of both, the lower one first.
fn picture(publishers: &mut [Publisher; 2], is_key: [bool; 2]) -> Vec<Packet> {
    let [low, high] = publishers;
    let mut out = low.frame(is_key[0], 2);
    let mut above = high.frame(is_key[1], 2);
    for packet in &mut above {
        packet.arrived += Duration::from_millis(2);
    }
    out.extend(above);
    out
}

fn encodings(packets: &[Packet]) -> Vec<u8> {
    packets.iter().map(|packet| packet.encoding).collect()
}

#[test]
fn an_encoding_is_gone_over_to_at_its_key_frame_alone() {
    let (mut track, mut publishers) = (Track::new(Codec::Vp8, 2), publishers());
    track.receiver.set_target(encoding_target(0));
    let mut received = track.pass_all(&picture(&mut publishers, [true, true]));
    track.receiver.set_target(encoding_target(1));
    for _ in 0..3 {
        received.extend(track.pass_all(&picture(&mut publishers, [false, false])));
        assert_eq!(track.receiver.wants_key_frame(), Some(1));
    }
    assert_eq!(encodings(&received), [0; 8]);
    let switch = track.pass_all(&picture(&mut publishers, [false, true]));
    assert_eq!(encodings(&switch), [0, 0, 1, 1]);
    assert_eq!(track.receiver.wants_key_frame(), None);
    assert_eq!(track.receiver.layer(), encoding_target(1));
    received.extend(switch);
    for _ in 0..5 {
        received.extend(track.pass_all(&picture(&mut publishers, [false, false])));
    }
    assert_whole_stream(&received);
    assert_eq!(received[0].sequence, FIRST_SEQUENCE);
    let frames: Vec<&Packet> = received.iter().step_by(2).collect();
    for pair in frames.windows(2) {
        assert_eq!(picture_id(pair[1]), picture_id(pair[0]) + 1);
        let step = base_layer_index(pair[1]).wrapping_sub(base_layer_index(pair[0]));
        assert!(step <= 1);
    }
    // The switch comes 2 ms after the frame before it, by the times of arrival.
    let place = received.iter().position(|packet| packet.encoding == 1).expect("a switch");
    let step = |at: usize| received[at].timestamp.wrapping_sub(received[at - 1].timestamp);
    assert_eq!((step(place), step(place + 2)), (180, 2970));
    assert_eq!(base_layer_index(&received[place]), base_layer_index(&received[place - 1]) + 1);
}

#[test]
fn times_of_capture_align_timestamps_where_they_are_known() {
    let (mut track, mut publishers) = (Track::new(Codec::Vp8, 2), publishers());
    track.receiver.set_target(encoding_target(0));
    let captured = |packets: Vec<Packet>, at: u64| -> Vec<Packet> {
        let at = Some(Time::from_millis(at));
        packets.into_iter().map(|packet| Packet { captured: at, ..packet }).collect()
    };
    let first = captured(picture(&mut publishers, [true, true]), 500);
    let mut received = track.pass_all(&first);
    track.receiver.set_target(encoding_target(1));
    // Both encodings of the second picture are of the same moment: the switch goes on by one tick.
    let second = captured(picture(&mut publishers, [false, true]), 540);
    received.extend(track.pass_all(&second));
    let third = captured(picture(&mut publishers, [false, false]), 573);
    received.extend(track.pass_all(&third));
    let stamps: Vec<u32> =
        received.iter().step_by(2).map(|p| p.timestamp.wrapping_sub(4_000_000_000)).collect();
    assert_eq!(encodings(&received), [0, 0, 0, 0, 1, 1, 1, 1]);
    assert_eq!(stamps, [0, 2970, 2971, 2971 + 2970]);
}

#[test]
fn a_receiver_begins_with_what_comes_first_and_goes_on_to_its_target() {
    let (mut track, mut publishers) = (Track::new(Codec::Vp8, 2), publishers());
    let received = track.pass_all(&picture(&mut publishers, [true, true]));
    assert_eq!(encodings(&received), [0, 0, 1, 1]);
}

#[test]
fn an_encoding_above_the_target_is_none_to_begin_with() {
    let (mut track, mut publishers) = (Track::new(Codec::Vp8, 2), publishers());
    track.receiver.set_target(encoding_target(0));
    picture(&mut publishers, [true, true]);
    assert!(track.pass_all(&picture(&mut publishers, [false, true])).is_empty());
    assert_eq!(track.receiver.wants_key_frame(), Some(0));
    // A target is heeded before the next packet comes.
    track.receiver.set_target(encoding_target(1));
    assert_eq!(track.receiver.wants_key_frame(), Some(1));
    track.receiver.set_target(encoding_target(0));
    assert_eq!(track.pass_all(&picture(&mut publishers, [true, true])).len(), 2);
}

#[test]
fn a_lower_encoding_is_waited_for_at_the_lowest_frame_rate() {
    let (mut track, mut publishers) = (Track::new(Codec::Vp8, 2), publishers());
    let mut received = track.pass_all(&picture(&mut publishers, [true, true]));
    track.receiver.set_target(encoding_target(0));
    for _ in 0..8 {
        received.extend(track.pass_all(&picture(&mut publishers, [false, false])));
    }
    assert_eq!(track.receiver.wants_key_frame(), Some(0));
    assert_eq!(track.receiver.layer(), Some(LayerIndex::new(1, 0)));
    assert_eq!(encodings(&received[4..]), [1; 4]);
    received.extend(track.pass_all(&picture(&mut publishers, [true, false])));
    received.extend(track.pass_all(&picture(&mut publishers, [false, false])));
    assert_eq!(track.receiver.layer(), encoding_target(0));
    assert_eq!(encodings(&received[8..]), [0; 4]);
    assert_whole_stream(&received);
}

#[test]
fn an_encoding_that_is_not_sent_any_more_is_not_waited_for() {
    let (mut track, mut publishers) = (Track::new(Codec::Vp8, 2), publishers());
    track.receiver.set_target(encoding_target(1));
    track.pass_all(&picture(&mut publishers, [true, true]));
    assert_eq!(track.receiver.layer(), encoding_target(1));
    let [low, _] = &mut publishers;
    for _ in 0..40 {
        track.pass_all(&low.frame(false, 2));
    }
    assert_eq!(track.receiver.wants_key_frame(), Some(0));
    assert_eq!(track.pass_all(&low.frame(true, 2)).len(), 2);
    assert_eq!(track.receiver.layer(), encoding_target(0));
    assert_eq!(track.receiver.wants_key_frame(), None);
}

#[test]
fn packets_of_the_encoding_before_the_switch_come_too_late() {
    let (mut track, mut publishers) = (Track::new(Codec::Vp8, 2), publishers());
    track.receiver.set_target(encoding_target(0));
    let mut first = picture(&mut publishers, [true, true]);
    let late = first.remove(1);
    track.pass_all(&first);
    track.receiver.set_target(encoding_target(1));
    let switch = track.pass_all(&picture(&mut publishers, [false, true]));
    assert_eq!(encodings(&switch), [0, 0, 1, 1]);
    assert_eq!(track.pass(&late), None);
}

/// Two encodings whose layers are told by dependency descriptors, not by VP8's own.
fn described() -> [DescribedPublisher; 2] {
    [
        DescribedPublisher::new(Rtp::new(0, 65_000, 4_000_000_000), Mode::L1T3),
        DescribedPublisher::new(Rtp::new(1, 70, 12_345), Mode::L1T3),
    ]
}

#[test]
fn temporal_layers_of_vp8_are_read_from_dependency_descriptors_too() {
    let (mut track, mut publishers) = (Track::new(Codec::Vp8, 2), described());
    track.receiver.set_target(Some(LayerIndex::new(0, 0)));
    let mut passed = |track: &mut Track, pictures: usize, is_key: bool| -> Vec<Packet> {
        let mut all = Vec::new();
        for place in 0..pictures {
            for publisher in &mut publishers {
                all.extend(track.pass_all(&publisher.picture(is_key && place == 0)));
            }
        }
        all
    };
    // Two packets a picture; one picture of four is of the lowest layer.
    let mut received = passed(&mut track, 8, true);
    assert_eq!(encodings(&received), [0; 4]);
    let steps = |track: &mut Track| {
        let table = track.source.layers(Time::from_millis(1300));
        table
            .steps()
            .iter()
            .map(|step| (step.layer.spatial, step.layer.temporal))
            .collect::<Vec<_>>()
    };
    assert_eq!(steps(&mut track), [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
    // All layers of the lower encoding begin at once, those of the upper one at its key frame.
    track.receiver.set_target(Some(LayerIndex::new(0, 2)));
    let more = passed(&mut track, 4, false);
    assert_eq!(encodings(&more), [0; 8]);
    received.extend(more);
    track.receiver.set_target(Some(LayerIndex::new(1, 1)));
    assert_eq!(track.receiver.wants_key_frame(), Some(1));
    let switched = passed(&mut track, 4, true);
    assert_eq!(encodings(&switched), [0, 0, 1, 1, 1, 1]);
    assert_eq!(track.receiver.layer(), Some(LayerIndex::new(1, 1)));
    received.extend(switched);
    assert_whole_stream(&received);
    assert!(received.iter().all(|packet| packet.dependency_descriptor.is_some()));
}
