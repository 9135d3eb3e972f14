//! Connections and their streams.

use std::fmt;
use std::future::poll_fn;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use airlane_runtime::RuntimeHandle;
use bytes::Bytes;
use noq_proto::{Dir, StreamId, VarInt};

use crate::control::ControlHandle;
use crate::crypto::PublicKey;
use crate::datagram_counts::DatagramCounts;
use crate::driver::{Owner, WeakLink};
use crate::error::QuicError;
use crate::fair::SendOrder;
use crate::priority::Priority;
use crate::stream::{RecvStream, SendStream};

/// A connection. Clones are handles to the same one; it is closed when the last handle and the
/// last of its streams are dropped.
#[derive(Clone)]
pub struct Connection(Arc<Owner>);

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("remote", &self.remote_addr()).finish_non_exhaustive()
    }
}

impl Connection {
    pub(crate) fn new(link: Arc<Owner>) -> Self {
        Self(link)
    }

    /// The runtime that it runs on.
    pub fn runtime(&self) -> &RuntimeHandle {
        self.0.runtime()
    }

    /// Waits for the end of the handshake.
    pub(crate) async fn connected(&self) -> Result<(), QuicError> {
        poll_fn(|cx| self.0.poll_connected(cx)).await
    }

    /// Opens a stream in both directions; waits while the peer allows no more. The peer hears of
    /// it with the first bytes.
    ///
    /// # Errors
    /// If the connection is lost.
    pub async fn open_bi(&self) -> Result<(SendStream, RecvStream), QuicError> {
        poll_fn(|cx| self.poll_open_bi(cx)).await
    }

    /// Opens a stream that only this side sends on; waits while the peer allows no more.
    ///
    /// # Errors
    /// If the connection is lost.
    pub async fn open_uni(&self) -> Result<SendStream, QuicError> {
        poll_fn(|cx| self.poll_open_uni(cx)).await
    }

    /// The next stream in both directions that the peer opens.
    ///
    /// # Errors
    /// If the connection is lost.
    pub async fn accept_bi(&self) -> Result<(SendStream, RecvStream), QuicError> {
        poll_fn(|cx| self.poll_accept_bi(cx)).await
    }

    /// The next stream that the peer opens to send on.
    ///
    /// # Errors
    /// If the connection is lost.
    pub async fn accept_uni(&self) -> Result<RecvStream, QuicError> {
        poll_fn(|cx| self.poll_accept_uni(cx)).await
    }

