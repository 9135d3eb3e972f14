//! What of a stream is forwarded, from which packet on.

use std::collections::VecDeque;

use crate::dependency::DecodeTargetIndication;
use crate::info::{Descriptor, PacketInfo};
use crate::layer::LayerIndex;

/// Number of limits that are remembered for packets that come late.
const MAX_LIMITS: usize = 32;

/// A limit of what is forwarded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Limit {
    /// All packets.
    Whole,
    /// Temporal layers up to this one.
    Temporal(u8),
    /// Spatial and temporal layers of VP9 up to these.
    Layers {
        /// Highest spatial layer and highest temporal layer.
        layer: LayerIndex,
        /// Highest spatial layer that the picture will have.
        top: u8,
    },
    /// A decode target.
    Target {
        /// Index of the target.
        target: usize,
        /// Decode targets that the receiver is told of, if it must be.
        active: Option<u32>,
    },
}

impl Limit {
    /// The packet is forwarded.
    pub(super) fn admits(self, info: &PacketInfo) -> bool {
        match (self, &info.descriptor) {
            (Self::Temporal(temporal), _) => info.layer.temporal <= temporal,
            (Self::Layers { layer, .. }, Descriptor::Vp9(vp9)) => {
                // A lower layer that no higher one depends on is of no use to this receiver; of K-SVC these are all
                // frames but the key picture's.
                let is_needed = vp9.spatial == layer.spatial || !vp9.is_no_reference_for_upper;
                vp9.spatial <= layer.spatial && info.layer.temporal <= layer.temporal && is_needed
            }
            (Self::Target { target, .. }, Descriptor::Dependency(frame)) => {
                frame.indication(target) != DecodeTargetIndication::NotPresent
            }
            _ => true,
        }
    }

    /// The packet is the last that is forwarded of its picture.
    pub(super) fn ends_picture(self, info: &PacketInfo) -> bool {
        info.ends_frame
            && match (self, &info.descriptor) {
                (Self::Layers { top, .. }, Descriptor::Vp9(vp9)) => vp9.spatial == top,
                (Self::Target { target, .. }, Descriptor::Dependency(frame)) => {
                    let of_frame = frame.structure.targets.get(target);
                    of_frame.is_some_and(|target| target.spatial == frame.spatial)
                }
                _ => false,
            }
    }
}

/// The limits of the last time, by the sequence number of the first packet of each.
#[derive(Default, Debug)]
pub(super) struct LimitHistory(VecDeque<(u64, Limit)>);

impl LimitHistory {
    /// Notes a limit that holds from a packet on.
    pub(super) fn push(&mut self, from: u64, limit: Limit) {
        if self.0.back().is_some_and(|(_, last)| *last == limit) {
            return;
        }
        if self.0.len() == MAX_LIMITS {
            self.0.pop_front();
        }
        self.0.push_back((from, limit));
    }

    /// The limit that held at a packet, if it is remembered.
    pub(super) fn at(&self, sequence: u64) -> Option<Limit> {
        let place = self.0.partition_point(|(from, _)| *from <= sequence).checked_sub(1)?;
        self.0.get(place).map(|(_, limit)| *limit)
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.0.capacity() * size_of::<(u64, Limit)>()
    }
}
