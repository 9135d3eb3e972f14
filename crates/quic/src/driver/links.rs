//! All connections of an endpoint.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use noq_proto::{ConnectionHandle, EndpointEvent, VarInt};
use tokio::sync::mpsc;

use super::handshakes::Handshakes;
use super::link::{Link, Owner};
use super::moves::Moves;
use super::wakers::Wakers;
use crate::connection_limiter::Permit;
use crate::error::QuicError;

/// The connections of an endpoint, and the table that tells which datagram is whose.
pub(crate) struct Links {
    proto: noq_proto::Endpoint,
    /// By handle; noq-proto gives free ones out again.
    links: Vec<Option<Arc<Link>>>,
    /// The moves of their peers, by handle.
    moves: Vec<Moves>,
    /// The permits of those that clients opened, by handle.
    permits: BTreeMap<usize, Permit>,
    live: usize,
    /// Connections that clients open and whose handshakes are not done.
    handshakes: Handshakes,
    /// Reason for which no connection may be opened or accepted any more, once none may.
    closed: Option<QuicError>,
    /// The endpoint's handle is gone.
    abandoned: bool,
    /// Queue of the connections that clients opened and nobody has accepted yet; `None` if none may
    /// be accepted.
    accepted: Option<mpsc::UnboundedSender<Arc<Owner>>>,
    idle: Wakers,
}

impl Links {
    /// No connections yet; those that clients open will go to `accepted`. `handshakes` counts those of
    /// all endpoints at its address.
    pub(crate) fn new(
        proto: noq_proto::Endpoint,
        accepted: Option<mpsc::UnboundedSender<Arc<Owner>>>,
        handshakes: Arc<AtomicUsize>,
    ) -> Self {
        Self {
            proto,
            links: Vec::new(),
            moves: Vec::new(),
            permits: BTreeMap::new(),
            live: 0,
            handshakes: Handshakes::new(handshakes),
            closed: None,
            abandoned: false,
            accepted,
            idle: Wakers::default(),
        }
    }

    /// Reason for which no connection may be opened any more, once none may.
    pub(crate) fn closed(&self) -> Option<&QuicError> {
        self.closed.as_ref()
    }

    /// The state machine that makes connections.
    pub(crate) fn proto(&mut self) -> &mut noq_proto::Endpoint {
        &mut self.proto
    }

    /// True if there is a connection to `remote`, be it one that drains.
    pub(crate) fn any_to(&self, remote: SocketAddr) -> bool {
        self.links.iter().flatten().any(|link| link.remote() == Some(remote))
    }

    /// Keeps a connection, and its permit, until it is drained. One that a client opens has begun its
    /// handshake ([`Self::begin_handshake`]).
    pub(crate) fn insert(&mut self, now: Instant, link: Arc<Link>, permit: Option<Permit>) {
        let i = link.handle.0;
        let home = link.first_path().filter(|_| link.is_accepted()).map(|path| path.remote());
        if self.moves.len() <= i {
            self.moves.resize(i + 1, Moves::new(now, None));
        }
        self.moves[i] = Moves::new(now, home);
        self.permits.extend(permit.map(|permit| (i, permit)));
        if self.links.len() <= i {
            self.links.resize(i + 1, None);
        }
        self.links[i] = Some(link);
        self.live += 1;
    }

    /// Number of connections, those that drain included.
    pub(crate) fn len(&self) -> usize {
        self.live
    }

    /// Handshakes under way that clients have begun, at all endpoints of its address.
    pub(crate) fn handshakes(&self) -> usize {
        self.handshakes.all()
    }

    /// A client begins one, unless there are `most`. Whether it does.
    pub(super) fn begin_handshake(&mut self, most: usize) -> bool {
        self.handshakes.begin(most)
    }

    /// One of them is done, or given up.
    pub(super) fn end_handshake(&mut self) {
        self.handshakes.end(1);
    }

    /// True if nothing waits to be sent or acknowledged on any connection.
    pub(crate) fn all_flushed(&self) -> bool {
        self.links.iter().flatten().all(|link| link.is_flushed())
    }

    /// Closes every connection, and refuses those to come.
    pub(crate) fn close_all(&mut self, code: VarInt, reason: Bytes) {
        for link in self.links.iter().flatten() {
            link.close(code, reason.clone());
        }
        self.closed.get_or_insert(QuicError::ClosedHere);
        self.accepted = None;
    }

    /// True if a task accepts connections.
    pub(super) fn accepts(&self) -> bool {
        self.accepted.as_ref().is_some_and(|a| !a.is_closed())
    }

    /// Passes a connection to the task that accepts. Without one, dropping it closes it.
    pub(super) fn announce(&self, connection: Arc<Owner>) {
        if let Some(accepted) = &self.accepted {
            drop(accepted.send(connection));
        }
    }

    /// The endpoint's handle is gone: the driver ends with the last connection.
    pub(crate) fn abandon(&mut self) {
        self.abandoned = true;
    }

    /// Ready when no connection is left, not even one that drains.
    pub(crate) fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.live == 0 {
            return Poll::Ready(());
        }
        self.idle.add(cx.waker());
        Poll::Pending
    }

    /// True if a connection takes a datagram of so many bytes from an address.
    pub(super) fn admit(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        from: SocketAddr,
        bytes: u64,
    ) -> bool {
        self.moves.get_mut(handle.0).is_none_or(|moves| moves.admit(now, from, bytes))
    }

    pub(super) fn get(&self, handle: ConnectionHandle) -> Option<&Arc<Link>> {
        self.links.get(handle.0)?.as_ref()
    }

    /// A connection, and the state machine that it reports to.
    pub(super) fn get_with_proto(
        &mut self,
        handle: ConnectionHandle,
    ) -> Option<(&Arc<Link>, &mut noq_proto::Endpoint)> {
        let link = self.links.get(handle.0)?.as_ref()?;
        Some((link, &mut self.proto))
    }

    /// Ends a connection after a panic in what belongs to it, with `what` as the reason. True if
    /// it must now be put on the driver's list, to tell its peer.
    pub(super) fn fail(&mut self, handle: ConnectionHandle, what: &str) -> bool {
        let Some(link) = self.get(handle).cloned() else { return false };
        if link.fail(what) {
            return link.enlist();
        }
        // Its state machine will not say that it is drained any more.
        self.proto.handle_event(handle, EndpointEvent::drained());
        self.remove(handle);
        false
    }

    pub(super) fn remove(&mut self, handle: ConnectionHandle) {
        self.permits.remove(&handle.0);
        if let Some(link) = self.links[handle.0].take() {
            // One that was never announced ended in its handshake.
            self.handshakes.end(usize::from(link.is_unannounced()));
            self.live -= 1;
            if self.live == 0 {
                self.idle.wake();
            }
        }
    }

    /// True if the driver has nothing left to do, now and later.
    pub(super) fn are_over(&self) -> bool {
        self.live == 0 && (self.abandoned || self.closed.is_some())
    }

    /// The driver has ended: ends every connection and wakes the tasks that wait for one.
    pub(super) fn give_up(&mut self, why: &QuicError) {
        self.closed.get_or_insert_with(|| why.clone());
        self.accepted = None;
        for link in self.links.drain(..).flatten() {
            link.end(why);
        }
        self.live = 0;
        self.handshakes.end(usize::MAX);
        self.permits.clear();
        self.idle.wake();
    }
}
