//! The template structure of a coded video sequence.

use super::DecodeTargetIndication;

/// A template that frames name instead of saying again what they depend on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrameTemplate {
    /// Spatial layer, 0 to 3.
    pub spatial: u8,
    /// Temporal layer, 0 to 7.
    pub temporal: u8,
    /// Indications, one for each decode target.
    pub indications: Vec<DecodeTargetIndication>,
    /// Distances to referred frames in frame numbers, each 1 to 16.
    pub frame_distances: Vec<u16>,
    /// Distances to the last frame of each chain, each 0 to 15; 0 begins the chain.
    pub chain_distances: Vec<u8>,
}

/// A template structure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DependencyStructure {
    /// Number of the first template.
    pub template_id_offset: u8,
    /// Number of decode targets, 1 to 32.
    pub decode_targets: u8,
    /// Templates, 1 to 64, ordered by layer.
    pub templates: Vec<FrameTemplate>,
    /// Number of chains, at most that of the decode targets.
    pub chains: u8,
    /// Chain that protects each decode target; empty without chains.
    pub protecting_chains: Vec<u8>,
    /// Greatest width and height of each spatial layer in pixels; empty if the structure has none.
    pub resolutions: Vec<(u32, u32)>,
}

/// A decode target: frames that are decoded together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DecodeTarget {
    /// Highest spatial layer among its frames.
    pub spatial: u8,
    /// Highest temporal layer among its frames.
    pub temporal: u8,
    /// Templates whose frames belong to the target, the lowest bit the first.
    pub templates: u64,
}

impl DecodeTarget {
    /// Every frame of this target is one of the other, too.
    pub const fn is_part_of(self, other: Self) -> bool {
        self.templates & !other.templates == 0
    }
}

impl DependencyStructure {
    pub(crate) fn heap_bytes(&self) -> usize {
        let template = |template: &FrameTemplate| {
            size_of::<FrameTemplate>()
                + template.indications.capacity()
                + template.frame_distances.capacity() * size_of::<u16>()
                + template.chain_distances.capacity()
        };
        size_of::<Self>()
            + self.templates.iter().map(template).sum::<usize>()
            + self.protecting_chains.capacity()
            + self.resolutions.capacity() * size_of::<(u32, u32)>()
    }

    /// All decode targets as a mask, the lowest bit the first.
    pub fn all_targets(&self) -> u32 {
        u32::MAX >> (32 - u32::from(self.decode_targets.clamp(1, 32)))
    }

    /// Decode targets in their order (A.8.2, `decode_target_layers`).
    pub fn targets(&self) -> Vec<DecodeTarget> {
        let target = |index: usize| {
            let mut target = DecodeTarget { spatial: 0, temporal: 0, templates: 0 };
            for (place, template) in self.templates.iter().enumerate() {
                let indication = template.indications.get(index);
                if indication.is_some_and(|i| *i != DecodeTargetIndication::NotPresent) {
                    target.spatial = target.spatial.max(template.spatial);
                    target.temporal = target.temporal.max(template.temporal);
                    target.templates |= 1_u64.checked_shl(place as u32).unwrap_or(0);
                }
            }
            target
        };
        (0..usize::from(self.decode_targets)).map(target).collect()
    }
}
