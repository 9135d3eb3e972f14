//! Properties of any stream, checked against plain models.

use std::collections::BTreeMap;

use airlane_base::Time;
use airlane_sfu::{Codec, Forwarder, ForwarderConfig, LayerIndex, RtpPacket, Source, SourceConfig};
use proptest::prelude::*;

use crate::common::av1::{self, Mode};
use crate::common::vp9::{self, InterLayer};
use crate::common::{Packet, Rtp, Track, assert_whole_stream, vp8};

fn layer() -> impl Strategy<Value = LayerIndex> {
    (0..4_u8, 0..4_u8).prop_map(|(spatial, temporal)| LayerIndex::new(spatial, temporal))
}

/// Fate of a packet in a lossy network.
#[derive(Clone, Copy, Debug)]
struct Fate {
    is_lost: bool,
    /// Packets that pass it by.
    delay: usize,
    is_repeated: bool,
    target: Option<LayerIndex>,
}

fn fate() -> impl Strategy<Value = Fate> {
    let target = prop_oneof![9 => Just(None), 1 => layer().prop_map(Some)];
    let delay = prop_oneof![4 => Just(0_usize), 1 => 1..12_usize];
    (prop::bool::weighted(0.1), delay, prop::bool::weighted(0.2), target).prop_map(
        |(is_lost, delay, is_repeated, target)| Fate { is_lost, delay, is_repeated, target },
    )
}

/// Packets in the order in which a lossy network brings them, with the targets that are set before each.
fn arrivals(packets: Vec<Packet>, fates: &[Fate]) -> Vec<(Packet, Option<LayerIndex>)> {
    let mut out = Vec::new();
    for (place, (packet, fate)) in packets.into_iter().zip(fates.iter().cycle()).enumerate() {
        if fate.is_repeated || fate.is_lost {
            let again = Packet { is_repeated: true, ..packet.clone() };
            out.push((place + fate.delay + 20, again, None));
        }
        if !fate.is_lost {
            out.push((place + fate.delay, packet, fate.target));
        }
    }
    out.sort_by_key(|(place, ..)| *place);
    out.into_iter().map(|(_, packet, target)| (packet, target)).collect()
}

/// Forwards what arrives, and checks that each number has one image and that images are in the order of numbers.
fn check_numbers(codec: Codec, packets: Vec<Packet>, fates: &[Fate]) -> Result<(), TestCaseError> {
    let mut track = Track::new(codec, 1);
    let mut images = BTreeMap::new();
    for (packet, target) in arrivals(packets, fates) {
        if target.is_some() {
            track.receiver.set_target(target);
        }
        let rtp = packet.rtp();
        let Ok(info) = track.source.observe(&rtp) else { continue };
        let Some(out) = track.receiver.forward(&rtp, &info) else { continue };
        let image = *images.entry(packet.sequence).or_insert(out.sequence);
        prop_assert_eq!(image, out.sequence, "packet {} has two numbers", packet.sequence);
    }
    let outputs: Vec<u64> = images.values().copied().collect();
    prop_assert!(outputs.is_sorted_by(|a, b| a < b), "{:?}", images);
    Ok(())
}

