//! AV1: decode targets by dependency descriptors.

use airlane_sfu::{Codec, DependencyDescriptor, DescriptorError, LayerIndex};

use crate::common::av1::{Decoder, Mode, Publisher};
use crate::common::{Packet, Rtp, Track, assert_whole_stream};

const MODES: [Mode; 3] = [Mode::L2T3Key, Mode::L3T3Key, Mode::L2T3];

fn publisher(mode: Mode) -> Publisher {
    Publisher::new(Rtp::new(0, 65_000, 4_000_000_000), mode)
}

fn decoded(packets: &[Packet]) -> Decoder {
    let mut decoder = Decoder::default();
    packets.iter().for_each(|packet| decoder.take(packet));
    decoder
}

fn pictures(publisher: &mut Publisher, count: usize) -> Vec<Packet> {
    (0..count).flat_map(|_| publisher.picture(false)).collect()
}

#[test]
fn each_layer_is_a_whole_stream_with_markers() {
    for mode in MODES {
        let layers = mode.spatial_layers();
        for target in LayerIndex::all().filter(|l| l.spatial < layers && l.temporal < 3) {
            let (mut track, mut publisher) = (Track::new(Codec::Av1, 1), publisher(mode));
            track.receiver.set_target(Some(target));
            let received = track.pass_all(&publisher.pictures(40));
            assert_whole_stream(&received);
            let decoder = decoded(&received);
            assert_eq!(track.receiver.layer(), Some(target));
            assert_eq!(track.receiver.wants_key_frame(), None);
            let pictures = [10, 20, 40][usize::from(target.temporal)];
            let lower = usize::from(target.spatial);
            let frames = match mode {
                Mode::L2T3 => pictures * (lower + 1),
                Mode::L1T3 | Mode::L2T3Key | Mode::L3T3Key => pictures + lower,
            };
            assert_eq!(decoder.layers.len(), frames, "{mode:?}, {target:?}");
            // The targets that the receiver gets whole: of K-SVC those of its own spatial layer.
            let below = 0..=target.temporal;
            let of = |spatial: u8| below.clone().map(move |t| 1_u32 << (spatial * 3 + t));
            let told = match mode {
                Mode::L2T3 => (0..=target.spatial).flat_map(of).sum(),
                Mode::L1T3 | Mode::L2T3Key | Mode::L3T3Key => of(target.spatial).sum::<u32>(),
            };
            assert_eq!(decoder.active, told, "{mode:?}, {target:?}");
        }
    }
}

#[test]
fn a_receiver_of_everything_gets_the_descriptors_as_they_are() {
    let (mut track, mut publisher) = (Track::new(Codec::Av1, 1), publisher(Mode::L2T3));
    let sent = publisher.pictures(20);
    let received = track.pass_all(&sent);
    assert_eq!(sent.len(), received.len());
    for (sent, received) in sent.iter().zip(&received) {
        assert_eq!(sent.dependency_descriptor, received.dependency_descriptor);
    }
}

#[test]
fn a_higher_spatial_layer_waits_for_a_key_frame_at_the_wanted_frame_rate() {
    for mode in MODES {
        let (mut track, mut publisher) = (Track::new(Codec::Av1, 1), publisher(mode));
        track.receiver.set_target(Some(LayerIndex::new(0, 0)));
        let mut received = track.pass_all(&publisher.pictures(5));
        track.receiver.set_target(Some(LayerIndex::new(1, 2)));
        received.extend(track.pass_all(&pictures(&mut publisher, 8)));
        assert_eq!(track.receiver.layer(), Some(LayerIndex::new(0, 2)));
        assert_eq!(track.receiver.wants_key_frame(), Some(0));
        received.extend(track.pass_all(&publisher.pictures(5)));
        assert_eq!(track.receiver.wants_key_frame(), None);
        assert_eq!(track.receiver.layer(), Some(LayerIndex::new(1, 2)));
        assert_whole_stream(&received);
        decoded(&received);
    }
}

#[test]
fn a_lower_spatial_layer_comes_at_once_where_its_frames_were_forwarded() {
    let (mut track, mut publisher) = (Track::new(Codec::Av1, 1), publisher(Mode::L2T3));
    let mut received = track.pass_all(&publisher.pictures(6));
    track.receiver.set_target(Some(LayerIndex::new(0, 2)));
    let after = track.pass_all(&publisher.picture(false));
    assert_eq!(after.len(), 2);
    assert_eq!(track.receiver.wants_key_frame(), None);
    received.extend(after);
    assert_whole_stream(&received);
    assert_eq!(decoded(&received).active, 0b000111);
}

#[test]
fn a_lower_spatial_layer_of_k_svc_waits_for_a_key_frame_at_the_lowest_frame_rate() {
    let (mut track, mut publisher) = (Track::new(Codec::Av1, 1), publisher(Mode::L3T3Key));
    let mut received = track.pass_all(&publisher.pictures(8));
    track.receiver.set_target(Some(LayerIndex::new(0, 2)));
    let waiting = track.pass_all(&pictures(&mut publisher, 8));
    assert_eq!(track.receiver.layer(), Some(LayerIndex::new(2, 0)));
    assert_eq!(track.receiver.wants_key_frame(), Some(0));
    assert_eq!(waiting.len(), 4);
    received.extend(waiting);
    received.extend(track.pass_all(&publisher.pictures(8)));
    assert_eq!(track.receiver.layer(), Some(LayerIndex::new(0, 2)));
    assert_whole_stream(&received);
    decoded(&received);
}

