//! Picture numbers of the payload descriptors of VP8 and VP9: picture id and TL0PICIDX.

use std::borrow::Cow;

use crate::number_map::{NumberMap, Unwrapper};

/// A picture id where it stands in a payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PictureId {
    /// Place of its first byte in the payload.
    pub(crate) at: usize,
    /// The number.
    pub value: u16,
    /// The number has 15 bits, not 7 (the bit M).
    pub is_long: bool,
}

impl PictureId {
    /// The picture id at `at`, and the number of its bytes.
    pub(crate) fn parse(payload: &[u8], at: usize) -> Option<(Self, usize)> {
        let first = *payload.get(at)?;
        if first & 0x80 == 0 {
            return Some((Self { at, value: u16::from(first), is_long: false }, 1));
        }
        let value = u16::from(first & 0x7f) << 8 | u16::from(*payload.get(at + 1)?);
        Some((Self { at, value, is_long: true }, 2))
    }

    fn bits(self) -> u32 {
        if self.is_long { 15 } else { 7 }
    }
}

/// A TL0PICIDX where it stands in a payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BaseLayerIndex {
    /// Place of its byte in the payload.
    pub(crate) at: usize,
    /// Number of frames of the lowest temporal layer, modulo 256.
    pub value: u8,
}

/// Picture numbers of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PictureNumbers {
    /// Picture id.
    pub picture_id: Option<PictureId>,
    /// TL0PICIDX.
    pub base_layer_index: Option<BaseLayerIndex>,
}

/// The rewriting of picture numbers, so that a receiver sees one stream.
#[derive(Debug)]
pub(crate) struct PictureRewriter {
    ids: NumberMap,
    unwrapper: Unwrapper,
    /// Highest picture id that went out.
    last_id: Option<u64>,
    base_layer_offset: u8,
    last_base_layer_index: Option<u8>,
    /// The next packet is the first of another encoding.
    is_first: bool,
}

impl PictureRewriter {
    pub(crate) fn new() -> Self {
        Self {
            ids: NumberMap::new(),
            unwrapper: Unwrapper::default(),
            last_id: None,
            base_layer_offset: 0,
            last_base_layer_index: None,
            is_first: true,
        }
    }

    /// Begins with another encoding: its next packet goes on from the numbers of the one before.
    pub(crate) fn restart(&mut self) {
        self.is_first = true;
    }

    /// Notes that a key frame begins, in order: if its picture id is no new one, the encoder began to count anew, as
    /// with another encoding.
    pub(crate) fn begin_key_frame(&mut self, numbers: PictureNumbers) {
        let Some(id) = numbers.picture_id else { return };
        let extended = self.unwrapper.unwrap(u64::from(id.value), id.bits());
        self.is_first |= !self.ids.is_new(extended);
    }

    /// Takes the frame out of the numbers, unless a packet of it has passed.
    pub(crate) fn skip(&mut self, numbers: PictureNumbers) {
        if let Some(id) = numbers.picture_id.filter(|_| !self.is_first) {
            self.ids.skip(self.unwrapper.unwrap(u64::from(id.value), id.bits()));
        }
    }

    /// The payload with its numbers rewritten, or nothing if the frame was dropped before.
    pub(crate) fn rewrite<'a>(
        &mut self,
        payload: &'a [u8],
        numbers: PictureNumbers,
    ) -> Option<Cow<'a, [u8]>> {
        let is_first = std::mem::take(&mut self.is_first);
        let mut out = Cow::Borrowed(payload);
        if let Some(id) = numbers.picture_id {
            if is_first {
                self.unwrapper = Unwrapper::default();
            }
            let extended = self.unwrapper.unwrap(u64::from(id.value), id.bits());
            if is_first {
                let next = self.last_id.map_or(u64::from(id.value), |last| last.wrapping_add(1));
                self.ids.restart(extended, next);
            }
            let new = self.ids.keep(extended)?;
            self.last_id = Some(self.last_id.map_or(new, |last| last.max(new)));
            let value = (new & ((1 << id.bits()) - 1)) as u16;
            if value != id.value {
                let [high, low] = value.to_be_bytes();
                let bytes: &[u8] = if id.is_long { &[0x80 | high, low] } else { &[low] };
                out.to_mut().get_mut(id.at..id.at + bytes.len())?.copy_from_slice(bytes);
            }
        }
        if let Some(index) = numbers.base_layer_index {
            if is_first {
                let next = self.last_base_layer_index.map_or(index.value, |i| i.wrapping_add(1));
                self.base_layer_offset = next.wrapping_sub(index.value);
            }
            let value = index.value.wrapping_add(self.base_layer_offset);
            let is_newer = |last: u8| (value.wrapping_sub(last) as i8) > 0;
            if self.last_base_layer_index.is_none_or(is_newer) {
                self.last_base_layer_index = Some(value);
            }
            if value != index.value {
                *out.to_mut().get_mut(index.at)? = value;
            }
        }
        Some(out)
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.ids.heap_bytes()
    }
}
