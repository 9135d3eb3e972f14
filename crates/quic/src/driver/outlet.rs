//! The socket, and what it could not take yet.

use std::io;
use std::mem;
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};

use airlane_base::Ecn;
use airlane_runtime::{Datagram, Received, UdpSocket};
use noq_proto::Transmit;

pub(super) struct Outlet {
    socket: Box<dyn UdpSocket>,
    held: Option<Held>,
}

/// Datagrams that wait for room in the socket: at most one batch.
struct Held {
    dst: SocketAddr,
    segment: usize,
    bytes: Vec<u8>,
    sent: usize,
}

impl Outlet {
    pub(super) fn new(socket: Box<dyn UdpSocket>) -> Self {
        Self { socket, held: None }
    }

    pub(super) fn poll_recv(&self, cx: &mut Context<'_>) -> Poll<io::Result<Received>> {
        self.socket.poll_recv(cx)
    }

    /// Sends the datagrams of `bytes`. What the socket cannot take is kept, and `Pending` says so:
    /// [`poll_flush`](Self::poll_flush) must be ready before the next call.
    pub(super) fn send(
        &mut self,
        cx: &mut Context<'_>,
        transmit: &Transmit,
        bytes: &mut Vec<u8>,
    ) -> Poll<()> {
        let segment = transmit.segment_size.unwrap_or(transmit.size).max(1);
        let mut sent = 0;
        for payload in bytes[..transmit.size].chunks(segment) {
            if self.send_one(cx, transmit.destination, payload).is_pending() {
                bytes.truncate(transmit.size);
                let bytes = mem::take(bytes);
                self.held = Some(Held { dst: transmit.destination, segment, bytes, sent });
                return Poll::Pending;
            }
            sent += payload.len();
        }
        Poll::Ready(())
    }

    /// Sends what was kept.
    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while let Some(Held { dst, segment, bytes, sent }) = &self.held {
            let rest = &bytes[*sent..];
            if rest.is_empty() {
                self.held = None;
                break;
            }
            let payload = &rest[..rest.len().min(*segment)];
            ready!(self.send_one(cx, *dst, payload));
            let n = payload.len();
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
            let _ = self.send_one(cx, transmit.destination, &bytes[..transmit.size]);
        }
    }

    fn send_one(&self, cx: &mut Context<'_>, dst: SocketAddr, payload: &[u8]) -> Poll<()> {
        // Always Not-ECT: no controller of ours reacts to marks, so asking for them would only
        // turn drops into nothing. The peer then reports no counts, and noq stops expecting any.
        let sent = self.socket.poll_send(cx, &Datagram { dst, ecn: Ecn::NotEct, payload });
        // A datagram that could not be sent is a lost one: the connection recovers, and must not
        // die because the path was unreachable for a moment.
        if let Poll::Ready(Err(e)) = &sent {
            tracing::debug!(%dst, "a datagram was not sent: {e}");
        }
        sent.map(|_| ())
    }
}
