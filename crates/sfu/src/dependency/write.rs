//! Writing of a descriptor (A.8.2).

use super::{
    DecodeTargetIndication, DependencyDescriptor, DependencyStructure, MAX_DECODE_TARGETS,
    MAX_DESCRIPTOR_BYTES, MAX_TEMPLATES,
};
use crate::bits::BitWriter;
use crate::error::DescriptorError;

impl DependencyDescriptor {
    /// The descriptor's bytes; `known` is the structure in use, unless the descriptor brings its own.
    ///
    /// # Errors
    ///
    /// [`DescriptorError::Inexpressible`] if a number or a list does not fit into the format,
    /// [`DescriptorError::NoStructure`], or [`DescriptorError::TooLong`].
    pub fn encode(&self, known: Option<&DependencyStructure>) -> Result<Vec<u8>, DescriptorError> {
        let writer = &mut BitWriter::default();
        writer.flag(self.begins_frame);
        writer.flag(self.ends_frame);
        writer.number(self.template_id.into(), 6);
        writer.number(self.frame_number.into(), 16);
        let has_extended_fields = self.structure.is_some()
            || self.active_decode_targets.is_some()
            || self.custom_indications.is_some()
            || self.custom_frame_distances.is_some()
            || self.custom_chain_distances.is_some();
        if has_extended_fields {
            self.encode_extended(known, writer)?;
        }
        let bytes = std::mem::take(writer).finish();
        match bytes.len() > MAX_DESCRIPTOR_BYTES {
            true => Err(DescriptorError::TooLong(bytes.len())),
            false => Ok(bytes),
        }
    }

    fn encode_extended(
        &self,
        known: Option<&DependencyStructure>,
        writer: &mut BitWriter,
    ) -> Result<(), DescriptorError> {
        writer.flag(self.structure.is_some());
        writer.flag(self.active_decode_targets.is_some());
        writer.flag(self.custom_indications.is_some());
        writer.flag(self.custom_frame_distances.is_some());
        writer.flag(self.custom_chain_distances.is_some());
        if let Some(structure) = &self.structure {
            structure.encode(writer)?;
        }
        let structure = self.structure.as_deref().or(known);
        let known = || structure.ok_or(DescriptorError::NoStructure);
        if let Some(targets) = self.active_decode_targets {
            writer.number(targets, known()?.decode_targets.into());
        }
        if let Some(indications) = &self.custom_indications {
            encode_indications(indications, known()?.decode_targets, writer)?;
        }
        for distance in self.custom_frame_distances.iter().flatten() {
            let (bits, rest) = match distance.checked_sub(1) {
                Some(rest @ 0..0x10) => (1, rest),
                Some(rest @ 0x10..0x100) => (2, rest),
                Some(rest @ 0x100..0x1000) => (3, rest),
                _ => return Err(DescriptorError::Inexpressible("a distance to a frame")),
            };
            writer.number(bits, 2);
            writer.number(rest.into(), 4 * bits);
        }
        if self.custom_frame_distances.is_some() {
            writer.number(0, 2);
        }
        if let Some(distances) = &self.custom_chain_distances {
            if distances.len() != usize::from(known()?.chains) {
                return Err(DescriptorError::Inexpressible("distances of chains"));
            }
            distances.iter().for_each(|distance| writer.number((*distance).into(), 8));
        }
        Ok(())
    }
}

fn encode_indications(
    indications: &[DecodeTargetIndication],
    decode_targets: u8,
    writer: &mut BitWriter,
) -> Result<(), DescriptorError> {
    if indications.len() != usize::from(decode_targets) {
        return Err(DescriptorError::Inexpressible("indications"));
    }
    for indication in indications {
        let value = match indication {
            DecodeTargetIndication::NotPresent => 0,
            DecodeTargetIndication::Discardable => 1,
            DecodeTargetIndication::Switch => 2,
            DecodeTargetIndication::Required => 3,
        };
        writer.number(value, 2);
    }
    Ok(())
}

impl DependencyStructure {
    fn encode(&self, writer: &mut BitWriter) -> Result<(), DescriptorError> {
        let targets = usize::from(self.decode_targets);
        let has_counts = (1..=MAX_DECODE_TARGETS).contains(&targets)
            && (1..=MAX_TEMPLATES).contains(&self.templates.len())
            && self.chains <= self.decode_targets
            && self.protecting_chains.len() == if self.chains > 0 { targets } else { 0 }
            && self.protecting_chains.iter().all(|chain| *chain < self.chains);
        if !has_counts {
            return Err(DescriptorError::Inexpressible("numbers of templates, targets or chains"));
        }
        writer.number(self.template_id_offset.into(), 6);
        writer.number(u32::from(self.decode_targets) - 1, 5);
        self.encode_layers(writer)?;
        for template in &self.templates {
            encode_indications(&template.indications, self.decode_targets, writer)?;
        }
        for template in &self.templates {
            for distance in &template.frame_distances {
                if !(1..=16).contains(distance) {
                    return Err(DescriptorError::Inexpressible("a distance to a frame"));
                }
                writer.flag(true);
                writer.number(u32::from(*distance) - 1, 4);
            }
            writer.flag(false);
        }
        writer.below(self.chains.into(), u32::from(self.decode_targets) + 1);
        for chain in &self.protecting_chains {
            writer.below((*chain).into(), self.chains.into());
        }
        for template in &self.templates {
            let distances = &template.chain_distances;
            if distances.len() != usize::from(self.chains) || distances.iter().any(|d| *d > 15) {
                return Err(DescriptorError::Inexpressible("distances of chains"));
            }
            distances.iter().for_each(|distance| writer.number((*distance).into(), 4));
        }
        self.encode_resolutions(writer)
    }

    fn encode_layers(&self, writer: &mut BitWriter) -> Result<(), DescriptorError> {
        let (mut spatial, mut temporal) = (0, 0);
        for (place, template) in self.templates.iter().enumerate() {
            let next = (template.spatial, template.temporal);
            let step = match place {
                0 if next == (0, 0) => continue,
                0 => None,
                _ if next == (spatial, temporal) => Some(0),
                _ if next == (spatial, temporal + 1) && next.1 < 8 => Some(1),
                _ if next == (spatial + 1, 0) && next.0 < 4 => Some(2),
                _ => None,
            };
            writer.number(step.ok_or(DescriptorError::Inexpressible("order of layers"))?, 2);
            (spatial, temporal) = next;
        }
        writer.number(3, 2);
        Ok(())
    }

    fn encode_resolutions(&self, writer: &mut BitWriter) -> Result<(), DescriptorError> {
        writer.flag(!self.resolutions.is_empty());
        let layers = self.templates.last().map_or(0, |template| template.spatial) + 1;
        let fits = |side: u32| (1..=0x10000).contains(&side);
        if !self.resolutions.is_empty()
            && (self.resolutions.len() != usize::from(layers)
                || self.resolutions.iter().any(|(width, height)| !fits(*width) || !fits(*height)))
        {
            return Err(DescriptorError::Inexpressible("resolutions"));
        }
        for (width, height) in &self.resolutions {
            writer.number(width - 1, 16);
            writer.number(height - 1, 16);
        }
        Ok(())
    }
}
