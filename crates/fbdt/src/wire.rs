//! What travels on a path: frames in a reliable, ordered stream of bytes.
//! `docs/reference/wire/fbdt.md` has the format, with test vectors.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// The version of the format.
pub const VERSION: u8 = 1;
/// Windows at most that were begun and that the application at the other end has not taken.
pub const MAX_WINDOWS: usize = 1024;
/// Segments of a window at most.
pub const MAX_SEGMENTS: u32 = 1 << 16;
/// Bytes of a segment at most.
pub const MAX_SEGMENT_BYTES: u32 = 1 << 20;
/// Windows that one acknowledgement tells of at most.
pub const MAX_ACK_WINDOWS: usize = 256;
/// Runs of missing segments in a window that one acknowledgement tells of at most. More are told
/// as one up to the end.
pub const MAX_ACK_RANGES: usize = 64;

const SEGMENT: u8 = 1;
const ACK: u8 = 2;
const END: u8 = 3;
const SEGMENT_HEADER: usize = 21;
const END_BYTES: usize = 9;
const ACK_HEADER: usize = 27;

/// A run of bytes of one window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The window's number, from 0.
    pub window: u64,
    /// The segment's number in the window, from 0.
    pub index: u32,
    /// Number of segments in the window.
    pub count: u32,
    /// Its bytes.
    pub payload: Bytes,
}

/// Runs `[low, high)` of numbers, in ascending order, with something between any two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges(Vec<(u32, u32)>);

impl Ranges {
    /// Appends a run behind all others, joined with the last if they touch.
    ///
    /// Returns false, and appends nothing, if it is empty or not behind the others.
    pub fn push(&mut self, low: u32, high: u32) -> bool {
        if low >= high {
            return false;
        }
        match self.0.last_mut() {
            Some((_, end)) if *end > low => return false,
            Some((_, end)) if *end == low => *end = high,
            _ => self.0.push((low, high)),
        }
        true
    }

    /// The runs.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> {
        self.0.iter().copied()
    }

    /// Number of runs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are no runs.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps `most` runs; what comes after the last of them becomes part of it, up to `end`.
    pub(crate) fn limit(&mut self, most: usize, end: u32) {
        if self.0.len() > most {
            self.0.truncate(most);
            if let Some((_, high)) = self.0.last_mut() {
                *high = end;
            }
        }
    }
}

/// Acknowledgement of what the receiver has, of all paths: each pointer's next expected segment
/// (3.2, ACKs).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// Bytes of segments that have come on the path that this is sent on, duplicates included.
    pub received: u64,
    /// All windows below this one are complete.
    pub complete: u64,
    /// Bytes that the application has taken, from the start of the stream.
    pub consumed: u64,
    /// Of windows from `complete` on in ascending order, the segments that are missing. A window of
    /// which nothing came is not here.
    pub missing: Vec<(u64, Ranges)>,
}

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Data.
    Segment(Segment),
    /// An acknowledgement.
    Ack(Ack),
    /// The stream has so many windows and no more.
    End(u64),
}

/// Error in a peer's bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// A frame of another type.
    #[error("found a frame of type {0}; expected 1 (segment), 2 (acknowledgement) or 3 (end)")]
    Type(u8),
    /// Numbers that no segment has.
    #[error("found segment {index} of {count}; expected one of at most {MAX_SEGMENTS}")]
    Index {
        /// The segment's number.
        index: u32,
        /// Number of segments in its window.
        count: u32,
    },
    /// A segment without bytes or with too many.
    #[error("found a segment of {0} bytes; expected 1 to {MAX_SEGMENT_BYTES}")]
    Length(u32),
    /// An acknowledgement of too many windows or runs, or not in ascending order.
    #[error("found an acknowledgement that is too long or not in ascending order")]
    Ack,
}

impl Frame {
    /// Appends the frame to `out`.
    pub fn encode(&self, out: &mut BytesMut) {
        match self {
            Self::Segment(segment) => {
                segment.encode_header(out);
                out.extend_from_slice(&segment.payload);
            }
            Self::Ack(ack) => ack.encode(out),
            Self::End(windows) => {
                out.put_u8(END);
                out.put_u64(*windows);
            }
        }
    }

