//! VP9 payload descriptor (RFC 9628, section 4.2).

use crate::error::DescriptorError;
use crate::picture::{BaseLayerIndex, PictureId, PictureNumbers};

/// Number of reference pictures that a descriptor may name.
const MAX_REFERENCES: usize = 3;

/// A VP9 payload descriptor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Vp9Descriptor {
    /// The frame is predicted from earlier pictures (P).
    pub is_inter_predicted: bool,
    /// The descriptor names the reference pictures (F, flexible mode).
    pub is_flexible: bool,
    /// The packet begins the frame of a spatial layer (B).
    pub begins_frame: bool,
    /// The packet ends the frame of a spatial layer (E).
    pub ends_frame: bool,
    /// No higher spatial layer of this picture or of later ones depends on the frame (Z).
    pub is_no_reference_for_upper: bool,
    /// Picture id and TL0PICIDX.
    pub numbers: PictureNumbers,
    /// Temporal layer (TID), 0 if the descriptor has no layer indices.
    pub temporal: u8,
    /// Higher temporal layers may begin behind this picture (U).
    pub is_switching_up_point: bool,
    /// Spatial layer (SID), 0 if the descriptor has no layer indices.
    pub spatial: u8,
    /// The frame is predicted from the next lower spatial layer of this picture (D).
    pub is_inter_layer_predicted: bool,
    /// Distances to the reference pictures in picture ids (P_DIFF); at most three, in flexible mode alone.
    pub reference_distances: Vec<u8>,
    /// Scalability structure (V).
    pub structure: Option<ScalabilityStructure>,
    /// Bytes of the descriptor: the frame's follow.
    pub bytes: usize,
}

/// A scalability structure of VP9 (RFC 9628, section 4.2.1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScalabilityStructure {
    /// Number of spatial layers, 1 to 8.
    pub spatial_layers: u8,
    /// Width and height of each spatial layer in pixels; empty if the structure has no sizes.
    pub sizes: Vec<(u16, u16)>,
    /// Pictures of a group, in decoding order; empty if the structure has none.
    pub pictures: Vec<GroupPicture>,
}

/// A picture of a group of pictures.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupPicture {
    /// Temporal layer (TID).
    pub temporal: u8,
    /// Higher temporal layers may begin behind this picture (U).
    pub is_switching_up_point: bool,
    /// Distances to the reference pictures; at most three.
    pub reference_distances: Vec<u8>,
}

/// The bytes of a payload, one after the other.
struct Bytes<'a> {
    payload: &'a [u8],
    at: usize,
}

impl Bytes<'_> {
    fn next(&mut self) -> Result<u8, DescriptorError> {
        let byte = self.payload.get(self.at).copied().ok_or(DescriptorError::Truncated)?;
        self.at += 1;
        Ok(byte)
    }

    fn next_u16(&mut self) -> Result<u16, DescriptorError> {
        Ok(u16::from_be_bytes([self.next()?, self.next()?]))
    }
}

impl Vp9Descriptor {
    /// The descriptor at the beginning of a payload.
    ///
    /// # Errors
    ///
    /// [`DescriptorError::Truncated`], or [`DescriptorError::TooMany`] for more than three reference pictures.
    pub fn parse(payload: &[u8]) -> Result<Self, DescriptorError> {
        let mut bytes = Bytes { payload, at: 0 };
        let flags = bytes.next()?;
        let has = |flag: u8| flags & flag != 0;
        let mut out = Self {
            is_inter_predicted: has(0x40),
            is_flexible: has(0x10),
            begins_frame: has(0x08),
            ends_frame: has(0x04),
            is_no_reference_for_upper: has(0x01),
            numbers: PictureNumbers::default(),
            temporal: 0,
            is_switching_up_point: false,
            spatial: 0,
            is_inter_layer_predicted: false,
            reference_distances: Vec::new(),
            structure: None,
            bytes: 0,
        };
        if has(0x80) {
            let id = PictureId::parse(payload, bytes.at).ok_or(DescriptorError::Truncated)?;
            out.numbers.picture_id = Some(id.0);
            bytes.at += id.1;
        }
        if has(0x20) {
            let layer = bytes.next()?;
            out.temporal = layer >> 5;
            out.is_switching_up_point = layer & 0x10 != 0;
            out.spatial = layer >> 1 & 7;
            out.is_inter_layer_predicted = layer & 1 != 0;
            if !out.is_flexible {
                let at = bytes.at;
                out.numbers.base_layer_index = Some(BaseLayerIndex { at, value: bytes.next()? });
            }
        }
        if out.is_flexible && out.is_inter_predicted {
            loop {
                if out.reference_distances.len() == MAX_REFERENCES {
                    let of = "reference pictures";
                    return Err(DescriptorError::TooMany { of, max: MAX_REFERENCES });
                }
                let reference = bytes.next()?;
                out.reference_distances.push(reference >> 1);
                if reference & 1 == 0 {
                    break;
                }
            }
        }
        if has(0x02) {
            out.structure = Some(ScalabilityStructure::parse(&mut bytes)?);
        }
        out.bytes = bytes.at;
        Ok(out)
    }
}

impl ScalabilityStructure {
    fn parse(bytes: &mut Bytes<'_>) -> Result<Self, DescriptorError> {
        let head = bytes.next()?;
        let spatial_layers = (head >> 5) + 1;
        let mut sizes = Vec::new();
        if head & 0x10 != 0 {
            for _ in 0..spatial_layers {
                sizes.push((bytes.next_u16()?, bytes.next_u16()?));
            }
        }
        let mut pictures = Vec::new();
        if head & 0x08 != 0 {
            for _ in 0..bytes.next()? {
                let picture = bytes.next()?;
                let count = picture >> 2 & 3;
                let reference_distances =
                    (0..count).map(|_| bytes.next()).collect::<Result<Vec<u8>, _>>()?;
                pictures.push(GroupPicture {
                    temporal: picture >> 5,
                    is_switching_up_point: picture & 0x10 != 0,
                    reference_distances,
                });
            }
        }
        Ok(Self { spatial_layers, sizes, pictures })
    }
}
