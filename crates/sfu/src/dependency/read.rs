//! Reading of a descriptor (A.8.2).

use std::sync::Arc;

use super::{
    DecodeTargetIndication, DependencyDescriptor, DependencyStructure, FrameTemplate,
    MAX_DESCRIPTOR_BYTES, MAX_TEMPLATES,
};
use crate::bits::BitReader;
use crate::error::DescriptorError;

/// Highest spatial and temporal layer of a template.
const MAX_SPATIAL_ID: u8 = 3;
const MAX_TEMPORAL_ID: u8 = 7;

/// Bytes of a descriptor without extended fields.
const MANDATORY_BYTES: usize = 3;

impl DependencyDescriptor {
    /// A descriptor of any template: `known` is the structure in use, which a descriptor with custom fields is read
    /// by unless it brings one of its own. Nothing here says that the template exists.
    ///
    /// # Errors
    ///
    /// Any but [`DescriptorError::UnknownTemplate`].
    pub fn decode(
        bytes: &[u8],
        known: Option<&DependencyStructure>,
    ) -> Result<Self, DescriptorError> {
        if bytes.len() > MAX_DESCRIPTOR_BYTES {
            return Err(DescriptorError::TooLong(bytes.len()));
        }
        let reader = &mut BitReader::new(bytes);
        let mut out = Self {
            begins_frame: reader.flag()?,
            ends_frame: reader.flag()?,
            template_id: reader.number(6)? as u8,
            frame_number: reader.number(16)? as u16,
            structure: None,
            active_decode_targets: None,
            custom_indications: None,
            custom_frame_distances: None,
            custom_chain_distances: None,
        };
        if bytes.len() == MANDATORY_BYTES {
            return Ok(out);
        }
        let has_structure = reader.flag()?;
        let has_active_targets = reader.flag()?;
        let has_indications = reader.flag()?;
        let has_frame_distances = reader.flag()?;
        let has_chain_distances = reader.flag()?;
        if has_structure {
            out.structure = Some(Arc::new(DependencyStructure::decode(reader)?));
        }
        let structure = out.structure.as_deref().or(known);
        let known = || structure.ok_or(DescriptorError::NoStructure);
        if has_active_targets {
            out.active_decode_targets = Some(reader.number(known()?.decode_targets.into())?);
        }
        if has_indications {
            out.custom_indications = Some(indications(reader, known()?.decode_targets)?);
        }
        if has_frame_distances {
            let mut distances = Vec::new();
            loop {
                let size = reader.number(2)?;
                if size == 0 {
                    break;
                }
                distances.push(reader.number(4 * size)? as u16 + 1);
            }
            out.custom_frame_distances = Some(distances);
        }
        if has_chain_distances {
            let chains = 0..known()?.chains;
            let distance = |_| reader.number(8).map(|distance| distance as u8);
            out.custom_chain_distances = Some(chains.map(distance).collect::<Result<_, _>>()?);
        }
        Ok(out)
    }
}

fn indications(
    reader: &mut BitReader<'_>,
    decode_targets: u8,
) -> Result<Vec<DecodeTargetIndication>, DescriptorError> {
    let indication = |_| {
        Ok(match reader.number(2)? {
            0 => DecodeTargetIndication::NotPresent,
            1 => DecodeTargetIndication::Discardable,
            2 => DecodeTargetIndication::Switch,
            _ => DecodeTargetIndication::Required,
        })
    };
    (0..decode_targets).map(indication).collect()
}

impl DependencyStructure {
    fn decode(reader: &mut BitReader<'_>) -> Result<Self, DescriptorError> {
        let template_id_offset = reader.number(6)? as u8;
        let decode_targets = reader.number(5)? as u8 + 1;
        let mut templates = layers(reader)?;
        for template in &mut templates {
            template.indications = indications(reader, decode_targets)?;
        }
        for template in &mut templates {
            while reader.flag()? {
                template.frame_distances.push(reader.number(4)? as u16 + 1);
            }
        }
        let chains = reader.below(u32::from(decode_targets) + 1)? as u8;
        let mut protecting_chains = Vec::new();
        if chains > 0 {
            for _ in 0..decode_targets {
                protecting_chains.push(reader.below(chains.into())? as u8);
            }
            for template in &mut templates {
                let distance = |_| reader.number(4).map(|distance| distance as u8);
                template.chain_distances = (0..chains).map(distance).collect::<Result<_, _>>()?;
            }
        }
        let mut resolutions = Vec::new();
        if reader.flag()? {
            let spatial_layers = templates.last().map_or(0, |template| template.spatial) + 1;
            for _ in 0..spatial_layers {
                resolutions.push((reader.number(16)? + 1, reader.number(16)? + 1));
            }
        }
        Ok(Self {
            template_id_offset,
            decode_targets,
            templates,
            chains,
            protecting_chains,
            resolutions,
        })
    }
}

/// Templates with their layers alone (`template_layers`).
fn layers(reader: &mut BitReader<'_>) -> Result<Vec<FrameTemplate>, DescriptorError> {
    let mut templates = Vec::new();
    let (mut spatial, mut temporal) = (0, 0);
    loop {
        if templates.len() == MAX_TEMPLATES {
            return Err(DescriptorError::TooMany { of: "templates", max: MAX_TEMPLATES });
        }
        templates.push(FrameTemplate {
            spatial,
            temporal,
            indications: Vec::new(),
            frame_distances: Vec::new(),
            chain_distances: Vec::new(),
        });
        match reader.number(2)? {
            0 => {}
            1 if temporal < MAX_TEMPORAL_ID => temporal += 1,
            2 if spatial < MAX_SPATIAL_ID => (spatial, temporal) = (spatial + 1, 0),
            1 => {
                let max = usize::from(MAX_TEMPORAL_ID) + 1;
                return Err(DescriptorError::TooMany { of: "temporal layers", max });
            }
            2 => {
                let max = usize::from(MAX_SPATIAL_ID) + 1;
                return Err(DescriptorError::TooMany { of: "spatial layers", max });
            }
            _ => return Ok(templates),
        }
    }
}
