//! AV1 dependency descriptor (RTP Payload Format For AV1, appendix A).

mod read;
mod structure;
mod write;

use std::sync::Arc;

pub use structure::{DecodeTarget, DependencyStructure, FrameTemplate};

use crate::error::DescriptorError;

/// Bytes of the longest descriptor: those of the data of a header extension (RFC 8285, section 4.3).
pub const MAX_DESCRIPTOR_BYTES: usize = 255;

/// Number of templates of a structure.
pub const MAX_TEMPLATES: usize = 64;

/// Number of decode targets of a structure.
pub const MAX_DECODE_TARGETS: usize = 32;

/// Relation of a frame to a decode target (A.8.3, table A.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecodeTargetIndication {
    /// The frame is not part of the target.
    NotPresent,
    /// The frame is part of the target, and no other frame of the target depends on it.
    Discardable,
    /// If the frame can be decoded, so can all later frames of the target.
    Switch,
    /// The frame is part of the target, and others may depend on it.
    Required,
}

/// A dependency descriptor: which frame a packet belongs to, and what the frame depends on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DependencyDescriptor {
    /// The packet is the first of its frame.
    pub begins_frame: bool,
    /// The packet is the last of its frame.
    pub ends_frame: bool,
    /// Number of the frame's template, 0 to 63, counted from the structure's offset.
    pub template_id: u8,
    /// Number of the frame in decoding order.
    pub frame_number: u16,
    /// Structure that holds from this frame on: in the first packet of a coded video sequence.
    pub structure: Option<Arc<DependencyStructure>>,
    /// Decode targets that can be decoded from this packet on, the lowest bit the first; unchanged if there are
    /// none.
    pub active_decode_targets: Option<u32>,
    /// Indications that differ from the template's, one for each decode target.
    pub custom_indications: Option<Vec<DecodeTargetIndication>>,
    /// Distances to referred frames that differ from the template's, each 1 to 4096.
    pub custom_frame_distances: Option<Vec<u16>>,
    /// Distances to the last frame of each chain that differ from the template's.
    pub custom_chain_distances: Option<Vec<u8>>,
}

impl DependencyDescriptor {
    /// Template of the frame.
    ///
    /// # Errors
    ///
    /// [`DescriptorError::UnknownTemplate`].
    pub fn template<'a>(
        &self,
        structure: &'a DependencyStructure,
    ) -> Result<&'a FrameTemplate, DescriptorError> {
        let place = self.template_id.wrapping_sub(structure.template_id_offset) & 0x3f;
        let template = structure.templates.get(usize::from(place));
        template.ok_or(DescriptorError::UnknownTemplate(self.template_id))
    }

    /// Indications of the frame, one for each decode target.
    ///
    /// # Errors
    ///
    /// [`DescriptorError::UnknownTemplate`].
    pub fn indications<'a>(
        &'a self,
        structure: &'a DependencyStructure,
    ) -> Result<&'a [DecodeTargetIndication], DescriptorError> {
        let template = self.template(structure)?;
        Ok(self.custom_indications.as_ref().unwrap_or(&template.indications))
    }

    /// Distances to the frames that this one refers to.
    ///
    /// # Errors
    ///
    /// [`DescriptorError::UnknownTemplate`].
    pub fn frame_distances<'a>(
        &'a self,
        structure: &'a DependencyStructure,
    ) -> Result<&'a [u16], DescriptorError> {
        let template = self.template(structure)?;
        Ok(self.custom_frame_distances.as_ref().unwrap_or(&template.frame_distances))
    }
}
