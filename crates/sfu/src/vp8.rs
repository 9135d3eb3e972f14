//! VP8 payload descriptor (RFC 7741, section 4.2).

use crate::error::DescriptorError;
use crate::picture::{BaseLayerIndex, PictureId, PictureNumbers};

/// A VP8 payload descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Vp8Descriptor {
    /// The frame is referred to by no other (N).
    pub is_discardable: bool,
    /// The packet begins the frame: S, and partition 0.
    pub begins_frame: bool,
    /// The frame is a key frame; known in its first packet alone, by P of the frame's header.
    pub is_key_frame: bool,
    /// Picture id and TL0PICIDX.
    pub numbers: PictureNumbers,
    /// Temporal layer (TID), 0 if the descriptor has none.
    pub temporal: u8,
    /// The frame depends on the lowest temporal layer alone (Y).
    pub is_layer_sync: bool,
    /// Index of the last key frame (KEYIDX).
    pub key_index: Option<u8>,
    /// Bytes of the descriptor: the frame's follow.
    pub bytes: usize,
}

impl Vp8Descriptor {
    /// The descriptor at the beginning of a payload.
    ///
    /// # Errors
    ///
    /// [`DescriptorError::Truncated`].
    pub fn parse(payload: &[u8]) -> Result<Self, DescriptorError> {
        let byte = |at: usize| payload.get(at).copied().ok_or(DescriptorError::Truncated);
        let first = byte(0)?;
        let mut at = 1;
        let mut numbers = PictureNumbers::default();
        let (mut temporal, mut is_layer_sync, mut key_index) = (0, false, None);
        if first & 0x80 != 0 {
            let extension = byte(1)?;
            at = 2;
            if extension & 0x80 != 0 {
                let (id, bytes) =
                    PictureId::parse(payload, at).ok_or(DescriptorError::Truncated)?;
                numbers.picture_id = Some(id);
                at += bytes;
            }
            if extension & 0x40 != 0 {
                numbers.base_layer_index = Some(BaseLayerIndex { at, value: byte(at)? });
                at += 1;
            }
            if extension & 0x30 != 0 {
                let layer = byte(at)?;
                at += 1;
                if extension & 0x20 != 0 {
                    temporal = layer >> 6;
                    is_layer_sync = layer & 0x20 != 0;
                }
                key_index = (extension & 0x10 != 0).then_some(layer & 0x1f);
            }
        }
        let begins_frame = first & 0x17 == 0x10;
        Ok(Self {
            is_discardable: first & 0x20 != 0,
            begins_frame,
            is_key_frame: begins_frame && byte(at)? & 1 == 0,
            numbers,
            temporal,
            is_layer_sync,
            key_index,
            bytes: at,
        })
    }
}
