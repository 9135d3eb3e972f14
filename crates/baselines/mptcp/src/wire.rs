//! What travels on a path: frames in a reliable, ordered stream of bytes. `docs/design/mptcp.md`
//! has the format, with test vectors.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// The version of the format.
pub const VERSION: u8 = 1;
/// Bytes of a segment at most.
pub const MAX_SEGMENT_BYTES: u32 = 1 << 20;
/// Segments at most that were sent and that the application at the other end has not taken.
pub const MAX_SEGMENTS: usize = 1 << 17;

const SEGMENT: u8 = 1;
const ACK: u8 = 2;
const END: u8 = 3;
const SEGMENT_HEADER: usize = 13;
const ACK_BYTES: usize = 17;
const END_BYTES: usize = 9;
/// Payloads that are copied out of the buffer that they came in.
const SHORT_PAYLOAD: u32 = 1024;

/// A run of bytes of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The data sequence number of its first byte: how many bytes of the stream come before.
    pub dsn: u64,
    /// Its bytes.
    pub payload: Bytes,
}

/// Acknowledgement by the receiver: what it has of all paths, and what it has room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// All bytes below this data sequence number have arrived (DATA_ACK).
    pub data_ack: u64,
    /// The first data sequence number that there is no memory for: the window's right edge, which
    /// never moves back.
    pub window: u64,
}

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Data.
    Segment(Segment),
    /// An acknowledgement.
    Ack(Ack),
    /// The stream has so many bytes and no more (DATA_FIN).
    End(u64),
}

/// Error in a peer's bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// A frame of another type.
    #[error("found a frame of type {0}; expected 1 (segment), 2 (acknowledgement) or 3 (end)")]
    Type(u8),
    /// A segment without bytes or with too many.
    #[error("found a segment of {0} bytes; expected 1 to {MAX_SEGMENT_BYTES}")]
    Length(u32),
    /// A segment behind the last number that there is.
    #[error("found a segment at {0}, which ends behind the last data sequence number")]
    Dsn(u64),
    /// An acknowledgement of more than its window.
    #[error("found an acknowledgement up to {data_ack}, beyond its window up to {window}")]
    Ack {
        /// Data sequence number up to which it acknowledges.
        data_ack: u64,
        /// The right edge of its window.
        window: u64,
    },
}

impl Frame {
    /// Appends the frame to `out`.
    pub fn encode(&self, out: &mut BytesMut) {
        match self {
            Self::Segment(segment) => {
                segment.encode_header(out);
                out.extend_from_slice(&segment.payload);
            }
            Self::Ack(ack) => {
                out.put_u8(ACK);
                out.put_u64(ack.data_ack);
                out.put_u64(ack.window);
            }
            Self::End(bytes) => {
                out.put_u8(END);
                out.put_u64(*bytes);
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
            Some(&ACK) => {
                let Some(mut rest) = from.get(1..ACK_BYTES) else { return Ok(None) };
                let (data_ack, window) = (rest.get_u64(), rest.get_u64());
                if data_ack > window {
                    return Err(WireError::Ack { data_ack, window });
                }
                from.advance(ACK_BYTES);
                Ok(Some(Self::Ack(Ack { data_ack, window })))
            }
            Some(&END) => {
                let Some(mut rest) = from.get(1..END_BYTES) else { return Ok(None) };
                let bytes = rest.get_u64();
                from.advance(END_BYTES);
                Ok(Some(Self::End(bytes)))
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
        out.put_u64(self.dsn);
        out.put_u32(self.payload.len() as u32);
    }
}

fn decode_segment(from: &mut BytesMut) -> Result<Option<Frame>, WireError> {
    let Some(mut header) = from.get(1..SEGMENT_HEADER) else { return Ok(None) };
    let (dsn, length) = (header.get_u64(), header.get_u32());
    if !(1..=MAX_SEGMENT_BYTES).contains(&length) {
        return Err(WireError::Length(length));
    }
    if dsn.checked_add(u64::from(length)).is_none() {
        return Err(WireError::Dsn(dsn));
    }
    let end = SEGMENT_HEADER + length as usize;
    if from.len() < end {
        from.reserve(end - from.len());
        return Ok(None);
    }
    from.advance(SEGMENT_HEADER);
    let payload = from.split_to(length as usize);
    // What is split off keeps the whole buffer alive, which few short bytes are not worth.
    let payload =
        if length < SHORT_PAYLOAD { Bytes::copy_from_slice(&payload) } else { payload.freeze() };
    Ok(Some(Frame::Segment(Segment { dsn, payload })))
}
