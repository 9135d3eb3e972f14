//! Payloads of RTP for encoded frames: VP8 (RFC 7741) and VP9 (RFC 9628).

use std::sync::Arc;

use super::clip::ClipFrame;
use crate::server::VideoCodec;

/// Bytes of a frame in a packet at most: with all headers it fits into 1200.
const MAX_FRAME_BYTES: usize = 1090;
/// Numbers of pictures before they begin anew.
const PICTURE_IDS: u16 = 1 << 15;

/// Packetizer of one encoding.
#[derive(Clone, Debug)]
pub(super) struct Packetizer {
    codec: VideoCodec,
    is_layered: bool,
    picture_id: u16,
    /// Number of frames of the lowest temporal layer, modulo 256 (TL0PICIDX).
    base_index: u8,
}

impl Packetizer {
    /// Packetizer of video in one temporal layer, or in several.
    pub(super) fn new(codec: VideoCodec, is_layered: bool) -> Self {
        Self { codec, is_layered, picture_id: 0, base_index: 0 }
    }

    /// Payloads of the next frame.
    pub(super) fn payloads(&mut self, frame: &ClipFrame) -> Vec<Arc<[u8]>> {
        self.picture_id = (self.picture_id + 1) % PICTURE_IDS;
        if frame.temporal == 0 {
            self.base_index = self.base_index.wrapping_add(1);
        }
        let count = frame.data.len().div_ceil(MAX_FRAME_BYTES);
        let parts = frame.data.chunks(MAX_FRAME_BYTES).enumerate();
        let payload = |(place, part): (usize, &[u8])| {
            let mut bytes = match self.codec {
                VideoCodec::Vp9 => self.vp9(frame, place == 0, place + 1 == count),
                VideoCodec::Vp8 | VideoCodec::Av1 => self.vp8(frame, place == 0),
            };
            bytes.extend_from_slice(part);
            Arc::from(bytes)
        };
        parts.map(payload).collect()
    }

    /// Descriptor of VP8. Without layers it has one byte.
    fn vp8(&self, frame: &ClipFrame, is_first: bool) -> Vec<u8> {
        let start = if is_first { 0x10 } else { 0 };
        if !self.is_layered {
            return vec![start];
        }
        let [high, low] = self.picture_id.to_be_bytes();
        // X and N; I, L and T; then the layer and Y.
        let head = 0x80 | if frame.is_discardable { 0x20 } else { 0 } | start;
        let layer = frame.temporal << 6 | if frame.is_layer_sync { 0x20 } else { 0 };
        vec![head, 0xe0, 0x80 | high, low, self.base_index, layer]
    }

    /// Descriptor of VP9 in one layer, not flexible.
    fn vp9(&self, frame: &ClipFrame, is_first: bool, is_last: bool) -> Vec<u8> {
        let flag = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        let has_structure = frame.is_key_frame && is_first;
        let flags = flag(!frame.is_key_frame, 0x40)
            | flag(is_first, 0x08)
            | flag(is_last, 0x04)
            | flag(has_structure, 0x02);
        let [high, low] = self.picture_id.to_be_bytes();
        let mut bytes = vec![0xa0 | flags, 0x80 | high, low, 0x10, self.base_index];
        if has_structure {
            // One spatial layer, neither sizes nor a group of pictures.
            bytes.push(0);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use airlane_sfu::{Vp8Descriptor, Vp9Descriptor};

    use super::*;

    fn frame(bytes: usize, temporal: u8, is_key_frame: bool) -> ClipFrame {
        let mut data = vec![0x55; bytes];
        data[0] = u8::from(!is_key_frame);
        ClipFrame {
            data: data.into(),
            is_key_frame,
            temporal,
            is_layer_sync: temporal == 1,
            is_discardable: temporal == 1,
            reference_distance: 1,
        }
    }

    #[test]
    fn vp8_in_layers_says_what_depends_on_what() {
        let mut packetizer = Packetizer::new(VideoCodec::Vp8, true);
        let of = |payload: &Arc<[u8]>| Vp8Descriptor::parse(payload).unwrap();
        let key = packetizer.payloads(&frame(2500, 0, true));
        let begins: Vec<bool> = key.iter().map(|payload| of(payload).begins_frame).collect();
        assert_eq!(begins, [true, false, false]);
        assert!(of(&key[0]).is_key_frame && !of(&key[0]).is_discardable);
        let upper = of(&packetizer.payloads(&frame(100, 1, false))[0]);
        assert_eq!((upper.temporal, upper.is_layer_sync, upper.is_discardable), (1, true, true));
        let base = of(&packetizer.payloads(&frame(100, 0, false))[0]);
        let index = |of: &Vp8Descriptor| of.numbers.base_layer_index.unwrap().value;
        assert_eq!([index(&of(&key[0])), index(&upper), index(&base)], [1, 1, 2]);
        let bytes: usize = key.iter().map(|payload| payload.len() - of(payload).bytes).sum();
        assert_eq!(bytes, 2500);
    }

    #[test]
    fn vp9_says_where_frames_begin_and_end() {
        let mut packetizer = Packetizer::new(VideoCodec::Vp9, false);
        for is_key_frame in [true, false] {
            let payloads = packetizer.payloads(&frame(2000, 0, is_key_frame));
            let of = |payload: &Arc<[u8]>| {
                let read = Vp9Descriptor::parse(payload).unwrap();
                (read.begins_frame, read.ends_frame, !read.is_inter_predicted)
            };
            let found: Vec<_> = payloads.iter().map(of).collect();
            assert_eq!(found, [(true, false, is_key_frame), (false, true, is_key_frame)]);
        }
    }
}