    pub(crate) fn poll_open_bi(
        &self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(SendStream, RecvStream), QuicError>> {
        let id = ready!(self.0.poll_open(cx, Dir::Bi))?;
        Poll::Ready(Ok((SendStream::new(&self.0, id), RecvStream::new(&self.0, id))))
    }

    pub(crate) fn poll_open_uni(
        &self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<SendStream, QuicError>> {
        let id = ready!(self.0.poll_open(cx, Dir::Uni))?;
        Poll::Ready(Ok(SendStream::new(&self.0, id)))
    }

    pub(crate) fn poll_accept_bi(
        &self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(SendStream, RecvStream), QuicError>> {
        let id = ready!(self.0.poll_accept(cx, Dir::Bi))?;
        Poll::Ready(Ok((SendStream::new(&self.0, id), RecvStream::new(&self.0, id))))
    }

    pub(crate) fn poll_accept_uni(
        &self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<RecvStream, QuicError>> {
        let id = ready!(self.0.poll_accept(cx, Dir::Uni))?;
        Poll::Ready(Ok(RecvStream::new(&self.0, id)))
    }

    /// A reference that does not keep it open.
    pub(crate) fn weak(&self) -> WeakLink {
        Arc::downgrade(self.0.link())
    }

    /// The congestion controller.
    pub fn control(&self) -> &ControlHandle {
        self.0.control()
    }

    /// Writes two pieces to a stream, one behind the other and without copying them. While it is
    /// pending they lie with the connection.
    pub(crate) fn poll_leave(
        &self,
        cx: &mut Context<'_>,
        id: StreamId,
        pieces: &mut [Bytes; 2],
    ) -> Poll<Result<(), QuicError>> {
        self.0.poll_leave(cx, id, pieces)
    }

    /// Bytes of what was left for a stream that there was no room for yet.
    pub(crate) fn left_bytes(&self, id: StreamId) -> u64 {
        self.0.left_bytes(id)
    }

    /// Takes back the second of the pieces that were left for a stream: how many bytes of it were not
    /// written.
    pub(crate) fn take_back(&self, id: StreamId) -> u64 {
        self.0.take_back(id)
    }

    /// Sets the weight of a group of streams: where several groups have something to send, the bytes of
    /// each are in proportion to its weight, which is 1 at first. What is no positive number is ignored.
    pub fn set_group_weight(&self, group: u64, weight: f64) {
        self.0.set_group_weight(group, weight);
    }

    /// Puts a stream where `order` says among those that wait for room.
    pub(crate) fn place(&self, id: StreamId, order: SendOrder) {
        self.0.place(id, order);
    }

    /// Sets the priority of a stream that was placed.
    pub(crate) fn prioritise(&self, id: StreamId, priority: Priority) {
        self.0.prioritise(id, priority);
    }

    /// Bytes that may wait or be in flight at the moment.
    pub(crate) fn send_window(&self) -> u64 {
        self.0.send_window()
    }

    /// A secret of both ends (the exporter of TLS 1.3, RFC 8446, section 7.5), for another protocol;
    /// `None` where the laboratory's null cipher protects nothing.
    ///
    /// # Errors
    /// If there is none yet: the handshake is not done.
    pub fn exported_secret(
        &self,
        label: &str,
        context: &[u8],
    ) -> Result<Option<[u8; 32]>, QuicError> {
        if !self.0.protects {
            return Ok(None);
        }
        let mut secret = [0; 32];
        self.0.export(label.as_bytes(), context, &mut secret)?;
        Ok(Some(secret))
    }

    /// The public key of the certificate that the peer showed; `None` if it showed none.
    pub fn peer_public_key(&self) -> Option<PublicKey> {
        self.0.peer_public_key()
    }

    /// The address of the peer that the handshake has validated, and the local one that it sends to, as
    /// far as is known. The peer may have migrated since.
    pub fn validated_addr(&self) -> Option<(SocketAddr, Option<IpAddr>)> {
        self.0.first_path().map(|path| (path.remote(), path.local_ip()))
    }

    /// True if the peer opened the connection: then the peer may migrate.
    pub fn is_accepted(&self) -> bool {
        self.0.is_accepted()
    }

    /// The peer's address. It changes when the peer migrates, before it is known whether the peer is
    /// there.
    pub fn remote_addr(&self) -> Option<SocketAddr> {
        self.0.remote()
    }

    /// UDP datagrams of the connection so far, sent and received.
    pub fn datagram_counts(&self) -> DatagramCounts {
        self.0.link().datagram_counts()
    }

    /// The peer has asked for something: a server's connection is then not evicted
    /// ([`AcceptConfig::connection_limiter`](crate::AcceptConfig::connection_limiter)).
    pub fn mark_active(&self) {
        if let Some(activity) = self.0.link().activity() {
            activity.mark_active();
        }
    }

    /// Everything that the peer asked for is answered: its connection may be evicted again.
    pub fn mark_idle(&self) {
        if let Some(activity) = self.0.link().activity() {
            activity.mark_idle();
        }
    }

    /// Closes the connection at once: what is not delivered is lost.
    pub fn close(&self, code: u32, reason: &str) {
        self.close_with(VarInt::from_u32(code), Bytes::copy_from_slice(reason.as_bytes()));
    }

    pub(crate) fn close_with(&self, code: VarInt, reason: Bytes) {
        self.0.close(code, reason);
    }

    /// Waits until the connection ends, and tells why it did.
    pub async fn closed(&self) -> QuicError {
        poll_fn(|cx| self.0.poll_ended(cx)).await
    }
}
