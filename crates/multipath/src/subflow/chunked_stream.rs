//! A chunked stream: a stream of bytes of any length in one direction of a connection, made of QUIC
//! streams that follow each other.
//!
//! One QUIC stream would do but for its window, which bounds what may be in flight
//! ([`airlane_quic::MAX_STREAM_WINDOW_BYTES`]): at 1.4 Gbit/s 2 MiB last for 12 ms. And for each
//! packet noq walks through the pieces that a stream has in flight: over streams of 1 MB that was a
//! sixth of all work.

use airlane_quic::{Connection, QuicError, RecvStream, SendStream};
use bytes::{Buf, Bytes};

use crate::error::MultipathError;

/// Bytes of a QUIC stream, the name of the chunked stream at its beginning included: far below its window, so
/// that this never binds.
const STREAM_BYTES: usize = 256 << 10;
/// The name of a chunked stream: the first bytes of each of its QUIC streams.
pub(crate) type ChunkedStreamName = [u8; 16];
/// Bytes of the name.
const NAME_BYTES: usize = size_of::<ChunkedStreamName>();

/// The sending end.
pub(crate) struct ChunkedSender {
    connection: Connection,
    name: ChunkedStreamName,
    /// The QUIC stream, and the bytes that it still takes.
    stream: Option<(SendStream, usize)>,
    priority: i32,
}

impl ChunkedSender {
    pub(crate) fn new(connection: Connection, name: ChunkedStreamName) -> Self {
        Self { connection, name, stream: None, priority: i32::MAX - 1 }
    }

    /// Appends `data`; waits while the connection takes no more.
    pub(crate) async fn write(&mut self, mut data: Bytes) -> Result<(), QuicError> {
        while data.has_remaining() {
            let (stream, room) = match &mut self.stream {
                Some(open) => open,
                none => none.insert((self.connection.open_uni().await?, STREAM_BYTES)),
            };
            if *room == STREAM_BYTES {
                // Earlier ones first, so that the data stream arrives in order but for what is lost.
                stream.set_priority(self.priority)?;
                self.priority = self.priority.saturating_sub(1);
                stream.write_all(Bytes::copy_from_slice(&self.name)).await?;
                *room -= NAME_BYTES;
            }
            let part = data.split_to(data.len().min(*room));
            *room -= part.len();
            let is_full = *room == 0;
            stream.write_all(part).await?;
            if is_full {
                stream.finish()?;
                self.stream = None;
            }
        }
        Ok(())
    }
}

/// The receiving end.
pub(crate) struct ChunkedReceiver {
    connection: Connection,
    name: ChunkedStreamName,
    current: Option<RecvStream>,
}

impl ChunkedReceiver {
    pub(crate) fn new(connection: Connection, name: ChunkedStreamName) -> Self {
        Self { connection, name, current: None }
    }

    /// The next bytes.
    pub(crate) async fn read(&mut self) -> Result<Bytes, MultipathError> {
        loop {
            let mut stream = match self.current.take() {
                Some(stream) => stream,
                None => self.next_stream().await?,
            };
            if let Some(piece) = stream.read_chunk(usize::MAX).await? {
                self.current = Some(stream);
                return Ok(piece);
            }
        }
    }

    async fn next_stream(&self) -> Result<RecvStream, MultipathError> {
        let mut stream = self.connection.accept_uni().await?;
        let mut known = 0;
        while known < NAME_BYTES {
            let piece = stream.read_chunk(NAME_BYTES - known).await?;
            let piece =
                piece.ok_or(MultipathError::Protocol("a data_stream that ends in its name"))?;
            if self.name[known..known + piece.len()] != piece {
                return Err(MultipathError::Protocol("a data_stream of another stream"));
            }
            known += piece.len();
        }
        Ok(stream)
    }
}
