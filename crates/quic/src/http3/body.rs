//! The body of an answer, written past h3.
//!
//! h3 gives pieces away for reading only, so that a transport has to copy each. A DATA frame is no
//! more than its length and the piece, and a stream takes both as they are.

use std::task::{Context, Poll, ready};

use bytes::{BufMut, Bytes, BytesMut};
use noq_proto::StreamId;

use crate::connection::Connection;
use crate::error::QuicError;

/// Writes DATA frames to a stream that belongs to somebody else.
pub(super) struct BodyWriter {
    connection: Connection,
    id: StreamId,
    /// The frame that is being written: its head and the piece, unless the connection has them.
    writing: [Bytes; 2],
    done: bool,
    /// Bytes of the frame that were taken back.
    lacking: u64,
}

impl BodyWriter {
    pub(super) fn new(connection: Connection, id: StreamId) -> Self {
        Self { connection, id, writing: Default::default(), done: true, lacking: 0 }
    }

    /// The connection of the stream.
    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Begins a frame, unless one is being written.
    pub(super) fn begin(&mut self, piece: Bytes) -> Result<(), QuicError> {
        if !self.done || self.lacking > 0 {
            return Err(QuicError::Http(
                "a piece of a body was sent before the one before it was written".to_owned(),
            ));
        }
        self.writing = [frame_head(piece.len() as u64), piece];
        self.done = false;
        Ok(())
    }

    /// Goes on with the frame of which something was taken back.
    pub(super) fn go_on(&mut self, piece: Bytes) -> Result<(), QuicError> {
        let lacking = self.lacking.checked_sub(piece.len() as u64);
        let (Some(lacking), true) = (lacking, self.done) else {
            return Err(QuicError::Http("more of a piece than was taken back".to_owned()));
        };
        self.lacking = lacking;
        self.writing = [Bytes::new(), piece];
        self.done = false;
        Ok(())
    }

    /// Bytes of the frame that there was no room for yet.
    pub(super) fn waiting(&self) -> u64 {
        if self.done { 0 } else { self.connection.left_bytes(self.id) }
    }

    /// Takes the piece back that is being written. How many bytes the frame lacks now: those at the end
    /// of its piece.
    pub(super) fn take_back(&mut self) -> u64 {
        if !self.done {
            self.lacking += self.connection.take_back(self.id);
        }
        self.lacking
    }

    /// Writes what is left of it.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), QuicError>> {
        if !self.done {
            ready!(self.connection.poll_leave(cx, self.id, &mut self.writing))?;
            self.done = true;
        }
        Poll::Ready(Ok(()))
    }
}

/// Type and length of a DATA frame (RFC 9114, section 7.2.1) as integers of QUIC (RFC 9000, section
/// 16).
fn frame_head(bytes: u64) -> Bytes {
    const DATA: u8 = 0;
    let mut head = BytesMut::with_capacity(9);
    head.put_u8(DATA);
    match bytes {
        0..0x40 => head.put_uint(bytes, 1),
        0x40..0x4000 => head.put_uint(0x4000 | bytes, 2),
        0x4000..0x4000_0000 => head.put_uint(0x8000_0000 | bytes, 4),
        _ => head.put_u64(0xc000_0000_0000_0000 | bytes),
    }
    head.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_holds_the_length_in_as_few_bytes_as_it_takes() {
        // The examples of RFC 9000, appendix A.1.
        assert_eq!(frame_head(37)[..], [0, 0x25]);
        assert_eq!(frame_head(15_293)[..], [0, 0x7b, 0xbd]);
        assert_eq!(frame_head(494_878_333)[..], [0, 0x9d, 0x7f, 0x3e, 0x7d]);
        let longest = [0, 0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c];
        assert_eq!(frame_head(151_288_809_941_952_652)[..], longest);
        // Where one more byte is needed.
        let lengths = [0, 63, 64, 16_383, 16_384, (1 << 30) - 1, 1 << 30];
        assert_eq!(lengths.map(|n| frame_head(n).len()), [2, 2, 3, 3, 5, 5, 9]);
    }
}
