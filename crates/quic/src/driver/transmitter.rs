//! The socket, and the datagrams that it had no room for yet.

use std::io;
use std::mem;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use airlane_base::{Dscp, Ecn};
use airlane_runtime::{Datagram, Received, UdpSocket};
use noq_proto::{EcnCodepoint, Transmit};

pub(super) struct Transmitter {
    socket: Arc<dyn UdpSocket>,
    /// Datagrams may be marked, where noq wants them to.
    ecn: bool,
    /// DSCP of every datagram.
    dscp: Dscp,
    /// Datagrams name the local address that they leave from: of a server, whose clients expect it. A
    /// client's leave from whichever leads to the server, since the one before may be gone.
    names_source: bool,
    held: Option<PendingBatch>,
}

/// Datagrams that wait for room in the socket: at most one batch.
struct PendingBatch {
    to: Route,
    bytes: Vec<u8>,
    sent: usize,
}

/// Addresses and ECN of the datagrams of a batch, and the size of each.
#[derive(Clone, Copy)]
struct Route {
    dst: SocketAddr,
    src: Option<IpAddr>,
    segment: usize,
    ecn: Ecn,
}

impl Route {
    fn of(transmit: &Transmit, ecn: bool, names_source: bool) -> Self {
        Self {
            ecn: match transmit.ecn {
                // Of a connection whose controller asks for it.
                Some(EcnCodepoint::Ect1) => Ecn::Ect1,
                // Where it is not asked for the peer reports no counts, and noq, which always begins with
                // marks, stops expecting any.
                Some(EcnCodepoint::Ect0) if ecn => Ecn::Ect0,
                _ => Ecn::NotEct,
            },
            dst: transmit.destination,
            src: transmit.src_ip.filter(|_| names_source),
            segment: transmit.segment_size.unwrap_or(transmit.size).max(1),
        }
    }
}

impl Transmitter {
    pub(super) fn new(
        socket: Arc<dyn UdpSocket>,
        ecn: bool,
        dscp: Dscp,
        names_source: bool,
    ) -> Self {
        Self { socket, ecn, dscp, names_source, held: None }
    }

    pub(super) fn poll_recv(&self, cx: &mut Context<'_>) -> Poll<io::Result<Received>> {
        self.socket.poll_recv(cx)
    }

    /// True if the system takes so many datagrams in one call.
    pub(super) fn joins(&self, datagrams: NonZeroUsize) -> bool {
        self.socket.max_segments() >= datagrams.get()
    }

    /// Sends the datagrams of `bytes`. What the socket cannot take is kept, and `Pending` says so:
    /// [`poll_flush`](Self::poll_flush) must be ready before the next call.
    pub(super) fn send(
        &mut self,
        cx: &mut Context<'_>,
        transmit: &Transmit,
        bytes: &mut Vec<u8>,
    ) -> Poll<()> {
        let to = Route::of(transmit, self.ecn, self.names_source);
        let mut sent = 0;
        while sent < transmit.size {
            let Poll::Ready(n) = self.send_some(cx, to, &bytes[sent..transmit.size]) else {
                bytes.truncate(transmit.size);
                self.held = Some(PendingBatch { to, bytes: mem::take(bytes), sent });
                return Poll::Pending;
            };
            sent += n;
        }
        Poll::Ready(())
    }

    /// Sends what was kept.
    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while let Some(PendingBatch { to, bytes, sent }) = &self.held {
            let rest = &bytes[*sent..];
            if rest.is_empty() {
                self.held = None;
                break;
            }
            let n = ready!(self.send_some(cx, *to, rest));
            if let Some(held) = &mut self.held {
                held.sent += n;
            }
        }
        Poll::Ready(())
    }

    /// Sends an answer that belongs to no connection, unless the socket is full: whoever asked
    /// asks again.
    pub(super) fn respond(&self, cx: &mut Context<'_>, transmit: &Transmit, bytes: &[u8]) {
        if self.held.is_none() {
            let to = Route::of(transmit, self.ecn, self.names_source);
            let _ = self.send_some(cx, to, &bytes[..transmit.size]);
        }
    }

    /// Sends as many datagrams of `bytes` as the socket takes at once. How many bytes that are.
    fn send_some(&self, cx: &mut Context<'_>, to: Route, bytes: &[u8]) -> Poll<usize> {
        let Route { dst, src, segment, ecn } = to;
        let most = segment.saturating_mul(self.socket.max_segments().max(1));
        let payload = &bytes[..bytes.len().min(most)];
        let several = payload.len() > segment;
        let segment = several.then_some(segment);
        let datagram = Datagram { dst, src, ecn, dscp: self.dscp, payload, segment };
        let sent = self.socket.poll_send(cx, &datagram);
        // A datagram that could not be sent is a lost one: the connection recovers, and must not
        // die because the path was unreachable for a moment.
        if let Poll::Ready(Err(e)) = &sent {
            tracing::debug!(%dst, "a datagram was not sent: {e}");
        }
        sent.map(|_| payload.len())
    }
}
