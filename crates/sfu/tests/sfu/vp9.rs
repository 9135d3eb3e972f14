//! VP9: the descriptor, spatial and temporal layers.

use airlane_sfu::{Codec, DescriptorError, LayerIndex, Vp9Descriptor};

use crate::common::vp9::{Decoder, InterLayer, Publisher};
use crate::common::{Packet, Rtp, Track, assert_whole_stream};

fn publisher(inter_layer: InterLayer) -> Publisher {
    Publisher::new(Rtp::new(0, 65_000, 4_000_000_000), 3, inter_layer)
}

fn decoded(packets: &[Packet]) -> Vec<(u8, u8)> {
    let mut decoder = Decoder::default();
    packets.iter().for_each(|packet| decoder.take(packet));
    decoder.layers
}

#[test]
fn all_fields_of_a_descriptor_are_read() {
    // I, P, L, F, B and V; picture id 0x1234; TID 1, U, SID 2, D; P_DIFF 3 and 5; two layers with sizes and a group
    // of two pictures.
    let bytes = [
        0x80 | 0x40 | 0x20 | 0x10 | 0x08 | 0x02,
        0x92,
        0x34,
        0b0011_0101,
        3 << 1 | 1,
        5 << 1,
        0b0011_1000,
        0x01,
        0x40,
        0x00,
        0xb4,
        0x02,
        0x80,
        0x01,
        0x68,
        2,
        0b0001_0000,
        0b0100_0100,
        1,
        0xff,
    ];
    let read = Vp9Descriptor::parse(&bytes).expect("a descriptor");
    assert!(read.is_inter_predicted && read.is_flexible && read.begins_frame && !read.ends_frame);
    assert!(!read.is_no_reference_for_upper);
    assert_eq!(read.numbers.picture_id.map(|id| id.value), Some(0x1234));
    assert_eq!((read.temporal, read.spatial), (1, 2));
    assert!(read.is_switching_up_point && read.is_inter_layer_predicted);
    assert_eq!(read.reference_distances, [3, 5]);
    assert_eq!(read.numbers.base_layer_index, None);
    let structure = read.structure.expect("a structure");
    assert_eq!(structure.sizes, [(320, 180), (640, 360)]);
    assert_eq!(structure.pictures.len(), 2);
    assert!(structure.pictures[0].is_switching_up_point);
    assert_eq!(structure.pictures[1].temporal, 2);
    assert_eq!(structure.pictures[1].reference_distances, [1]);
    assert_eq!(read.bytes, bytes.len() - 1);
    for length in 0..read.bytes {
        assert_eq!(Vp9Descriptor::parse(&bytes[..length]), Err(DescriptorError::Truncated));
    }
}

#[test]
fn a_descriptor_without_flexible_mode_has_tl0picidx_and_no_references() {
    let read = Vp9Descriptor::parse(&[0xe5, 0x11, 0x40, 0x77]).expect("a descriptor");
    assert_eq!(read.numbers.picture_id.map(|id| (id.value, id.is_long)), Some((0x11, false)));
    assert_eq!(read.numbers.base_layer_index.map(|index| index.value), Some(0x77));
    assert!(read.ends_frame && read.is_no_reference_for_upper);
    assert_eq!((read.temporal, read.spatial, read.bytes), (2, 0, 4));
}

#[test]
fn a_descriptor_of_four_references_is_refused() {
    let read = Vp9Descriptor::parse(&[0xd0, 0x01, 3, 3, 3, 2, 0]);
    assert_eq!(read, Err(DescriptorError::TooMany { of: "reference pictures", max: 3 }));
}

#[test]
fn each_layer_is_a_whole_stream_with_markers() {
    for inter_layer in [InterLayer::Always, InterLayer::KeyPicture] {
        for target in LayerIndex::all().filter(|l| l.spatial < 3 && l.temporal < 3) {
            let (mut track, mut publisher) = (Track::new(Codec::Vp9, 1), publisher(inter_layer));
            track.receiver.set_target(Some(target));
            let received = track.pass_all(&publisher.pictures(40));
            assert_whole_stream(&received);
            let layers = decoded(&received);
            let spatial = layers.iter().map(|(spatial, _)| *spatial).max();
            let temporal = layers.iter().map(|(_, temporal)| *temporal).max();
            assert_eq!((spatial, temporal), (Some(target.spatial), Some(target.temporal)));
            assert_eq!(track.receiver.layer(), Some(target));
            assert_eq!(track.receiver.wants_key_frame(), None);
            // Of the lower spatial layers K-SVC needs the key picture alone.
            let pictures = [10, 20, 40][usize::from(target.temporal)];
            let lower = usize::from(target.spatial);
            let frames = match inter_layer {
                InterLayer::Always => pictures * (lower + 1),
                InterLayer::KeyPicture => pictures + lower,
            };
            assert_eq!(layers.len(), frames, "{inter_layer:?}, {target:?}");
        }
    }
}

