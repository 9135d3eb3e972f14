//! Descriptors of RTP packets, and what an SFU forwards of them (`crates/sfu`).

use std::collections::BTreeMap;
use std::sync::Arc;

use airlane_base::Time;
use airlane_sfu::{
    Codec, DecodeTargetIndication, DependencyDescriptor, DependencyStructure, Forwarder,
    ForwarderConfig, FrameTemplate, LayerIndex, RtpPacket, Source, SourceConfig,
};

/// Bytes that a forwarder and a source may hold, whatever they are sent.
const MAX_FORWARDER_BYTES: usize = 24 << 10;
const MAX_SOURCE_BYTES: usize = 96 << 10;

/// Bytes of a packet's head in an input: flags, step of the sequence number, time, target, and the lengths of
/// descriptor and payload.
const HEAD_BYTES: usize = 6;

/// Any bytes as a descriptor, which is the same after it was written; and as packets of a track. A packet that is
/// forwarded twice has one number, numbers are in the order of the packets', and what is held is bounded.
pub fn rtp(data: &[u8]) {
    descriptor(data);
    let Some((first, rest)) = data.split_first() else { return };
    packets(*first, rest);
}

fn descriptor(data: &[u8]) {
    let known = structure(0);
    if let Ok(read) = DependencyDescriptor::decode(data, Some(&known)) {
        let written = read.encode(Some(&known)).expect("what was read can be written");
        assert_eq!(DependencyDescriptor::decode(&written, Some(&known)), Ok(read));
    }
}

fn packets(first: u8, mut rest: &[u8]) {
    let codec = [Codec::Vp8, Codec::Vp9, Codec::Av1, Codec::Opus][usize::from(first & 3)];
    let encodings = (first >> 2 & 3) + 1;
    let mut source = Source::new(SourceConfig { codec, encodings });
    let mut receiver = Forwarder::new(ForwarderConfig { codec, encodings, first_sequence: 9 });
    let mut sequences = [1_u64 << 16; 4];
    let (mut now, mut timestamp) = (Time::ZERO, 0_u32);
    let mut images = BTreeMap::<u8, BTreeMap<u64, u64>>::new();
    while let Some((head, tail)) = rest.split_first_chunk::<HEAD_BYTES>() {
        let [flags, step, time, target, descriptor_bytes, payload_bytes] = *head;
        let (descriptor, tail) = tail.split_at(tail.len().min(descriptor_bytes.into()));
        let (payload, tail) = tail.split_at(tail.len().min(payload_bytes.into()));
        rest = tail;
        let encoding = flags & 3;
        // Mostly the next one, then an earlier one, or one behind a gap of any size.
        let sequence = &mut sequences[usize::from(encoding)];
        let packet_sequence = match step {
            0..0x80 => *sequence + 1,
            0x80..0xe0 => sequence.saturating_sub(u64::from(step - 0x80)),
            _ => *sequence + (1 << (step & 0x1f)),
        };
        *sequence = packet_sequence.max(*sequence);
        now = Time::from_nanos(now.as_nanos() + u64::from(time) * 1_000_000);
        timestamp = timestamp.wrapping_add(u32::from(time & 0xf8) << (time & 7));
        if target & 0x80 != 0 {
            let layer = LayerIndex::new(target & 3, target >> 2 & 3);
            receiver.set_target((target & 0x40 == 0).then_some(layer));
        }
        let packet = RtpPacket {
            encoding,
            sequence: packet_sequence,
            timestamp,
            marker: flags & 4 != 0,
            payload,
            dependency_descriptor: (flags & 8 != 0).then_some(descriptor),
            arrived: now,
            captured: (flags & 16 != 0).then_some(now),
            is_repeated: step >= 0x80,
        };
        let Ok(info) = source.observe(&packet) else { continue };
        if let Some(out) = receiver.forward(&packet, &info) {
            assert_eq!(out.payload.len(), payload.len());
            let of_encoding = images.entry(encoding).or_default();
            assert_eq!(*of_encoding.entry(packet_sequence).or_insert(out.sequence), out.sequence);
        }
    }
    for of_encoding in images.values() {
        assert!(of_encoding.values().is_sorted_by(|a, b| a < b), "{of_encoding:?}");
    }
    assert!(receiver.state_bytes() <= MAX_FORWARDER_BYTES, "{}", receiver.state_bytes());
    assert!(source.state_bytes() <= MAX_SOURCE_BYTES, "{}", source.state_bytes());
    receiver.set_bitrate(airlane_base::Rate::from_mbps(1.0), &source.layers(now));
}

