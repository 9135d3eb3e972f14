//! What a hostile publisher can make a source and a forwarder hold.

use airlane_sfu::{Codec, DescriptorError, LayerIndex};

use crate::common::av1::{self, Mode};
use crate::common::{Rtp, Track, vp8, vp9};

/// Bytes of a forwarder at most, and of a source.
const MAX_FORWARDER_BYTES: usize = 24 << 10;
const MAX_SOURCE_BYTES: usize = 96 << 10;

fn assert_bounded(track: &Track) {
    let (forwarder, source) = (track.receiver.state_bytes(), track.source.state_bytes());
    assert!(forwarder <= MAX_FORWARDER_BYTES, "{forwarder} bytes of a forwarder");
    assert!(source <= MAX_SOURCE_BYTES, "{source} bytes of a source");
}

#[test]
fn frames_that_are_left_out_one_by_one_take_bounded_room() {
    let mut track = Track::new(Codec::Vp8, 1);
    let mut publisher = vp8::Publisher::new(Rtp::new(0, 1, 1), 1, 1);
    track.pass_all(&publisher.frame(true, 2));
    for round in 0..20_000 {
        // Limits that change all the time, and a dropped frame between any two.
        track.receiver.set_target(Some(LayerIndex::new(0, round as u8 % 2)));
        let frame = publisher.frame(false, 2);
        track.pass_all(&frame);
    }
    assert_bounded(&track);
}

#[test]
fn a_packet_from_before_what_is_remembered_is_dropped() {
    let mut track = Track::new(Codec::Vp8, 1);
    let mut publisher = vp8::Publisher::new(Rtp::new(0, 1, 1), 1, 1);
    track.receiver.set_target(Some(LayerIndex::new(0, 0)));
    let mut packets = publisher.frames(4000);
    let late = packets.remove(9);
    assert_eq!(vp8::temporal(&late), 0);
    assert!(!track.pass_all(&packets).is_empty());
    assert_eq!(track.pass(&late), None);
}

#[test]
fn pictures_of_vp9_take_bounded_room() {
    let mut track = Track::new(Codec::Vp9, 1);
    let rtp = Rtp::new(0, 1, 1);
    let mut publisher = vp9::Publisher::new(rtp, 3, vp9::InterLayer::Always);
    for round in 0..3_000_u32 {
        track.receiver.set_target(Some(LayerIndex::new((round % 3) as u8, (round / 3 % 3) as u8)));
        track.pass_all(&publisher.picture(round % 5 == 0));
    }
    assert_bounded(&track);
}

#[test]
fn structures_do_not_pile_up() {
    let mut track = Track::new(Codec::Av1, 1);
    for round in 0..2_000 {
        let mut publisher = av1::Publisher::new(Rtp::new(0, 10 * round, 1), Mode::L3T3Key);
        track.pass_all(&publisher.picture(true));
    }
    assert_bounded(&track);
}

#[test]
fn the_largest_structure_takes_bounded_room() {
    // As many templates as 255 bytes hold, each with as many distances as are left.
    let mut track = Track::new(Codec::Av1, 4);
    for fill in [0x00, 0xff, 0x84, 0x21] {
        for encoding in 0..4_u8 {
            for sequence in 0..64 {
                let mut descriptor = vec![0xc0, 0, 0, 0x80];
                descriptor.extend([fill ^ sequence; 251]);
                let mut packet = Rtp::new(encoding, u64::from(sequence), 0).packet(true, vec![1]);
                packet.dependency_descriptor = Some(descriptor);
                if let Ok(info) = track.source.observe(&packet.rtp()) {
                    track.receiver.forward(&packet.rtp(), &info);
                }
                assert_bounded(&track);
            }
        }
    }
}

#[test]
fn encodings_that_were_not_announced_are_refused() {
    for encodings in [1, 2, 4, 255] {
        let mut track = Track::new(Codec::Vp8, encodings);
        for encoding in 0..=255 {
            let mut publisher = vp8::Publisher::new(Rtp::new(encoding, 1, 1), 1, 1);
            let packet = publisher.frame(true, 1).remove(0);
            let observed = track.source.observe(&packet.rtp()).map(|info| info.layer.spatial);
            match encoding < encodings.min(4) {
                true => assert_eq!(observed, Ok(if encodings == 1 { 0 } else { encoding })),
                false => assert_eq!(observed, Err(DescriptorError::UnknownEncoding(encoding))),
            }
        }
    }
}
