//! Frames on a subflow, each of which names the stream that it belongs to.
//! `docs/reference/wire/multipath.md` has the format, with test vectors.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::error::{MultipathError, Reason};
use crate::terms::{TERMS_BYTES, Terms};

/// Bytes in front of every frame's body: its type, its length and its stream.
pub(crate) const HEADER_BYTES: usize = 1 + 3 + 4;
/// Bytes of a body at most: an FBDT acknowledgement of the most windows and runs is half as long.
pub(crate) const MAX_BODY_BYTES: usize = 256 << 10;
/// Bytes of a segment on a subflow at most, so that no stream holds a subflow up for long.
pub(crate) const MAX_SEGMENT_BYTES: u32 = 64 << 10;
/// Length of a request, which tells the other end what a stream is for, bytes.
pub const MAX_REQUEST_BYTES: usize = 512;

const DATA: u8 = 1;
const CONTROL: u8 = 2;
const OPEN: u8 = 3;
const ACCEPT: u8 = 4;
const RESET: u8 = 5;
const PING: u8 = 6;
const PONG: u8 = 7;
const CREDIT: u8 = 8;

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubflowFrame {
    /// The number of the stream; 0 in frames that are about the subflow.
    pub stream: u32,
    /// The content.
    pub body: Body,
}

/// The content of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Segments of the stream, whole ones.
    Data(BytesMut),
    /// Frames of the stream that are no segments, whole ones.
    Control(BytesMut),
    /// The stream is to be carried by this subflow too.
    Open {
        /// The terms that the client wants.
        terms: Terms,
        /// The request, the same on every subflow.
        request: Bytes,
    },
    /// The other end's answer to [`Body::Open`]: what both agree on.
    Accept(Terms),
    /// The stream is given up.
    Reset(Reason),
    /// To be answered with the same number at once.
    Ping(u64),
    /// The answer to [`Body::Ping`].
    Pong(u64),
    /// Credit of the server: bytes that it may send on the subflow since its beginning.
    Credit(u64),
}

/// The header of a frame of this type.
fn header(kind: u8, stream: u32, bytes: usize) -> [u8; HEADER_BYTES] {
    let length = (bytes as u32).to_be_bytes();
    let stream = stream.to_be_bytes();
    [kind, length[1], length[2], length[3], stream[0], stream[1], stream[2], stream[3]]
}

/// The header of a frame with `bytes` of segments.
pub(crate) fn data_header(stream: u32, bytes: usize) -> Bytes {
    Bytes::copy_from_slice(&header(DATA, stream, bytes))
}

/// The header of a frame with `bytes` of frames that are no segments.
pub(crate) fn control_header(stream: u32, bytes: usize) -> Bytes {
    Bytes::copy_from_slice(&header(CONTROL, stream, bytes))
}

impl SubflowFrame {
    /// As bytes.
    pub fn encode(&self) -> Bytes {
        let mut body = BytesMut::new();
        let kind = match &self.body {
            Body::Data(frames) => {
                body.extend_from_slice(frames);
                DATA
            }
            Body::Control(frames) => {
                body.extend_from_slice(frames);
                CONTROL
            }
            Body::Open { terms, request } => {
                terms.encode(&mut body);
                body.extend_from_slice(request);
                OPEN
            }
            Body::Accept(terms) => {
                terms.encode(&mut body);
                ACCEPT
            }
            Body::Reset(reason) => {
                body.put_u8(*reason as u8);
                RESET
            }
            Body::Ping(number) => {
                body.put_u64(*number);
                PING
            }
            Body::Pong(number) => {
                body.put_u64(*number);
                PONG
            }
            Body::Credit(bytes) => {
                body.put_u64(*bytes);
                CREDIT
            }
        };
        let mut out = BytesMut::with_capacity(HEADER_BYTES + body.len());
        out.extend_from_slice(&header(kind, self.stream, body.len()));
        out.extend_from_slice(&body);
        out.freeze()
    }

