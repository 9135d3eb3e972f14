//! A protocol beside QUIC on an endpoint's socket.
//!
//! Datagrams whose first byte is 4 to 15 are neither QUIC nor of another protocol that is told apart from
//! it (RFC 9443, section 2). An endpoint hands them to its companion, if there is one, and drops them
//! otherwise. So a NAT or a firewall sees one flow, whose addresses QUIC has validated.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use airlane_base::{Dscp, Ecn};
use airlane_runtime::{Datagram, Received, UdpSocket};
use bytes::BytesMut;
use parking_lot::Mutex;

/// Datagrams that wait for the companion at most: more are dropped, as a full socket drops them.
const MOST_WAITING: usize = 1024;

/// Whether a datagram is for the companion.
pub(crate) fn is_for_companion(payload: &[u8]) -> bool {
    payload.first().is_some_and(|first| (4..=15).contains(first))
}

/// What has come for a companion.
#[derive(Default)]
pub(crate) struct Mailbox(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    datagrams: VecDeque<Received>,
    reader: Option<Waker>,
    closed: bool,
}

impl Mailbox {
    pub(crate) fn put(&self, mut received: Received) {
        if received.joined {
            // It would hold on to all that came with it.
            received.payload = BytesMut::from(&received.payload[..]);
        }
        let mut waiting = self.0.lock();
        if waiting.datagrams.len() < MOST_WAITING {
            waiting.datagrams.push_back(received);
        }
        let reader = waiting.reader.take();
        drop(waiting);
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    /// The endpoint is gone.
    pub(crate) fn close(&self) {
        let mut waiting = self.0.lock();
        waiting.closed = true;
        let reader = waiting.reader.take();
        drop(waiting);
        if let Some(reader) = reader {
            reader.wake();
        }
    }
}

/// An endpoint's socket as another protocol uses it: for datagrams whose first byte is 4 to 15.
pub struct Companion {
    socket: Arc<dyn UdpSocket>,
    mailbox: Arc<Mailbox>,
    dscp: Dscp,
}

impl fmt::Debug for Companion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Companion").field("socket", &self.socket).finish_non_exhaustive()
    }
}

impl Companion {
    pub(crate) fn new(socket: Arc<dyn UdpSocket>, mailbox: Arc<Mailbox>, dscp: Dscp) -> Self {
        Self { socket, mailbox, dscp }
    }

    /// The next datagram; `None` once the endpoint is gone.
    pub fn poll_recv(&self, cx: &mut Context<'_>) -> Poll<Option<Received>> {
        let mut waiting = self.mailbox.0.lock();
        if let Some(next) = waiting.datagrams.pop_front() {
            return Poll::Ready(Some(next));
        }
        if waiting.closed {
            return Poll::Ready(None);
        }
        waiting.reader = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Whether a datagram that is too large for the path may arrive all the same, in fragments.
    pub fn may_fragment(&self) -> bool {
        self.socket.may_fragment()
    }

    /// Sends a datagram, which begins with 4 to 15; from `src`, or from whichever address leads there.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if the socket is full, and those of the socket.
    pub fn try_send(&self, dst: SocketAddr, src: Option<IpAddr>, payload: &[u8]) -> io::Result<()> {
        debug_assert!(is_for_companion(payload));
        let dscp = self.dscp;
        self.socket.try_send(&Datagram { dst, src, ecn: Ecn::NotEct, dscp, payload, segment: None })
    }
}
