//! Temporal layers of VP8.

use crate::vp8::Vp8Descriptor;

/// A choice of temporal layers: down at once, up where the descriptor says that it is possible.
#[derive(Default, Debug)]
pub(super) struct TemporalFilter {
    pub(super) temporal: u8,
    timestamp: Option<u32>,
}

impl TemporalFilter {
    /// Looks at a packet in order; `max` is the temporal layer that the receiver is to get.
    pub(super) fn update(&mut self, timestamp: u32, descriptor: &Vp8Descriptor, max: u8) {
        if self.timestamp == Some(timestamp) {
            return;
        }
        self.timestamp = Some(timestamp);
        if descriptor.is_key_frame {
            self.temporal = max;
            return;
        }
        self.temporal = self.temporal.min(max);
        // Y says that the frame depends on the lowest layer alone. One step at a time: frames of the layers that were
        // skipped may depend on earlier ones.
        let is_next = descriptor.temporal == self.temporal + 1;
        if descriptor.is_layer_sync && is_next && descriptor.temporal <= max {
            self.temporal = descriptor.temporal;
        }
    }
}
