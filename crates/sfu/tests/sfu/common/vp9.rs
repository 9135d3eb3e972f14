//! A publisher of VP9 in spatial and temporal layers, in flexible mode as browsers send it.

use std::collections::BTreeSet;

use airlane_sfu::Vp9Descriptor;

use super::{Packet, Rtp, TEMPORAL_PATTERN};

/// Prediction between spatial layers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InterLayer {
    /// In every picture (L3T3).
    Always,
    /// In key pictures (L3T3_KEY).
    KeyPicture,
}

/// A publisher of VP9.
#[derive(Clone, Debug)]
pub(crate) struct Publisher {
    pub(crate) rtp: Rtp,
    /// Spatial layers that are encoded now.
    pub(crate) spatial_layers: u8,
    /// Spatial layers that were negotiated: those below the highest are kept as references.
    max_spatial_layers: u8,
    pub(crate) inter_layer: InterLayer,
    pub(crate) picture_id: u16,
    place: usize,
}

impl Publisher {
    pub(crate) fn new(rtp: Rtp, spatial_layers: u8, inter_layer: InterLayer) -> Self {
        Self {
            rtp,
            spatial_layers,
            max_spatial_layers: spatial_layers,
            inter_layer,
            picture_id: 32_700,
            place: 0,
        }
    }

    /// The next picture, two packets for each spatial layer.
    pub(crate) fn picture(&mut self, is_key: bool) -> Vec<Packet> {
        if is_key {
            self.place = 0;
        }
        let place = self.place % 4;
        let mut out = Vec::new();
        for spatial in 0..self.spatial_layers {
            let is_top = spatial + 1 == self.spatial_layers;
            for part in 0..2 {
                let payload = self.payload(is_key, spatial, place, part);
                out.push(self.rtp.packet(is_top && part == 1, payload));
            }
        }
        self.place += 1;
        self.picture_id = self.picture_id.wrapping_add(1) & 0x7fff;
        self.rtp.next_picture();
        out
    }

    /// A key picture and the pictures after it.
    pub(crate) fn pictures(&mut self, count: usize) -> Vec<Packet> {
        (0..count).flat_map(|place| self.picture(place == 0)).collect()
    }

    /// Payload of a packet (RFC 9628, figure 2).
    fn payload(&self, is_key: bool, spatial: u8, place: usize, part: u8) -> Vec<u8> {
        let has_inter_layer = is_key || self.inter_layer == InterLayer::Always;
        let is_top = spatial + 1 == self.max_spatial_layers;
        let has_structure = is_key && spatial == 0 && part == 0;
        let mut flags = 0x80 | 0x20 | 0x10;
        flags |= if is_key { 0 } else { 0x40 };
        flags |= if part == 0 { 0x08 } else { 0x04 };
        flags |= if has_structure { 0x02 } else { 0 };
        flags |= u8::from(!has_inter_layer || is_top);
        let [high, low] = self.picture_id.to_be_bytes();
        // Pictures of higher temporal layers refer to lower ones alone.
        let is_up_switch = is_key || TEMPORAL_PATTERN[place] > 0;
        let layer = TEMPORAL_PATTERN[place] << 5
            | u8::from(is_up_switch) << 4
            | spatial << 1
            | u8::from(has_inter_layer && spatial > 0);
        let mut out = vec![flags, 0x80 | high, low, layer];
        if !is_key {
            // T0 refers to the T0 before, the first T2 and T1 to T0, the second T2 to T1.
            out.push([4, 1, 2, 1][place] << 1);
        }
        if has_structure {
            out.push((self.spatial_layers - 1) << 5 | 0x10);
            for layer in 0..self.spatial_layers {
                let width = 320_u16 << layer;
                out.extend(width.to_be_bytes());
                out.extend((width / 16 * 9).to_be_bytes());
            }
        }
        out.extend([0xaa, spatial, part]);
        out
    }
}

/// A decoder, as far as references go.
#[derive(Default)]
pub(crate) struct Decoder {
    frames: BTreeSet<(u16, u8)>,
    /// Spatial and temporal layer of the frames, in their order.
    pub(crate) layers: Vec<(u8, u8)>,
}

impl Decoder {
    /// Takes a packet in order. Panics if a frame depends on one that did not come.
    pub(crate) fn take(&mut self, packet: &Packet) {
        let descriptor = Vp9Descriptor::parse(&packet.payload).expect("a descriptor");
        if !descriptor.begins_frame {
            return;
        }
        let id = descriptor.numbers.picture_id.expect("a picture id").value;
        for distance in &descriptor.reference_distances {
            let referred = (id.wrapping_sub(u16::from(*distance)) & 0x7fff, descriptor.spatial);
            assert!(self.frames.contains(&referred), "{referred:?} did not come: {descriptor:?}");
        }
        if descriptor.is_inter_layer_predicted {
            let referred = (id, descriptor.spatial - 1);
            assert!(self.frames.contains(&referred), "{referred:?} did not come: {descriptor:?}");
        }
        self.frames.insert((id, descriptor.spatial));
        self.layers.push((descriptor.spatial, descriptor.temporal));
    }
}
