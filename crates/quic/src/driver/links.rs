//! All connections of an endpoint.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use noq_proto::{ConnectionHandle, VarInt};

use super::link::Link;
use super::wakers::Wakers;
use crate::error::QuicError;

/// The connections of an endpoint, and the table that tells which datagram is whose.
pub(crate) struct Links {
    proto: noq_proto::Endpoint,
    /// By handle; noq-proto gives free ones out again.
    links: Vec<Option<Arc<Link>>>,
    live: usize,
    /// Code and words of [`close_all`](Self::close_all).
    closed: Option<(VarInt, Bytes)>,
    /// Nobody accepts any more.
    abandoned: bool,
    /// The driver has ended.
    dead: bool,
    idle: Wakers,
}

impl Links {
    pub(crate) fn new(proto: noq_proto::Endpoint) -> Self {
        Self {
            proto,
            links: Vec::new(),
            live: 0,
            closed: None,
            abandoned: false,
            dead: false,
            idle: Wakers::default(),
        }
    }

    /// Whether no connection may be opened any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.is_some() || self.dead
    }

    /// The state machine that makes connections.
    pub(crate) fn proto(&mut self) -> &mut noq_proto::Endpoint {
        &mut self.proto
    }

    /// Keeps a connection until it is drained.
    pub(crate) fn insert(&mut self, link: Arc<Link>) {
        let i = link.handle.0;
        if self.links.len() <= i {
            self.links.resize(i + 1, None);
        }
        self.links[i] = Some(link);
        self.live += 1;
    }

    /// Closes every connection, and refuses those to come.
    pub(crate) fn close_all(&mut self, code: VarInt, reason: Bytes) {
        for link in self.links.iter().flatten() {
            link.close(code, reason.clone());
        }
        self.closed = Some((code, reason));
    }

    /// Nobody accepts any more: the driver ends with the last connection.
    pub(crate) fn abandon(&mut self) {
        self.abandoned = true;
    }

    /// Ready when no connection is left, not even one that drains.
    pub(crate) fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.live == 0 || self.dead {
            return Poll::Ready(());
        }
        self.idle.add(cx.waker());
        Poll::Pending
    }

    pub(super) fn get(&self, handle: ConnectionHandle) -> Option<&Arc<Link>> {
        self.links.get(handle.0)?.as_ref()
    }

    pub(super) fn remove(&mut self, handle: ConnectionHandle) {
        if self.links[handle.0].take().is_some() {
            self.live -= 1;
            if self.live == 0 {
                self.idle.wake();
            }
        }
    }

    /// Whether the driver has nothing left to do, now and later.
    pub(super) fn are_over(&self) -> bool {
        self.live == 0 && (self.abandoned || self.closed.is_some())
    }

    /// Nobody drives the connections any more: nobody must wait for them.
    pub(super) fn give_up(&mut self) {
        self.dead = true;
        for link in self.links.drain(..).flatten() {
            link.end(&QuicError::ClosedHere);
        }
        self.live = 0;
        self.idle.wake();
    }
}
