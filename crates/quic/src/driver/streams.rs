//! The streams of a connection, as the handles of their two halves use them. Writing is in `send_buffer`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use noq_proto::{Dir, StreamId, VarInt};

use super::inbox::{Inbox, MAX_PIECES, Stop};
use super::link::Link;
use super::state::Reader;
use crate::error::QuicError;
use crate::fair::SendOrder;
use crate::priority::Priority;

impl Link {
    /// Opens a stream.
    pub(crate) fn poll_open(
        &self,
        cx: &mut Context<'_>,
        dir: Dir,
    ) -> Poll<Result<StreamId, QuicError>> {
        let mut state = self.state.lock();
        if let Some(e) = &state.ended {
            return Poll::Ready(Err(e.clone()));
        }
        match state.proto.streams().open(dir) {
            Some(id) => Poll::Ready(Ok(id)),
            None => {
                state.leave[dir as usize].add(cx.waker());
                Poll::Pending
            }
        }
    }

    /// Takes a stream that the peer opened.
    pub(crate) fn poll_accept(
        &self,
        cx: &mut Context<'_>,
        dir: Dir,
    ) -> Poll<Result<StreamId, QuicError>> {
        let mut state = self.state.lock();
        // What came before the end can still be read.
        if let Some(id) = state.proto.streams().accept(dir) {
            // The peer may now open another: it must be told.
            self.list(state);
            return Poll::Ready(Ok(id));
        }
        if let Some(e) = &state.ended {
            return Poll::Ready(Err(e.clone()));
        }
        state.incoming[dir as usize].add(cx.waker());
        Poll::Pending
    }

    /// Puts a stream where `order` says among those that wait for room. What is first leaves first,
    /// too.
    pub(crate) fn place(&self, id: StreamId, order: SendOrder) {
        let mut state = self.state.lock();
        state.fair.place(id, order);
        // Fails where the stream was given up: nothing is left to order.
        let _ = state.proto.send_stream(id).set_priority(i32::from(order.first));
    }

    /// Sets the priority of a stream that was placed.
    pub(crate) fn prioritise(&self, id: StreamId, priority: Priority) {
        self.state.lock().fair.set_priority(id, priority);
    }

    /// Sets the weight of a group of streams.
    pub(crate) fn set_group_weight(&self, group: u64, weight: f64) {
        self.state.lock().fair.set_weight(group, weight);
    }

    /// Reads what has come of a stream in order, to the end of `into`: a piece of at most `max` bytes,
    /// or where there is an inbox as many as it holds. Whether the stream has ended behind them. What
    /// is waited for comes to the inbox.
    pub(crate) fn poll_read(
        &self,
        cx: &mut Context<'_>,
        id: StreamId,
        max: usize,
        into: &mut VecDeque<Bytes>,
        inbox: Option<&Arc<Inbox>>,
    ) -> Poll<Option<Result<(), QuicError>>> {
        let mut state = self.state.lock();
        let before = into.len();
        let pieces = if inbox.is_some() { MAX_PIECES } else { 1 };
        let (stop, tell_peer) = state.take(id, (pieces, max), into);
        let result = match stop {
            Stop::Full => Poll::Ready(None),
            Stop::End(end) => Poll::Ready(Some(end)),
            Stop::Blocked if into.len() > before => Poll::Ready(None),
            Stop::Blocked => match &state.ended {
                Some(e) => Poll::Ready(Some(Err(e.clone()))),
                None => {
                    let reader = match inbox {
                        None => Reader::Task(cx.waker().clone()),
                        Some(inbox) => {
                            inbox.open(cx.waker());
                            Reader::Inbox(inbox.clone())
                        }
                    };
                    state.readers.insert(id, reader);
                    Poll::Pending
                }
            },
        };
        if tell_peer {
            self.list(state);
        }
        result
    }

    /// Ready when the peer has acknowledged all of a finished stream, or does not want it.
    pub(crate) fn poll_delivered(
        &self,
        cx: &mut Context<'_>,
        id: StreamId,
    ) -> Poll<Result<(), QuicError>> {
        let mut state = self.state.lock();
        match (state.proto.send_stream(id).stopped(), &state.ended) {
            (Err(_), _) => Poll::Ready(Ok(())),
            (Ok(Some(code)), _) => {
                Poll::Ready(Err(QuicError::StreamEnded { code: code.into_inner() }))
            }
            (Ok(None), Some(e)) => Poll::Ready(Err(e.clone())),
            (Ok(None), None) => {
                state.closers.insert(id, cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Changes the sending half of a stream; the peer is told if that works.
    pub(crate) fn change_send<T, E>(
        &self,
        id: StreamId,
        f: impl FnOnce(&mut noq_proto::SendStream<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut state = self.state.lock();
        let result = f(&mut state.proto.send_stream(id));
        if result.is_ok() {
            self.list(state);
        }
        result
    }

    /// Tells the peer that nothing more of a stream is wanted.
    pub(crate) fn stop(&self, id: StreamId, code: VarInt) -> Result<(), QuicError> {
        let mut state = self.state.lock();
        state.proto.recv_stream(id).stop(code).map_err(|_| QuicError::StreamClosed)?;
        self.list(state);
        Ok(())
    }

    /// The sending half of a stream is dropped: what was written is all there is.
    pub(crate) fn drop_send(&self, id: StreamId) {
        let mut state = self.state.lock();
        state.writers.remove(&id);
        state.closers.remove(&id);
        state.fair.remove(id);
        if state.ended.is_some() {
            return;
        }
        let mut stream = state.proto.send_stream(id);
        let changed = match stream.finish() {
            Ok(()) => true,
            Err(noq_proto::FinishError::Stopped(code)) => stream.reset(code).is_ok(),
            Err(noq_proto::FinishError::ClosedStream) => false,
        };
        if changed {
            self.list(state);
        }
    }

    /// The receiving half of a stream is dropped; before its end the peer is told to stop.
    pub(crate) fn drop_recv(&self, id: StreamId) {
        let mut state = self.state.lock();
        state.readers.remove(&id);
        if state.ended.is_none() && state.proto.recv_stream(id).stop(VarInt::from_u32(0)).is_ok() {
            self.list(state);
        }
    }
}
