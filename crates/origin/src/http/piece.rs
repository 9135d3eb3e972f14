//! A piece of a body that can be read again.

use std::time::Duration;

use airlane_quic::{QuicError, Responder};
use bytes::Bytes;

use super::within;
use crate::store::Source;

/// Bytes of a piece that was taken back that are read again at a time. Few, since a client can make room
/// byte by byte, and so many are read and kept each time.
const AGAIN_BYTES: u64 = 16 << 10;

/// A piece of a body, and where it can be read again.
#[derive(Debug)]
pub struct Piece<'a> {
    /// Its bytes.
    pub bytes: Bytes,
    /// Position in `source` at which it begins.
    pub at: u64,
    /// Source that it was read from.
    pub source: &'a dyn Source,
    /// Time for which the client may take nothing of it before it is taken back; `None`: for ever.
    pub reclaim_timeout: Option<Duration>,
}

impl Piece<'_> {
    /// Sends it. What the client does not take is not kept for it: it is read again when there is
    /// room. A client may ask for ten thousand answers and take none, which would fill the memory.
    pub(super) async fn send(self, responder: &mut Responder) -> Result<(), QuicError> {
        let Some(reclaim_timeout) = self.reclaim_timeout else {
            return responder.send_data(self.bytes).await;
        };
        let runtime = responder.connection().runtime().clone();
        let end = self.at + self.bytes.len() as u64;
        let mut sent =
            within(&runtime, Some(reclaim_timeout), responder.send_data(self.bytes)).await;
        loop {
            // As long as some of it is taken it is left alone.
            let mut waiting = u64::MAX;
            while sent.is_none() && responder.waiting_bytes() < waiting {
                waiting = responder.waiting_bytes();
                sent = within(&runtime, Some(reclaim_timeout), responder.taken()).await;
            }
            sent.unwrap_or(Ok(()))?;
            let lacking = responder.take_back();
            if lacking == 0 {
                return Ok(());
            }
            responder.taken().await?;
            let at = end - lacking;
            let again = self.source.read(at..end.min(at + AGAIN_BYTES)).await;
            let again = again.map_err(|e| QuicError::Http(format!("not read again: {e}")))?;
            if again.is_empty() {
                return Err(QuicError::Http("the object ended early".to_owned()));
            }
            sent = within(&runtime, Some(reclaim_timeout), responder.send_rest(again)).await;
        }
    }
}