    /// Takes the first frame off `from`; `None` if not all of it is there.
    ///
    /// # Errors
    /// If what is there is no frame, or one that is too long.
    pub fn decode(from: &mut BytesMut) -> Result<Option<Self>, MultipathError> {
        let Some(&[kind, a, b, c, d, e, f, g]) = from.first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        let stream = u32::from_be_bytes([d, e, f, g]);
        let fits = match kind {
            DATA | CONTROL => (1..=MAX_BODY_BYTES).contains(&length),
            OPEN => (TERMS_BYTES..=TERMS_BYTES + MAX_REQUEST_BYTES).contains(&length),
            ACCEPT => length == TERMS_BYTES,
            RESET => length == 1,
            PING | PONG | CREDIT => length == size_of::<u64>(),
            _ => return Err(MultipathError::Protocol("a frame of a type that a subflow has not")),
        };
        if !fits {
            return Err(MultipathError::Protocol("a frame of a length that its type has not"));
        }
        if from.len() < HEADER_BYTES + length {
            from.reserve(HEADER_BYTES + length - from.len());
            return Ok(None);
        }
        from.advance(HEADER_BYTES);
        let mut body = from.split_to(length);
        let body = match kind {
            DATA => Body::Data(body),
            CONTROL => Body::Control(body),
            OPEN => {
                let terms = checked(Terms::decode(&mut &body[..])?)?;
                body.advance(TERMS_BYTES);
                Body::Open { terms, request: Bytes::copy_from_slice(&body) }
            }
            ACCEPT => Body::Accept(checked(Terms::decode(&mut &body[..])?)?),
            RESET => Body::Reset(
                Reason::of(body[0])
                    .ok_or(MultipathError::Protocol("a stream given up for no known reason"))?,
            ),
            PING => Body::Ping(body.get_u64()),
            PONG => Body::Pong(body.get_u64()),
            _ => Body::Credit(body.get_u64()),
        };
        Ok(Some(Self { stream, body }))
    }
}

fn checked(terms: Terms) -> Result<Terms, MultipathError> {
    match terms.segment_bytes > MAX_SEGMENT_BYTES {
        true => Err(MultipathError::Protocol("segments that are too long for a subflow")),
        false => Ok(terms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::Protocol;

    const TERMS: Terms = Terms {
        protocol: Protocol::Fbdt,
        segment_bytes: 16 << 10,
        window_bytes: 1 << 20,
        receive_memory: 8 << 20,
    };

    fn frames() -> Vec<SubflowFrame> {
        let bytes = || BytesMut::from(&b"frames"[..]);
        let request = Bytes::from_static(b"example.org:443");
        let bodies = [
            Body::Data(bytes()),
            Body::Control(bytes()),
            Body::Open { terms: TERMS, request },
            Body::Accept(TERMS),
            Body::Reset(Reason::Full),
            Body::Ping(1 << 40),
            Body::Pong(7),
            Body::Credit(1 << 33),
        ];
        bodies.into_iter().zip(0..).map(|(body, stream)| SubflowFrame { stream, body }).collect()
    }

    #[test]
    fn frames_come_back_as_they_were_however_they_are_cut() {
        let all: Vec<u8> = frames().iter().flat_map(SubflowFrame::encode).collect();
        for step in [1, 7, all.len()] {
            let (mut buffer, mut decoded) = (BytesMut::new(), Vec::new());
            for piece in all.chunks(step) {
                buffer.extend_from_slice(piece);
                while let Some(frame) = SubflowFrame::decode(&mut buffer).unwrap() {
                    decoded.push(frame);
                }
            }
            assert_eq!(decoded, frames());
            assert!(buffer.is_empty());
        }
    }

    #[test]
    fn what_is_no_frame_is_refused_before_its_body_is_there() {
        for bad in [
            &[0, 0, 0, 1, 0, 0, 0, 0][..],
            &[9, 0, 0, 1, 0, 0, 0, 0],
            &[DATA, 0, 0, 0, 0, 0, 0, 1],
            &[DATA, 4, 0, 1, 0, 0, 0, 1],
            &[OPEN, 0, 0, 16, 0, 0, 0, 1],
            &[OPEN, 0, 2, 18, 0, 0, 0, 1],
            &[ACCEPT, 0, 0, 18, 0, 0, 0, 1],
            &[RESET, 0, 0, 2, 0, 0, 0, 1],
            &[RESET, 0, 0, 1, 0, 0, 0, 1, 9],
            &[PING, 0, 0, 7, 0, 0, 0, 0],
            &[CREDIT, 0, 0, 9, 0, 0, 0, 0],
        ] {
            assert!(SubflowFrame::decode(&mut BytesMut::from(bad)).is_err(), "{bad:?}");
        }
        let long = Body::Accept(Terms { segment_bytes: 1 << 20, ..TERMS });
        let long = SubflowFrame { stream: 1, body: long }.encode();
        assert!(SubflowFrame::decode(&mut BytesMut::from(&long[..])).is_err());
    }

    #[test]
    fn frames_are_as_the_document_has_them() {
        let text = include_str!("../../../../docs/reference/wire/multipath.md");
        let request = Bytes::from_static(b"\x01\x01\xbbexample.org");
        let open = SubflowFrame { stream: 1, body: Body::Open { terms: TERMS, request } };
        let set_limit = SubflowFrame { stream: 0, body: Body::Credit(8 << 30) };
        for (name, frame) in [("Open: `", open), ("Credit: `", set_limit)] {
            let vector = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            let digits: String = vector.chars().filter(char::is_ascii_hexdigit).collect();
            let hex: String = frame.encode().iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, digits);
        }
    }
}
