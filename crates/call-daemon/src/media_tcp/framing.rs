//! Datagrams as frames of a stream: each behind its length in 16 bits (RFC 4571, section 2). No I/O.

use bytes::{Buf, Bytes, BytesMut};

/// Bytes of a length.
const LENGTH_BYTES: usize = 2;
/// Bytes of a datagram in a frame: more than any path's MTU lets browsers send. The first byte of a stream of such
/// frames is 7 at most, which neither TLS nor HTTP begins with.
pub const MAX_FRAME_BYTES: usize = 2047;

/// Frame that announces more than [`MAX_FRAME_BYTES`]. Its stream cannot be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a frame of {0} bytes, above {MAX_FRAME_BYTES}")]
pub struct FrameTooLong(pub usize);

/// Decoder of a stream of frames.
#[derive(Debug, Default)]
pub struct FrameDecoder {
    buffer: BytesMut,
}

impl FrameDecoder {
    /// Appends bytes of the stream. The caller takes all frames before it appends more, so that less than a frame waits.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next frame's datagram, which may be empty; `None`: it has not come yet.
    ///
    /// # Errors
    /// If the frame is too long, again at every call.
    pub fn next_frame(&mut self) -> Result<Option<Bytes>, FrameTooLong> {
        let Some((length, rest)) = self.buffer.split_first_chunk::<LENGTH_BYTES>() else {
            return Ok(None);
        };
        let length = usize::from(u16::from_be_bytes(*length));
        if length > MAX_FRAME_BYTES {
            return Err(FrameTooLong(length));
        }
        let Some(datagram) = rest.get(..length) else { return Ok(None) };
        // A copy: a slice would keep all that was read with it.
        let datagram = Bytes::copy_from_slice(datagram);
        self.buffer.advance(LENGTH_BYTES + length);
        Ok(Some(datagram))
    }

    /// Bytes that wait for the rest of their frame.
    pub fn waiting_bytes(&self) -> usize {
        self.buffer.len()
    }
}

/// Length that stands before a datagram; `None`: no frame takes so long a one.
pub fn frame_header(datagram: &[u8]) -> Option<[u8; LENGTH_BYTES]> {
    let is_short = datagram.len() <= MAX_FRAME_BYTES;
    u16::try_from(datagram.len()).ok().filter(|_| is_short).map(u16::to_be_bytes)
}

/// True if a stream of frames may begin with this byte.
pub(crate) fn may_begin_frame(first: u8) -> bool {
    usize::from(first) <= MAX_FRAME_BYTES >> 8
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn stream_of(datagrams: &[Vec<u8>]) -> Vec<u8> {
        datagrams
            .iter()
            .flat_map(|of| frame_header(of).into_iter().flatten().chain(of.iter().copied()))
            .collect()
    }

    proptest! {
        #[test]
        fn frames_come_out_as_they_went_in_however_the_stream_is_cut(
            datagrams in vec(vec(any::<u8>(), 0..=MAX_FRAME_BYTES), 0..8),
            cuts in vec(1..3000_usize, 1..32),
        ) {
            let stream = stream_of(&datagrams);
            let (mut decoder, mut rest, mut found) = (FrameDecoder::default(), &stream[..], Vec::new());
            for cut in cuts.iter().cycle() {
                let (piece, tail) = rest.split_at((*cut).min(rest.len()));
                rest = tail;
                decoder.push(piece);
                while let Some(frame) = decoder.next_frame().unwrap() {
                    found.push(frame.to_vec());
                }
                prop_assert!(decoder.waiting_bytes() < LENGTH_BYTES + MAX_FRAME_BYTES);
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(found, datagrams);
            prop_assert_eq!(decoder.waiting_bytes(), 0);
        }
    }

    #[test]
    fn a_long_frame_is_refused_before_it_has_come() {
        let mut decoder = FrameDecoder::default();
        decoder.push(&stream_of(&[vec![1; MAX_FRAME_BYTES]]));
        decoder.push(&(MAX_FRAME_BYTES as u16 + 1).to_be_bytes());
        assert_eq!(decoder.next_frame().unwrap().unwrap().len(), MAX_FRAME_BYTES);
        let refused = Err(FrameTooLong(MAX_FRAME_BYTES + 1));
        assert_eq!([decoder.next_frame(), decoder.next_frame()], [refused.clone(), refused]);
        assert_eq!(frame_header(&[0; MAX_FRAME_BYTES + 1]), None);
    }

    #[test]
    fn frames_and_what_else_comes_to_the_port_begin_differently() {
        let (tls, http) = (0x16, b'A'..=b'Z');
        assert!(!may_begin_frame(tls) && !http.into_iter().any(may_begin_frame));
        let longest = frame_header(&[0; MAX_FRAME_BYTES]).unwrap();
        assert!(
            may_begin_frame(0) && may_begin_frame(longest[0]) && !may_begin_frame(longest[0] + 1)
        );
    }
}
