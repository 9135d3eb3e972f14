//! Frames of a stream that can be decoded, put together from its packets as a browser does it: each as soon as it is whole
//! and all that it depends on was decoded, whatever else is missing.

use std::collections::BTreeMap;
use std::time::Duration;

use airlane_base::Time;
use airlane_sfu::{Vp8Descriptor, Vp9Descriptor};

use crate::server::VideoCodec;

/// Packets that wait at most; of more, the oldest are given up.
const MAX_PACKETS: usize = 2048;
/// Time that a frame that is whole waits for what it depends on before a key frame is asked for.
const RECOVERY_TIMEOUT: Duration = Duration::from_millis(300);

/// Packet of a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet<'a> {
    /// Extended sequence number.
    pub(super) sequence: u64,
    /// RTP timestamp.
    pub(super) timestamp: u32,
    /// The packet is the last of its frame.
    pub(super) marker: bool,
    /// Codec, where the packet's description of it is read.
    pub(super) codec: Option<VideoCodec>,
    pub(super) payload: &'a [u8],
}

/// Frame that was decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// RTP timestamp.
    pub(super) timestamp: u32,
    /// Bytes of its packets' payloads.
    pub(super) bytes: usize,
}

/// Temporal layer of a frame of VP8.
#[derive(Clone, Copy, Debug)]
struct Layer {
    temporal: u8,
    /// It depends on the lowest layer alone.
    is_sync: bool,
    base_index: u8,
}

/// Packet that waits for the rest of its frame, or for what the frame depends on.
#[derive(Clone, Copy, Debug)]
struct Piece {
    timestamp: u32,
    /// The first of its frame; `None`: not told.
    begins: Option<bool>,
    ends: bool,
    /// The first one of a key frame; `None`: not told.
    is_key: Option<bool>,
    layer: Option<Layer>,
    bytes: usize,
}

/// State of the decoder.
#[derive(Clone, Copy, Debug)]
struct Decoded {
    /// Last sequence number of the last frame.
    last: u64,
    /// Number of the last frame of the lowest temporal layer, and a bit for each layer of the frames since.
    base: Option<(u8, u8)>,
}

/// Buffer of a stream's packets.
#[derive(Clone, Debug, Default)]
pub(super) struct FrameBuffer {
    pieces: BTreeMap<u64, Piece>,
    decoded: Option<Decoded>,
    /// Time since which a frame is whole and cannot be decoded.
    stuck_since: Option<Time>,
}

impl FrameBuffer {
    /// Takes a packet.
    pub(super) fn insert(&mut self, packet: &Packet<'_>) {
        if packet.payload.is_empty()
            || self.decoded.is_some_and(|decoded| packet.sequence <= decoded.last)
        {
            return;
        }
        let Some(piece) = piece(packet) else { return };
        self.pieces.insert(packet.sequence, piece);
        if self.pieces.len() > MAX_PACKETS {
            self.pieces.pop_first();
        }
    }

    /// Decodes the next frame that can be.
    pub(super) fn next(&mut self, now: Time) -> Option<Frame> {
        let mut frame: Option<(u64, Piece, usize)> = None;
        let mut before: Option<(u64, Piece)> = None;
        let mut is_stuck = false;
        let mut found = None;
        for (&sequence, &piece) in &self.pieces {
            let previous = before.filter(|(previous, _)| previous + 1 == sequence);
            let goes_on =
                previous.is_some_and(|(_, of)| of.timestamp == piece.timestamp && !of.ends);
            frame = match frame.filter(|_| goes_on) {
                Some((first, head, bytes)) => Some((first, head, bytes + piece.bytes)),
                None => {
                    let begins = piece.begins.unwrap_or(!goes_on);
                    begins.then_some((sequence, piece, piece.bytes))
                }
            };
            if let Some((first, head, bytes)) = frame.filter(|_| piece.ends) {
                if self.is_decodable(first, &head) {
                    found = Some((sequence, head, bytes));
                    break;
                }
                is_stuck = true;
                frame = None;
            }
            before = Some((sequence, piece));
        }
        let Some((last, head, bytes)) = found else {
            if is_stuck {
                self.stuck_since.get_or_insert(now);
            }
            return None;
        };
        self.stuck_since = None;
        self.pieces = self.pieces.split_off(&(last + 1));
        let base = head.layer.map(|layer| match layer.temporal {
            0 => (layer.base_index, 1),
            temporal => {
                let seen =
                    self.decoded.and_then(|decoded| decoded.base).map_or(0, |(_, seen)| seen);
                (layer.base_index, seen | 1 << temporal)
            }
        });
        self.decoded = Some(Decoded { last, base });
        Some(Frame { timestamp: head.timestamp, bytes })
    }

    /// True if all that a frame depends on was decoded.
    fn is_decodable(&self, first: u64, head: &Piece) -> bool {
        let follows = self.decoded.is_some_and(|decoded| decoded.last + 1 == first);
        // Of codecs whose key frames are not looked for, whatever follows a gap is taken for one.
        if head.is_key.unwrap_or(!follows) {
            return true;
        }
        let base = self.decoded.and_then(|decoded| decoded.base);
        match (head.layer, base) {
            (Some(layer), Some((index, seen))) => match layer.temporal {
                0 => layer.base_index == index.wrapping_add(1),
                temporal => {
                    let has_lower = temporal == 1 || seen >> (temporal - 1) & 1 == 1;
                    layer.base_index == index && (layer.is_sync || has_lower)
                }
            },
            _ => follows,
        }
    }

