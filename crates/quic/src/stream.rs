//! The two halves of streams.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use noq_proto::{FinishError, StreamId, VarInt};

use crate::driver::{Found, Inbox, Owner};
use crate::error::QuicError;

/// The sending half of a stream. Dropped without [`finish`](Self::finish) it is finished too, with
/// what was written so far.
pub struct SendStream {
    link: Arc<Owner>,
    id: StreamId,
}

impl fmt::Debug for SendStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SendStream").field(&self.id()).finish()
    }
}

impl SendStream {
    pub(crate) fn new(link: &Arc<Owner>, id: StreamId) -> Self {
        Self { link: link.clone(), id }
    }

    /// Writes all of `data` without copying it; waits while the send window is full.
    ///
    /// # Errors
    /// If the peer does not want it or the connection is lost.
    pub async fn write_all(&mut self, mut data: Bytes) -> Result<(), QuicError> {
        poll_fn(|cx| self.poll_write(cx, &mut data)).await
    }

    /// Writes `data`, of which the rest is left while it is pending.
    pub(crate) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        data: &mut Bytes,
    ) -> Poll<Result<(), QuicError>> {
        self.link.poll_write(cx, self.id, data)
    }

    /// Writes two pieces, one behind the other. While it is pending they lie with the connection.
    pub(crate) fn poll_leave(
        &mut self,
        cx: &mut Context<'_>,
        pieces: &mut [Bytes; 2],
    ) -> Poll<Result<(), QuicError>> {
        self.link.poll_leave(cx, self.id, pieces)
    }

    /// Tells the peer that no more follows. What was written is still delivered.
    ///
    /// # Errors
    /// If it was finished or reset before.
    pub fn finish(&mut self) -> Result<(), QuicError> {
        match self.link.change_send(self.id, |s| s.finish()) {
            // `delivered` reports if the peer did not want it.
            Ok(()) | Err(FinishError::Stopped(_)) => Ok(()),
            Err(FinishError::ClosedStream) => Err(QuicError::StreamClosed),
        }
    }

    /// Waits until the peer has acknowledged everything, after [`finish`](Self::finish).
    ///
    /// # Errors
    /// If the peer does not want it or the connection is lost.
    pub async fn delivered(&mut self) -> Result<(), QuicError> {
        poll_fn(|cx| self.link.poll_delivered(cx, self.id)).await
    }

    /// Gives up what is not delivered. A peer that asked to stop gets its own code back (RFC 9000,
    /// section 3.5), and not this one.
    ///
    /// # Errors
    /// If it was reset, or finished and delivered, before.
    pub fn reset(&mut self, code: u32) -> Result<(), QuicError> {
        self.reset_with(VarInt::from_u32(code))
    }

    pub(crate) fn reset_with(&mut self, code: VarInt) -> Result<(), QuicError> {
        let reset = |s: &mut noq_proto::SendStream<'_>| {
            let asked = s.stopped().ok().flatten();
            s.reset(asked.unwrap_or(code))
        };
        self.link.change_send(self.id, reset).map_err(|_| QuicError::StreamClosed)
    }

    /// Streams of a higher priority go first; 0 at first.
    ///
    /// # Errors
    /// If the stream is closed.
    pub fn set_priority(&self, priority: i32) -> Result<(), QuicError> {
        self.link
            .change_send(self.id, |s| s.set_priority(priority))
            .map_err(|_| QuicError::StreamClosed)
    }

    /// Its number in the connection (RFC 9000, section 2.1).
    pub fn id(&self) -> u64 {
        VarInt::from(self.id).into_inner()
    }
}

impl Drop for SendStream {
    fn drop(&mut self) {
        self.link.drop_send(self.id);
    }
}

/// The receiving half of a stream. Dropped before its end it tells the peer to stop.
pub struct RecvStream {
    link: Arc<Owner>,
    id: StreamId,
    /// Inbox in which the driver puts the data of the stream, for readers that take all of it.
    inbox: Option<Arc<Inbox>>,
    /// Taken, and not asked for yet.
    taken: VecDeque<Bytes>,
    /// End of the stream: complete, or reset with a code.
    ended: Option<Result<(), QuicError>>,
}

impl fmt::Debug for RecvStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RecvStream").field(&self.id()).finish()
    }
}

impl RecvStream {
    pub(crate) fn new(link: &Arc<Owner>, id: StreamId) -> Self {
        Self { link: link.clone(), id, inbox: None, taken: VecDeque::new(), ended: None }
    }

    /// The same for a reader that always asks for all that has come: it then need not lock the
    /// connection for every packet.
    pub(crate) fn taking_all(mut self) -> Self {
        self.inbox = Some(Arc::default());
        self
    }

    /// The next bytes in order, at most `max`, as they came; `None` after the last.
    ///
    /// # Errors
    /// If the peer resets the stream or the connection is lost.
    pub async fn read_chunk(&mut self, max: usize) -> Result<Option<Bytes>, QuicError> {
        poll_fn(|cx| self.poll_read(cx, max)).await
    }

    pub(crate) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        max: usize,
    ) -> Poll<Result<Option<Bytes>, QuicError>> {
        loop {
            if let Some(piece) = self.taken.pop_front() {
                return Poll::Ready(Ok(Some(piece)));
            }
            if let Some(end) = &self.ended {
                return Poll::Ready(end.clone().map(|()| None));
            }
            let found = match &self.inbox {
                Some(inbox) => ready!(inbox.poll_take(cx, &mut self.taken)),
                None => Found::Nothing,
            };
            let end = match found {
                Found::Pieces => None,
                Found::End(end) => Some(end),
                Found::Nothing => {
                    let (inbox, taken) = (self.inbox.as_ref(), &mut self.taken);
                    ready!(self.link.poll_read(cx, self.id, max, taken, inbox))
                }
            };
            match end {
                // A connection that is lost says so again.
                Some(end @ (Ok(()) | Err(QuicError::StreamEnded { .. }))) => self.ended = Some(end),
                Some(Err(e)) => return Poll::Ready(Err(e)),
                None => {}
            }
        }
    }

    /// Everything up to the end, but no more than `max` bytes.
    ///
    /// # Errors
    /// If more comes, the peer resets the stream or the connection is lost.
    pub async fn read_to_end(&mut self, max: usize) -> Result<Vec<u8>, QuicError> {
        let mut all = Vec::new();
        while let Some(chunk) = self.read_chunk(max.saturating_sub(all.len()).max(1)).await? {
            if all.len() + chunk.len() > max {
                return Err(QuicError::Config(format!("more than {max} bytes on one stream")));
            }
            all.extend_from_slice(&chunk);
        }
        Ok(all)
    }

    /// Tells the peer that nothing more is wanted.
    ///
    /// # Errors
    /// If the stream is closed.
    pub fn stop(&mut self, code: u32) -> Result<(), QuicError> {
        self.stop_with(VarInt::from_u32(code))
    }

    pub(crate) fn stop_with(&mut self, code: VarInt) -> Result<(), QuicError> {
        match self.ended {
            Some(_) => Err(QuicError::StreamClosed),
            None => self.link.stop(self.id, code),
        }
    }

    /// Its number in the connection (RFC 9000, section 2.1).
    pub fn id(&self) -> u64 {
        VarInt::from(self.id).into_inner()
    }
}

impl Drop for RecvStream {
    fn drop(&mut self) {
        if self.ended.is_none() {
            self.link.drop_recv(self.id);
        }
    }
}