/// Two spatial layers, the upper one predicted from the lower one in key pictures alone.
fn structure(template_id_offset: u8) -> DependencyStructure {
    use DecodeTargetIndication::{NotPresent, Switch};
    let template = |spatial, indications: [DecodeTargetIndication; 2], distances: &[u16]| {
        let (indications, frame_distances) = (indications.to_vec(), distances.to_vec());
        let chain_distances = vec![1, 1];
        FrameTemplate { spatial, temporal: 0, indications, frame_distances, chain_distances }
    };
    DependencyStructure {
        template_id_offset,
        decode_targets: 2,
        templates: vec![
            template(0, [Switch, Switch], &[]),
            template(0, [Switch, NotPresent], &[2]),
            template(1, [NotPresent, Switch], &[1]),
            template(1, [NotPresent, Switch], &[2]),
        ],
        chains: 2,
        protecting_chains: vec![0, 1],
        resolutions: vec![(320, 180), (640, 360)],
    }
}

/// A packet as an input has it.
fn packet(flags: u8, target: u8, descriptor: &[u8], payload: &[u8]) -> Vec<u8> {
    let lengths = [descriptor.len() as u8, payload.len() as u8];
    [&[flags, 0, 33, target], &lengths[..], descriptor, payload].concat()
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let vp8 = |id: u8, layer: u8, is_inter: u8| {
        packet(4, 0x8b, &[], &[0x90, 0xe0, 0x81, id, 7, layer, is_inter, 1])
    };
    let vp9 = |flags: u8, id: u8, layer: u8, tail: &[u8]| {
        packet(4, 0x8b, &[], &[&[flags, 0x81, id, layer], tail].concat())
    };
    let av1 = |template_id: u8, frame_number: u16, active: Option<u32>| {
        let descriptor = DependencyDescriptor {
            begins_frame: true,
            ends_frame: true,
            template_id,
            frame_number,
            structure: (template_id == 0).then(|| Arc::new(structure(0))),
            active_decode_targets: active,
            custom_indications: None,
            custom_frame_distances: (template_id == 3).then(|| vec![2, 300]),
            custom_chain_distances: None,
        };
        descriptor.encode(Some(&structure(0))).expect("a valid descriptor")
    };
    let av1_packet = |id, number| packet(8, 0x8d, &av1(id, number, None), &[0x10, 1]);
    let vp8_track = [vp8(1, 0, 0), vp8(2, 0xa0, 1), vp8(3, 0x60, 1), vp8(4, 0, 1)].concat();
    let simulcast = [vp8(1, 0, 0), packet(1, 0, &[], &[0x90, 0xe0, 0x82, 9, 1, 0, 0, 1])].concat();
    let vp9_track = [
        vp9(0xbe, 1, 0x10, &[0x30, 1, 0x40, 0, 0xb4, 2, 0x80, 1, 0x68, 5]),
        vp9(0xbd, 1, 0x13, &[6]),
        vp9(0xfd, 2, 0x30, &[2, 7]),
        vp9(0xfd, 2, 0x32, &[2, 8]),
    ];
    let av1_track = [av1_packet(0, 7), av1_packet(2, 8), av1_packet(1, 9), av1_packet(3, 10)];
    vec![
        [&[0], &vp8_track[..]].concat(),
        [&[4], &simulcast[..]].concat(),
        [&[1], &vp9_track.concat()[..]].concat(),
        [&[2], &av1_track.concat()[..]].concat(),
        av1(0, 1, Some(1)),
    ]
}
