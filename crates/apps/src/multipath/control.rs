//! The control stream of a path: the first message each way, then frames that are no segments.

use airlane_quic::RecvStream;
use bytes::BytesMut;

use super::error::MultipathError;

/// Reads it.
pub(super) struct ControlReader {
    stream: RecvStream,
    buffer: BytesMut,
}

impl ControlReader {
    pub(super) fn new(stream: RecvStream) -> Self {
        Self { stream, buffer: BytesMut::new() }
    }

    /// Exactly so many bytes.
    pub(super) async fn exactly(&mut self, bytes: usize) -> Result<BytesMut, MultipathError> {
        while self.buffer.len() < bytes {
            self.more().await?;
        }
        Ok(self.buffer.split_to(bytes))
    }

    /// What has come and was not taken.
    pub(super) fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// Waits for more.
    pub(super) async fn more(&mut self) -> Result<(), MultipathError> {
        let piece = self.stream.read_chunk(usize::MAX).await?.ok_or(MultipathError::Ended)?;
        self.buffer.extend_from_slice(&piece);
        Ok(())
    }
}
