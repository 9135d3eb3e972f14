//! A QUIC stream that is read through a buffer.

use airlane_quic::RecvStream;
use bytes::BytesMut;

use crate::error::MultipathError;

/// Reader of a QUIC stream that keeps what has come and was not taken.
pub(crate) struct BufferedReader {
    stream: RecvStream,
    buffer: BytesMut,
}

impl BufferedReader {
    pub(crate) fn new(stream: RecvStream) -> Self {
        Self { stream, buffer: BytesMut::new() }
    }

    /// Takes exactly so many bytes.
    pub(crate) async fn exactly(&mut self, bytes: usize) -> Result<BytesMut, MultipathError> {
        while self.buffer.len() < bytes {
            self.more().await?;
        }
        Ok(self.buffer.split_to(bytes))
    }

    /// The bytes that have come and were not taken.
    pub(crate) fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// Waits for more.
    pub(crate) async fn more(&mut self) -> Result<(), MultipathError> {
        let piece = self.stream.read_chunk(usize::MAX).await?.ok_or(MultipathError::Ended)?;
        self.buffer.extend_from_slice(&piece);
        Ok(())
    }
}