#[test]
fn the_picture_after_a_key_picture_of_k_svc_can_be_gone_down_at() {
    let (mut track, mut publisher) = (Track::new(Codec::Av1, 1), publisher(Mode::L3T3Key));
    let mut received = track.pass_all(&publisher.pictures(4));
    track.receiver.set_target(Some(LayerIndex::new(0, 2)));
    // It refers to the key picture alone, which was forwarded with all its layers.
    received.extend(track.pass_all(&publisher.picture(false)));
    assert_eq!(track.receiver.layer(), Some(LayerIndex::new(0, 2)));
    assert_eq!(track.receiver.wants_key_frame(), None);
    assert_whole_stream(&received);
    decoded(&received);
}

#[test]
fn temporal_layers_come_back_at_a_switch_indication() {
    for mode in MODES {
        let (mut track, mut publisher) = (Track::new(Codec::Av1, 1), publisher(mode));
        let spatial = mode.spatial_layers() - 1;
        let mut received = track.pass_all(&publisher.pictures(4));
        track.receiver.set_target(Some(LayerIndex::new(spatial, 0)));
        received.extend(track.pass_all(&pictures(&mut publisher, 6)));
        assert_eq!(track.receiver.layer(), Some(LayerIndex::new(spatial, 0)));
        track.receiver.set_target(Some(LayerIndex::new(spatial, 2)));
        // T1, whose indication for the highest target is Switch, comes first.
        assert_eq!(publisher.next_temporal(), 1);
        received.extend(track.pass_all(&pictures(&mut publisher, 8)));
        assert_eq!(track.receiver.layer(), Some(LayerIndex::new(spatial, 2)));
        assert_eq!(track.receiver.wants_key_frame(), None);
        assert_whole_stream(&received);
        // It was told of fewer targets before: now it is told of the others again.
        let all = mode.structure(0).all_targets();
        let whole = if mode == Mode::L2T3 { all } else { all & 0b111 << (3 * spatial) };
        assert_eq!(decoded(&received).active, whole);
    }
}

#[test]
fn targets_that_the_encoder_turned_off_are_neither_chosen_nor_told_of() {
    let (mut track, mut publisher) = (Track::new(Codec::Av1, 1), publisher(Mode::L2T3));
    publisher.active = Some(0b000011);
    let received = track.pass_all(&publisher.pictures(10));
    assert_eq!(track.receiver.layer(), Some(LayerIndex::new(0, 1)));
    assert_eq!(track.receiver.wants_key_frame(), None);
    assert_eq!(decoded(&received).active, 0b000011);
}

#[test]
fn a_packet_that_no_structure_came_for_is_refused_and_a_key_frame_wanted() {
    let (mut track, mut publisher) = (Track::new(Codec::Av1, 1), publisher(Mode::L2T3Key));
    let observe = |track: &mut Track, packet: &Packet| track.source.observe(&packet.rtp()).err();
    let lost = publisher.picture(false);
    assert_eq!(observe(&mut track, &lost[0]), Some(DescriptorError::NoStructure));
    assert_eq!(track.source.wants_key_frame(), Some(0));
    track.pass_all(&publisher.picture(true));
    assert_eq!(track.source.wants_key_frame(), None);
    // The next key frame loses the packet that has the structure.
    let key = publisher.picture(true);
    let error = observe(&mut track, &key[1]);
    assert!(matches!(error, Some(DescriptorError::UnknownTemplate(_))), "{error:?}");
    assert_eq!(track.source.wants_key_frame(), Some(0));
    // Its retransmission does not bring back what was refused; the next key frame does.
    track.pass_all(&key[..1]);
    assert_eq!(track.source.wants_key_frame(), Some(0));
    assert!(!track.pass_all(&publisher.picture(true)).is_empty());
    assert_eq!(track.source.wants_key_frame(), None);
}

#[test]
fn a_late_packet_is_read_by_the_structure_of_its_time() {
    let (mut track, mut publisher) = (Track::new(Codec::Av1, 1), publisher(Mode::L2T3));
    let mut packets = publisher.pictures(8);
    let late = packets.pop().expect("a packet");
    packets.extend(publisher.picture(true));
    let received = track.pass_all(&packets);
    let late = track.pass(&late).expect("it is forwarded");
    assert!(received.iter().all(|packet| packet.sequence != late.sequence));
    let (first, last) = (received[0].sequence, received[received.len() - 1].sequence);
    assert_eq!(last - first, received.len() as u64);
    assert!((first..last).contains(&late.sequence));
}

#[test]
fn the_frame_number_of_a_second_encoding_goes_on() {
    let mut track = Track::new(Codec::Av1, 2);
    let mut low = publisher(Mode::L2T3Key);
    let mut high = Publisher::new(Rtp::new(1, 9, 77), Mode::L2T3Key);
    high.frame_number = 3;
    track.receiver.set_target(Some(LayerIndex::new(0, 2)));
    let mut received = track.pass_all(&low.pictures(3));
    track.receiver.set_target(Some(LayerIndex::new(1, 2)));
    high.rtp.now = low.rtp.now;
    received.extend(track.pass_all(&high.pictures(3)));
    assert_eq!(track.receiver.layer(), Some(LayerIndex::new(1, 2)));
    let number = |packet: &Packet| {
        let bytes = packet.dependency_descriptor.as_ref().expect("a descriptor");
        u16::from_be_bytes([bytes[1], bytes[2]])
    };
    assert!(received.iter().any(|packet| packet.encoding == 1));
    for pair in received.windows(2) {
        // A picture that is left out of the lower layer is a number that is left out.
        let step = number(&pair[1]).wrapping_sub(number(&pair[0]));
        assert!(step <= 2, "{step}");
    }
    decoded(&received);
    let first = received.iter().position(|packet| packet.encoding == 1).expect("a switch");
    let bytes = received[first].dependency_descriptor.as_ref().expect("a descriptor");
    assert!(DependencyDescriptor::decode(bytes, None).expect("it is read").structure.is_some());
}
