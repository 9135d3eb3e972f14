//! Send buffers of streams: how tasks write to them.

use std::mem;
use std::slice;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use bytes::Bytes;
use noq_proto::StreamId;

use super::link::Link;
use super::state::{Outbox, State, Writer};
use crate::error::QuicError;

impl Link {
    /// Writes a piece to a stream without copying it. While it is pending it holds what is left.
    pub(crate) fn poll_write(
        &self,
        cx: &mut Context<'_>,
        id: StreamId,
        piece: &mut Bytes,
    ) -> Poll<Result<(), QuicError>> {
        if piece.is_empty() {
            return Poll::Ready(Ok(()));
        }
        let mut state = self.state.lock();
        let (result, some) = self.write(&mut state, id, slice::from_mut(piece));
        if result.is_pending() {
            state.writers.insert(id, Writer::Task(cx.waker().clone()));
        }
        if some {
            self.list(state);
        }
        result
    }

    /// Writes two pieces to a stream, one behind the other. While it is pending they lie with the
    /// connection, and the driver goes on with them. Where all of them was taken back it waits until
    /// there may be room again.
    pub(crate) fn poll_leave(
        &self,
        cx: &mut Context<'_>,
        id: StreamId,
        pieces: &mut [Bytes; 2],
    ) -> Poll<Result<(), QuicError>> {
        let mut state = self.state.lock();
        if state.waits_for_room(id, cx.waker()) {
            return Poll::Pending;
        }
        if let Some(Writer::Outbox(outbox)) = state.writers.remove(&id) {
            *pieces = outbox.pieces;
        }
        let (result, some) = self.write(&mut state, id, pieces);
        if result.is_pending() {
            let outbox = Outbox { waker: cx.waker().clone(), pieces: mem::take(pieces) };
            state.writers.insert(id, Writer::Outbox(outbox));
        }
        if some {
            self.list(state);
        }
        result
    }

    /// Bytes of what was left for a stream that there was no room for yet.
    pub(crate) fn left_bytes(&self, id: StreamId) -> u64 {
        match self.state.lock().writers.get(&id) {
            Some(Writer::Outbox(outbox)) => outbox.len() as u64,
            _ => 0,
        }
    }

    /// Takes back the second of the pieces that were left for a stream: how many bytes of it were not
    /// written. What is left of the first stays, and so does whoever waits for room.
    pub(crate) fn take_back(&self, id: StreamId) -> u64 {
        match self.state.lock().writers.get_mut(&id) {
            Some(Writer::Outbox(outbox)) => mem::take(&mut outbox.pieces[1]).len() as u64,
            _ => 0,
        }
    }

    /// Writes what there is room for: all that there is, before the driver hears of it, since it would
    /// take the lock. Whether something was written.
    fn write(
        &self,
        state: &mut State,
        id: StreamId,
        pieces: &mut [Bytes],
    ) -> (Poll<Result<(), QuicError>>, bool) {
        if let Some(e) = &state.ended {
            return (Poll::Ready(Err(e.clone())), false);
        }
        if let Some(window) =
            self.send_window_policy.adapted(self.send_window(), self.control.shared())
        {
            self.window.store(window, Ordering::Relaxed);
            state.proto.set_send_window(window);
        }
        state.write(id, pieces)
    }
}