    /// True if only a key frame helps: at the beginning, and where what is missing did not come in time.
    pub(super) fn wants_key_frame(&self, now: Time) -> bool {
        let timeout = if self.decoded.is_none() { Duration::ZERO } else { RECOVERY_TIMEOUT };
        self.stuck_since.is_some_and(|since| now.since(since) >= timeout)
    }
}

/// Description of a packet by its codec's descriptor; `None` if it has none.
fn piece(packet: &Packet<'_>) -> Option<Piece> {
    let mut piece = Piece {
        timestamp: packet.timestamp,
        begins: None,
        ends: packet.marker,
        is_key: None,
        layer: None,
        bytes: packet.payload.len(),
    };
    match packet.codec {
        Some(VideoCodec::Vp8) => {
            let read = Vp8Descriptor::parse(packet.payload).ok()?;
            (piece.begins, piece.is_key) = (Some(read.begins_frame), Some(read.is_key_frame));
            piece.layer = read.numbers.base_layer_index.map(|index| Layer {
                temporal: read.temporal,
                is_sync: read.is_layer_sync,
                base_index: index.value,
            });
        }
        Some(VideoCodec::Vp9) => {
            let read = Vp9Descriptor::parse(packet.payload).ok()?;
            piece.begins = Some(read.begins_frame);
            piece.is_key = Some(read.begins_frame && !read.is_inter_predicted);
        }
        Some(VideoCodec::Av1) | None => {}
    }
    Some(piece)
}

#[cfg(test)]
mod tests {
    use super::super::clip::ClipFrame;
    use super::super::packetizer::Packetizer;
    use super::*;

    /// Packets of VP8 in the layers 0, 2, 1, 2, two for each frame.
    fn packets(count: usize, is_layered: bool) -> Vec<(u64, u32, bool, std::sync::Arc<[u8]>)> {
        let mut packetizer = Packetizer::new(VideoCodec::Vp8, is_layered);
        let mut all = Vec::new();
        for place in 0..count {
            let temporal = if is_layered { [0, 2, 1, 2][place % 4] } else { 0 };
            let mut data = vec![0x55; 1500];
            data[0] = u8::from(place > 0);
            let frame = ClipFrame {
                data: data.into(),
                is_key_frame: place == 0,
                temporal,
                is_layer_sync: place % 4 < 3,
                is_discardable: temporal == 2,
                reference_distance: 1,
            };
            for payload in packetizer.payloads(&frame) {
                let sequence = all.len() as u64 + 100;
                all.push((sequence, place as u32 * 3600, sequence % 2 == 1, payload));
            }
        }
        all
    }

    /// Numbers of the frames that were decoded, of those whose packets came.
    fn decoded(is_layered: bool, frames: &[usize]) -> Vec<u32> {
        let all = packets(20, is_layered);
        let (mut buffer, mut out) = (FrameBuffer::default(), Vec::new());
        for place in frames {
            for (sequence, timestamp, marker, payload) in &all[place * 2..place * 2 + 2] {
                let (sequence, timestamp, marker) = (*sequence, *timestamp, *marker);
                let codec = Some(VideoCodec::Vp8);
                buffer.insert(&Packet { sequence, timestamp, marker, codec, payload });
                let frames = std::iter::from_fn(|| buffer.next(Time::ZERO));
                out.extend(frames.map(|frame| frame.timestamp / 3600));
            }
        }
        out
    }

    #[test]
    fn what_nothing_depends_on_may_be_missing() {
        assert_eq!(decoded(true, &[0, 1, 2, 3, 4, 5, 6, 7, 8]), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(decoded(true, &[0, 2, 3, 4, 6, 8]), [0, 2, 3, 4, 6, 8]);
        // Without frame 2, frame 3 cannot be decoded.
        assert_eq!(decoded(true, &[0, 1, 3, 4, 5]), [0, 1, 4, 5]);
        // Without a frame of the lowest layer nothing can, until it comes.
        assert_eq!(decoded(true, &[0, 1, 2, 3, 5, 6, 8, 9, 4]), [0, 1, 2, 3, 4, 5, 6, 8, 9]);
        // In one layer, every frame is waited for.
        assert_eq!(decoded(false, &[0, 1, 3, 4, 2, 5]), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_key_frame_is_asked_for_where_nothing_goes_on() {
        let all = packets(20, true);
        let mut buffer = FrameBuffer::default();
        let mut insert = |place: usize, now: Time| {
            for (sequence, timestamp, marker, payload) in &all[place * 2..place * 2 + 2] {
                let (sequence, timestamp, marker) = (*sequence, *timestamp, *marker);
                let codec = Some(VideoCodec::Vp8);
                buffer.insert(&Packet { sequence, timestamp, marker, codec, payload });
            }
            while buffer.next(now).is_some() {}
            buffer.wants_key_frame(now)
        };
        let at = Time::from_millis;
        assert!(insert(1, at(0)), "nothing to begin with");
        assert!(!insert(0, at(10)));
        assert!(!insert(8, at(400)), "what is missing may be on its way");
        assert!(!insert(9, at(600)));
        assert!(insert(10, at(700)));
        assert!(!insert(4, at(710)));
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut buffer = FrameBuffer::default();
        for sequence in 0..10_000 {
            let payload = &[0x00, 0x01];
            let codec = Some(VideoCodec::Vp8);
            buffer.insert(&Packet { sequence, timestamp: 0, marker: false, codec, payload });
        }
        assert_eq!(buffer.pieces.len(), MAX_PACKETS);
    }
}