#[test]
fn a_higher_spatial_layer_waits_for_a_key_picture() {
    for inter_layer in [InterLayer::Always, InterLayer::KeyPicture] {
        let (mut track, mut publisher) = (Track::new(Codec::Vp9, 1), publisher(inter_layer));
        track.receiver.set_target(Some(LayerIndex::new(0, 2)));
        let mut received = track.pass_all(&publisher.pictures(5));
        track.receiver.set_target(Some(LayerIndex::new(2, 2)));
        let waiting = track.pass_all(&publisher.picture(false));
        assert!(decoded(&received).iter().all(|(spatial, _)| *spatial == 0));
        assert_eq!(waiting.len(), 2);
        assert_eq!(track.receiver.wants_key_frame(), Some(0));
        received.extend(waiting);
        received.extend(track.pass_all(&publisher.pictures(5)));
        assert_eq!(track.receiver.wants_key_frame(), None);
        assert_eq!(track.receiver.layer(), Some(LayerIndex::new(2, 2)));
        assert_whole_stream(&received);
        decoded(&received);
    }
}

#[test]
fn a_lower_spatial_layer_comes_at_once_where_its_frames_were_forwarded() {
    let (mut track, mut publisher) = (Track::new(Codec::Vp9, 1), publisher(InterLayer::Always));
    let mut received = track.pass_all(&publisher.pictures(6));
    track.receiver.set_target(Some(LayerIndex::new(1, 2)));
    let after = track.pass_all(&publisher.picture(false));
    assert_eq!(after.len(), 4);
    assert_eq!(track.receiver.wants_key_frame(), None);
    received.extend(after);
    assert_whole_stream(&received);
    decoded(&received);
}

#[test]
fn a_lower_spatial_layer_of_k_svc_waits_for_a_key_picture_at_the_lowest_frame_rate() {
    let (mut track, mut publisher) = (Track::new(Codec::Vp9, 1), publisher(InterLayer::KeyPicture));
    let mut received = track.pass_all(&publisher.pictures(4));
    track.receiver.set_target(Some(LayerIndex::new(0, 2)));
    let waiting: Vec<Packet> = (0..8).flat_map(|_| publisher.picture(false)).collect();
    let waiting = track.pass_all(&waiting);
    assert_eq!(track.receiver.wants_key_frame(), Some(0));
    assert_eq!(track.receiver.layer(), Some(LayerIndex::new(2, 0)));
    assert_eq!(waiting.len(), 4);
    received.extend(waiting);
    received.extend(track.pass_all(&publisher.pictures(8)));
    assert_eq!(track.receiver.layer(), Some(LayerIndex::new(0, 2)));
    assert_eq!(track.receiver.wants_key_frame(), None);
    assert_whole_stream(&received);
    decoded(&received);
}

#[test]
fn temporal_layers_come_back_without_a_key_picture() {
    let (mut track, mut publisher) = (Track::new(Codec::Vp9, 1), publisher(InterLayer::KeyPicture));
    let mut received = track.pass_all(&publisher.pictures(4));
    track.receiver.set_target(Some(LayerIndex::new(2, 0)));
    for _ in 0..6 {
        received.extend(track.pass_all(&publisher.picture(false)));
    }
    assert_eq!(track.receiver.layer(), Some(LayerIndex::new(2, 0)));
    track.receiver.set_target(Some(LayerIndex::new(2, 2)));
    for _ in 0..8 {
        received.extend(track.pass_all(&publisher.picture(false)));
        assert_eq!(track.receiver.wants_key_frame(), None);
    }
    assert_eq!(track.receiver.layer(), Some(LayerIndex::new(2, 2)));
    assert_whole_stream(&received);
    decoded(&received);
}

#[test]
fn a_switching_up_point_of_the_lowest_layer_opens_all_higher_ones() {
    // Not flexible: T0 with U, T1, T2 as a group of pictures repeats them.
    let mut track = Track::new(Codec::Vp9, 1);
    let mut rtp = Rtp::new(0, 10, 0);
    let mut picture = |track: &mut Track, temporal: u8, is_up: bool, is_key: bool| {
        let flags = 0x80 | 0x20 | 0x08 | 0x04 | if is_key { 0 } else { 0x40 };
        let packet = rtp.packet(true, vec![flags, 1, temporal << 5 | u8::from(is_up) << 4, 1, 9]);
        rtp.next_picture();
        track.pass(&packet).is_some()
    };
    assert!(picture(&mut track, 0, true, true));
    track.receiver.set_target(Some(LayerIndex::new(0, 0)));
    assert!(!picture(&mut track, 2, true, false));
    assert!(picture(&mut track, 0, false, false));
    track.receiver.set_target(Some(LayerIndex::new(0, 2)));
    assert!(!picture(&mut track, 2, true, false));
    assert!(!picture(&mut track, 1, true, false));
    assert!(picture(&mut track, 0, true, false));
    assert!(picture(&mut track, 2, false, false));
}

#[test]
fn a_layer_that_the_encoder_gives_up_is_not_waited_for() {
    let (mut track, mut publisher) = (Track::new(Codec::Vp9, 1), publisher(InterLayer::Always));
    track.receiver.set_target(Some(LayerIndex::new(2, 2)));
    track.pass_all(&publisher.pictures(10));
    assert_eq!(track.receiver.layer(), Some(LayerIndex::new(2, 2)));
    publisher.spatial_layers = 2;
    for _ in 0..40 {
        let picture = publisher.picture(false);
        track.pass_all(&picture);
    }
    assert_eq!(track.receiver.layer(), Some(LayerIndex::new(1, 2)));
    assert_eq!(track.receiver.wants_key_frame(), None);
    // It is entered when it comes back, with a key picture.
    publisher.spatial_layers = 3;
    track.pass_all(&publisher.pictures(2));
    assert_eq!(track.receiver.layer(), Some(LayerIndex::new(2, 2)));
}
