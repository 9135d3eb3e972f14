//! Spatial and temporal layers of VP9.

use crate::layer::LayerIndex;
use crate::vp9::Vp9Descriptor;

/// A choice of the layers of VP9.
#[derive(Default, Debug)]
pub(super) struct Vp9Filter {
    pub(super) layer: LayerIndex,
    /// Highest spatial layer that the picture will have.
    pub(super) top: u8,
    /// Spatial layers of which frames were left out since the last key picture, the lowest bit the first: they
    /// cannot be gone back to.
    left_out: u8,
    timestamp: Option<u32>,
    /// The wanted spatial layer can be reached by a key picture alone.
    pub(super) awaits_key_frame: bool,
}

impl Vp9Filter {
    /// Looks at a packet in order; `want` is the layer that the receiver is to get.
    pub(super) fn update(&mut self, timestamp: u32, packet: &Vp9Descriptor, want: LayerIndex) {
        let LayerIndex { spatial, temporal } = LayerIndex::new(packet.spatial, packet.temporal);
        if self.timestamp != Some(timestamp) {
            self.timestamp = Some(timestamp);
            match !packet.is_inter_predicted && spatial == 0 {
                true => self.begin_key_picture(want),
                false => self.begin_picture(packet, temporal, want),
            }
        }
        // A frame of a higher layer that depends on nothing but the layer below it in this picture.
        let is_entry = packet.begins_frame
            && !packet.is_inter_predicted
            && (!packet.is_inter_layer_predicted || spatial == self.layer.spatial + 1);
        let is_wanted = spatial > self.layer.spatial && spatial <= want.spatial;
        if is_entry && is_wanted && temporal <= self.layer.temporal {
            self.layer.spatial = spatial;
            self.top = self.top.max(spatial);
        }
    }

    /// Notes a frame that is not forwarded.
    pub(super) fn leave_out(&mut self, packet: &Vp9Descriptor) {
        if packet.spatial < self.layer.spatial {
            self.left_out |= 1 << packet.spatial;
        }
    }

    fn begin_key_picture(&mut self, want: LayerIndex) {
        // Higher layers are entered as their frames come.
        self.layer = LayerIndex { spatial: 0, temporal: want.temporal };
        self.top = want.spatial;
        self.left_out = 0;
        self.awaits_key_frame = false;
    }

    fn begin_picture(&mut self, packet: &Vp9Descriptor, temporal: u8, want: LayerIndex) {
        if want.spatial < self.layer.spatial && self.left_out >> want.spatial & 1 == 0 {
            self.layer.spatial = want.spatial;
        }
        self.top = self.layer.spatial;
        self.awaits_key_frame = self.layer.spatial != want.spatial;
        // Until a key picture makes the lower spatial layer possible, fewer frames are what can be saved.
        let max = if self.layer.spatial > want.spatial { 0 } else { want.temporal };
        self.layer.temporal = self.layer.temporal.min(max);
        if !packet.is_switching_up_point {
            return;
        }
        if temporal <= self.layer.temporal {
            // No later picture of a higher layer depends on one before this (RFC 9628, section 4.2, U).
            self.layer.temporal = max;
        } else if packet.is_flexible && temporal == self.layer.temporal + 1 && temporal <= max {
            // Encoders in flexible mode set U on pictures that depend on lower temporal layers alone.
            self.layer.temporal = temporal;
        }
    }
}
