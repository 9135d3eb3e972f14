//! Facts that a source finds out about a packet.

use std::sync::Arc;

use crate::dependency::{
    DecodeTarget, DecodeTargetIndication, DependencyDescriptor, DependencyStructure,
};
use crate::layer::LayerIndex;
use crate::picture::PictureNumbers;
use crate::vp8::Vp8Descriptor;
use crate::vp9::Vp9Descriptor;

/// Facts about a packet that a forwarder decides by, and that a PDU Set is marked by.
#[derive(Clone, Debug)]
pub struct PacketInfo {
    /// Layer of the packet's frame; with simulcast the spatial layer is the encoding.
    pub layer: LayerIndex,
    /// The frame depends on no earlier picture. VP8 tells it in the first packet of a frame alone.
    pub is_key_frame: bool,
    /// The packet is the first of its frame (of a spatial layer's frame, if a picture has several).
    pub begins_frame: bool,
    /// The packet is the last of its frame.
    pub ends_frame: bool,
    /// No other frame depends on this one. VP9 does not tell: there it is a frame of the highest of several temporal
    /// layers.
    pub is_discardable: bool,
    /// Spatial layers, or encodings, that the source sends at the moment, the lowest bit the first.
    pub(crate) spatial_layers: u8,
    pub(crate) descriptor: Descriptor,
}

/// The codec's own description of a packet.
#[derive(Clone, Debug)]
pub(crate) enum Descriptor {
    Whole,
    Vp8(Vp8Descriptor),
    Vp9(Vp9Descriptor),
    Dependency(DescribedFrame),
}

/// A template structure with what follows from it.
#[derive(Debug)]
pub(crate) struct DescribedStructure {
    pub(crate) structure: Arc<DependencyStructure>,
    pub(crate) targets: Vec<DecodeTarget>,
}

impl DescribedStructure {
    pub(crate) fn heap_bytes(&self) -> usize {
        let targets = self.targets.capacity() * size_of::<DecodeTarget>();
        size_of::<Self>() + targets + self.structure.heap_bytes()
    }
}

/// Frame of a packet with a dependency descriptor, and the structure that describes it.
#[derive(Clone, Debug)]
pub(crate) struct DescribedFrame {
    pub(crate) descriptor: DependencyDescriptor,
    pub(crate) structure: Arc<DescribedStructure>,
    pub(crate) spatial: u8,
    pub(crate) temporal: u8,
    /// Decode targets that the source makes.
    pub(crate) active: u32,
}

impl DescribedFrame {
    pub(crate) fn indication(&self, target: usize) -> DecodeTargetIndication {
        let indications = self.descriptor.indications(&self.structure.structure);
        let indication = indications.ok().and_then(|all| all.get(target));
        indication.copied().unwrap_or(DecodeTargetIndication::NotPresent)
    }

    pub(crate) fn frame_distances(&self) -> &[u16] {
        self.descriptor.frame_distances(&self.structure.structure).unwrap_or_default()
    }

    /// The best active decode target that is no higher than a layer, or else the lowest.
    pub(crate) fn target_for(&self, layer: LayerIndex) -> usize {
        let targets = self.structure.targets.iter().enumerate();
        let active = targets.filter(|(place, _)| self.active >> place & 1 == 1);
        let order = |target: &DecodeTarget| (target.spatial, target.temporal);
        let fits = |target: &DecodeTarget| {
            target.spatial <= layer.spatial
                && (target.temporal <= layer.temporal
                    || layer.temporal == LayerIndex::HIGHEST.temporal)
        };
        let best = active.clone().filter(|(_, t)| fits(t)).max_by_key(|(_, t)| order(t));
        let found = best.or_else(|| active.min_by_key(|(_, t)| order(t)));
        found.map_or(0, |(place, _)| place)
    }
}

impl PacketInfo {
    /// A receiver of a layer gets the packet. A frame that only lower layers depend on is no part of a higher one.
    pub fn is_part_of(&self, layer: LayerIndex) -> bool {
        let is_below = self.layer.spatial <= layer.spatial && self.layer.temporal <= layer.temporal;
        match &self.descriptor {
            Descriptor::Whole => true,
            Descriptor::Vp8(_) => self.layer.spatial == layer.spatial && is_below,
            Descriptor::Vp9(vp9) => {
                is_below && (self.layer.spatial == layer.spatial || !vp9.is_no_reference_for_upper)
            }
            Descriptor::Dependency(frame) => {
                let mut targets = frame.structure.targets.iter();
                let of_layer = |target: &DecodeTarget| {
                    LayerIndex::new(target.spatial, target.temporal) == layer
                };
                match targets.position(of_layer) {
                    Some(target) => frame.indication(target) != DecodeTargetIndication::NotPresent,
                    None => is_below,
                }
            }
        }
    }

    /// Picture numbers of the payload descriptor; none of codecs without them.
    pub(crate) fn picture_numbers(&self) -> PictureNumbers {
        match &self.descriptor {
            Descriptor::Vp8(vp8) => vp8.numbers,
            Descriptor::Vp9(vp9) => vp9.numbers,
            Descriptor::Whole | Descriptor::Dependency(_) => PictureNumbers::default(),
        }
    }

    /// A receiver may begin with the packet: the first one of a key frame of the lowest spatial layer.
    pub(crate) fn begins_sequence(&self) -> bool {
        self.is_key_frame
            && match &self.descriptor {
                Descriptor::Whole => true,
                Descriptor::Vp8(_) => self.begins_frame,
                Descriptor::Vp9(vp9) => self.begins_frame && vp9.spatial == 0,
                Descriptor::Dependency(frame) => frame.descriptor.structure.is_some(),
            }
    }
}
