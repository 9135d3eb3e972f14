//! A publisher of VP8 with temporal layers.

use super::{Packet, Rtp, TEMPORAL_PATTERN};

/// A frame of a publisher.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) is_key: bool,
    pub(crate) temporal: u8,
    pub(crate) is_layer_sync: bool,
    pub(crate) picture_id: u16,
    pub(crate) base_layer_index: u8,
}

/// Payload of a packet of a frame (RFC 7741, figures 1 and 2): X, picture id of 15 bits, TL0PICIDX, TID and Y.
pub(crate) fn payload(frame: Frame, part: u8) -> Vec<u8> {
    let id = frame.picture_id & 0x7fff;
    vec![
        if part == 0 { 0x90 } else { 0x80 },
        0xe0,
        0x80 | (id >> 8) as u8,
        id as u8,
        frame.base_layer_index,
        frame.temporal << 6 | u8::from(frame.is_layer_sync) << 5,
        u8::from(!frame.is_key),
        part,
        0x55,
    ]
}

/// A publisher of VP8 in three temporal layers.
#[derive(Clone, Debug)]
pub(crate) struct Publisher {
    pub(crate) rtp: Rtp,
    pub(crate) picture_id: u16,
    pub(crate) base_layer_index: u8,
    place: usize,
}

impl Publisher {
    pub(crate) fn new(rtp: Rtp, picture_id: u16, base_layer_index: u8) -> Self {
        Self { rtp, picture_id, base_layer_index, place: 0 }
    }

    /// The next frame in so many packets.
    pub(crate) fn frame(&mut self, is_key: bool, packets: u8) -> Vec<Packet> {
        if is_key {
            self.place = 0;
        }
        let temporal = TEMPORAL_PATTERN[self.place % 4];
        if temporal == 0 {
            self.base_layer_index = self.base_layer_index.wrapping_add(1);
        }
        let frame = Frame {
            is_key,
            temporal,
            // The second frame of the highest layer depends on the middle one.
            is_layer_sync: matches!(self.place % 4, 1 | 2),
            picture_id: self.picture_id,
            base_layer_index: self.base_layer_index,
        };
        let part = |part| self.rtp.packet(part + 1 == packets, payload(frame, part));
        let out = (0..packets).map(part).collect();
        self.place += 1;
        self.picture_id = self.picture_id.wrapping_add(1) & 0x7fff;
        self.rtp.next_picture();
        out
    }

    /// A key frame and the frames after it, of two packets each.
    pub(crate) fn frames(&mut self, count: usize) -> Vec<Packet> {
        (0..count).flat_map(|place| self.frame(place == 0, 2)).collect()
    }
}

/// Picture id of a packet as its publisher writes it.
pub(crate) fn picture_id(packet: &Packet) -> u16 {
    u16::from_be_bytes([packet.payload[2] & 0x7f, packet.payload[3]])
}

/// TL0PICIDX of a packet.
pub(crate) fn base_layer_index(packet: &Packet) -> u8 {
    packet.payload[4]
}

/// Temporal layer of a packet.
pub(crate) fn temporal(packet: &Packet) -> u8 {
    packet.payload[5] >> 6
}