    /// Takes the first frame off `from`; `None` if not all of it is there.
    ///
    /// # Errors
    /// If what is there is no frame. The bytes are then as they were.
    pub fn decode(from: &mut BytesMut) -> Result<Option<Self>, WireError> {
        match from.first() {
            None => Ok(None),
            Some(&SEGMENT) => decode_segment(from),
            Some(&ACK) => decode_ack(from),
            Some(&END) => {
                let Some(mut rest) = from.get(1..END_BYTES) else { return Ok(None) };
                let windows = rest.get_u64();
                from.advance(END_BYTES);
                Ok(Some(Self::End(windows)))
            }
            Some(&other) => Err(WireError::Type(other)),
        }
    }
}

impl Segment {
    /// Appends all but the payload, and makes room for that.
    fn encode_header(&self, out: &mut BytesMut) {
        out.reserve(SEGMENT_HEADER + self.payload.len());
        out.put_u8(SEGMENT);
        out.put_u64(self.window);
        out.put_u32(self.index);
        out.put_u32(self.count);
        out.put_u32(self.payload.len() as u32);
    }
}

impl Ack {
    fn encode(&self, out: &mut BytesMut) {
        out.put_u8(ACK);
        out.put_u64(self.received);
        out.put_u64(self.complete);
        out.put_u64(self.consumed);
        out.put_u16(self.missing.len() as u16);
        for (window, ranges) in &self.missing {
            out.put_u64(*window);
            out.put_u16(ranges.len() as u16);
            for (low, high) in ranges.iter() {
                out.put_u32(low);
                out.put_u32(high);
            }
        }
    }
}

fn decode_segment(from: &mut BytesMut) -> Result<Option<Frame>, WireError> {
    let Some(mut header) = from.get(1..SEGMENT_HEADER) else { return Ok(None) };
    let (window, index, count) = (header.get_u64(), header.get_u32(), header.get_u32());
    let length = header.get_u32();
    if index >= count || count > MAX_SEGMENTS {
        return Err(WireError::Index { index, count });
    }
    if !(1..=MAX_SEGMENT_BYTES).contains(&length) {
        return Err(WireError::Length(length));
    }
    let end = SEGMENT_HEADER + length as usize;
    if from.len() < end {
        from.reserve(end - from.len());
        return Ok(None);
    }
    from.advance(SEGMENT_HEADER);
    // What is split off would keep the whole buffer alive that it came in, and a peer could have a
    // receiver hold many times the bytes that it counts.
    let payload = Bytes::copy_from_slice(&from[..length as usize]);
    from.advance(length as usize);
    Ok(Some(Frame::Segment(Segment { window, index, count, payload })))
}

fn decode_ack(from: &mut BytesMut) -> Result<Option<Frame>, WireError> {
    let Some(mut rest) = from.get(1..) else { return Ok(None) };
    let whole = rest.len();
    if whole < ACK_HEADER - 1 {
        return Ok(None);
    }
    let received = rest.get_u64();
    let (complete, consumed) = (rest.get_u64(), rest.get_u64());
    let windows = usize::from(rest.get_u16());
    if windows > MAX_ACK_WINDOWS {
        return Err(WireError::Ack);
    }
    let mut missing: Vec<(u64, Ranges)> = Vec::new();
    for _ in 0..windows {
        if rest.len() < 10 {
            return Ok(None);
        }
        let (window, runs) = (rest.get_u64(), usize::from(rest.get_u16()));
        let least = missing.last().map_or(complete, |(last, _)| last.saturating_add(1));
        if window < least || runs > MAX_ACK_RANGES {
            return Err(WireError::Ack);
        }
        let mut ranges = Ranges::default();
        for _ in 0..runs {
            if rest.len() < 8 {
                return Ok(None);
            }
            let (low, high) = (rest.get_u32(), rest.get_u32());
            let before = ranges.len();
            if !ranges.push(low, high) || ranges.len() == before {
                return Err(WireError::Ack);
            }
        }
        missing.push((window, ranges));
    }
    let used = 1 + whole - rest.len();
    from.advance(used);
    Ok(Some(Frame::Ack(Ack { received, complete, consumed, missing })))
}