/// An encoding of the model of simulcast, with what its publisher is asked for.
fn publishers() -> [vp8::Publisher; 3] {
    [
        vp8::Publisher::new(Rtp::new(0, 65_000, 4_294_000_000), 32_700, 250),
        vp8::Publisher::new(Rtp::new(1, 1, 5), 7, 1),
        vp8::Publisher::new(Rtp::new(2, 1 << 20, 1 << 31), 16_000, 128),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn numbers_of_vp8_keep_their_order(fates in prop::collection::vec(fate(), 1..80)) {
        let mut publisher = vp8::Publisher::new(Rtp::new(0, 65_000, 1), 32_700, 1);
        check_numbers(Codec::Vp8, publisher.frames(100), &fates)?;
    }

    #[test]
    fn numbers_of_vp9_keep_their_order(
        fates in prop::collection::vec(fate(), 1..80),
        is_key_svc in any::<bool>(),
    ) {
        let mode = if is_key_svc { InterLayer::KeyPicture } else { InterLayer::Always };
        let mut publisher = vp9::Publisher::new(Rtp::new(0, 65_000, 1), 3, mode);
        let mut packets = publisher.pictures(30);
        packets.extend(publisher.pictures(30));
        check_numbers(Codec::Vp9, packets, &fates)?;
    }

    #[test]
    fn numbers_of_av1_keep_their_order(
        fates in prop::collection::vec(fate(), 1..80),
        mode in prop::sample::select(vec![Mode::L2T3Key, Mode::L3T3Key, Mode::L2T3]),
    ) {
        let mut publisher = av1::Publisher::new(Rtp::new(0, 65_000, 1), mode);
        let mut packets = publisher.pictures(30);
        packets.extend(publisher.pictures(30));
        check_numbers(Codec::Av1, packets, &fates)?;
    }

    /// Targets change at any picture; key pictures come a while after they are asked for.
    #[test]
    fn av1_can_be_decoded_whatever_is_chosen(
        targets in prop::collection::vec(prop::option::weighted(0.2, layer()), 1..120),
        mode in prop::sample::select(vec![Mode::L2T3Key, Mode::L3T3Key, Mode::L2T3]),
        delay in 1..6_u32,
    ) {
        let mut track = Track::new(Codec::Av1, 1);
        let mut publisher = av1::Publisher::new(Rtp::new(0, 65_000, 1), mode);
        let (mut received, mut waited) = (Vec::new(), 0);
        for target in targets.into_iter().chain([None; 16]) {
            if target.is_some() {
                track.receiver.set_target(target);
            }
            waited = if track.receiver.wants_key_frame().is_some() { waited + 1 } else { 0 };
            let picture = publisher.picture(received.is_empty() || waited > 0 && waited % delay == 0);
            received.extend(track.pass_all(&picture));
        }
        assert_whole_stream(&received);
        let mut decoder = av1::Decoder::default();
        received.iter().for_each(|packet| decoder.take(packet));
        let target = track.receiver.target().expect("a target");
        let spatial = target.spatial.min(mode.spatial_layers() - 1);
        let reached = LayerIndex::new(spatial, target.temporal.min(2));
        prop_assert_eq!(track.receiver.layer(), Some(reached));
        prop_assert_eq!(track.receiver.wants_key_frame(), None);
    }

    #[test]
    fn vp9_can_be_decoded_whatever_is_chosen(
        targets in prop::collection::vec(prop::option::weighted(0.2, layer()), 1..120),
        is_key_svc in any::<bool>(),
        delay in 1..6_u32,
    ) {
        let mode = if is_key_svc { InterLayer::KeyPicture } else { InterLayer::Always };
        let mut track = Track::new(Codec::Vp9, 1);
        let mut publisher = vp9::Publisher::new(Rtp::new(0, 65_000, 1), 3, mode);
        let (mut received, mut waited) = (Vec::new(), 0);
        for target in targets.into_iter().chain([None; 16]) {
            if target.is_some() {
                track.receiver.set_target(target);
            }
            waited = if track.receiver.wants_key_frame().is_some() { waited + 1 } else { 0 };
            let picture = publisher.picture(received.is_empty() || waited > 0 && waited % delay == 0);
            received.extend(track.pass_all(&picture));
        }
        assert_whole_stream(&received);
        let mut decoder = vp9::Decoder::default();
        received.iter().for_each(|packet| decoder.take(packet));
        let target = track.receiver.target().expect("a target");
        let layer = track.receiver.layer().expect("it has begun");
        prop_assert_eq!(layer.spatial, target.spatial.min(2));
        // After 16 pictures all temporal layers have come back; the third has none above it.
        prop_assert!(layer.temporal.min(2) == target.temporal.min(2), "{:?}, {:?}", layer, target);
        prop_assert_eq!(track.receiver.wants_key_frame(), None);
    }

    /// A model of simulcast: the encoding in use changes at key frames of the wanted one alone, and the receiver sees
    /// one stream.
    #[test]
    fn simulcast_is_one_stream(
        targets in prop::collection::vec(prop::option::weighted(0.2, layer()), 1..80),
        delay in 1..5_u32,
    ) {
        let (mut track, mut publishers) = (Track::new(Codec::Vp8, 3), publishers());
        let (mut received, mut waited) = (Vec::<Packet>::new(), 0);
        let mut in_use = None;
        for (place, target) in targets.into_iter().chain([None; 12]).enumerate() {
            if target.is_some() {
                track.receiver.set_target(target);
            }
            let wanted = track.receiver.target().expect("a target").spatial.min(2);
            let asked = track.receiver.wants_key_frame();
            waited = if asked.is_some() { waited + 1 } else { 0 };
            for (encoding, publisher) in (0..).zip(&mut publishers) {
                let is_due = waited > 0 && waited % delay == 0;
                let is_key = place == 0 || is_due && asked == Some(encoding);
                for packet in publisher.frame(is_key, 2) {
                    let Some(out) = track.pass_all(std::slice::from_ref(&packet)).pop() else {
                        prop_assert!(in_use != Some(encoding) || vp8::temporal(&packet) > 0);
                        continue;
                    };
                    if in_use != Some(encoding) {
                        prop_assert!(is_key, "a switch at a frame that is no key frame");
                        prop_assert!(encoding <= wanted || in_use.is_none());
                        in_use = Some(encoding);
                    }
                    received.push(out);
                }
            }
        }
        assert_whole_stream(&received);
        for pair in received.windows(2) {
            let step = pair[1].timestamp.wrapping_sub(pair[0].timestamp);
            prop_assert!(step <= 4 * 2970, "a step of {} ticks", step);
            let ids = vp8::picture_id(&pair[1]).wrapping_sub(vp8::picture_id(&pair[0])) & 0x7fff;
            prop_assert_eq!(ids, u16::from(pair[0].marker));
            let begins = pair[0].marker && vp8::temporal(&pair[1]) == 0;
            let indices = [&pair[1], &pair[0]].map(vp8::base_layer_index);
            prop_assert_eq!(indices[0].wrapping_sub(indices[1]), u8::from(begins));
        }
        let target = track.receiver.target().expect("a target");
        prop_assert_eq!(in_use, Some(target.spatial.min(2)));
        prop_assert_eq!(track.receiver.wants_key_frame(), None);
    }

    #[test]
    fn no_bytes_panic(
        packets in prop::collection::vec(
            (0..3_u8, 0..40_u64, any::<u32>(), prop::collection::vec(any::<u8>(), 0..24),
             prop::option::of(prop::collection::vec(any::<u8>(), 0..64))),
            0..60,
        ),
        encodings in 1..4_u8,
        codec in prop::sample::select(vec![Codec::Vp8, Codec::Vp9, Codec::Av1, Codec::Opus]),
    ) {
        let mut source = Source::new(SourceConfig { codec, encodings });
        let config = ForwarderConfig { codec, encodings, first_sequence: u64::MAX - 3 };
        let mut receiver = Forwarder::new(config);
        for (place, (encoding, sequence, timestamp, payload, descriptor)) in (0..).zip(&packets) {
            let packet = RtpPacket {
                encoding: *encoding,
                sequence: if timestamp % 7 == 0 { u64::MAX - sequence } else { *sequence },
                timestamp: timestamp / (1 << 30),
                marker: timestamp % 2 == 0,
                payload,
                dependency_descriptor: descriptor.as_deref(),
                arrived: Time::from_millis(place * 7),
                captured: None,
                is_repeated: timestamp % 3 == 0,
            };
            if let Ok(info) = source.observe(&packet) {
                receiver.forward(&packet, &info);
            }
        }
        source.layers(Time::from_millis(1));
    }
}
