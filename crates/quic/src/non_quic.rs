//! Datagrams of another protocol on an endpoint's socket.
//!
//! Datagrams whose first byte is 4 to 15 are neither QUIC nor of another protocol that is told apart from
//! it (RFC 9443, section 2). An endpoint puts them into a queue if somebody reads it, and drops them
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

/// Limit of datagrams in the queue: more are dropped, as a full socket drops them.
const MAX_WAITING: usize = 1024;

/// True if a datagram is of another protocol than QUIC.
pub(crate) fn is_non_quic(payload: &[u8]) -> bool {
    payload.first().is_some_and(|first| (4..=15).contains(first))
}

/// Queue of received datagrams that are not QUIC's.
#[derive(Default)]
pub(crate) struct DatagramQueue(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    datagrams: VecDeque<Received>,
    reader: Option<Waker>,
    closed: bool,
}

impl DatagramQueue {
    pub(crate) fn put(&self, mut received: Received) {
        if received.joined {
            // It would hold on to all that came with it.
            received.payload = BytesMut::from(&received.payload[..]);
        }
        let mut waiting = self.0.lock();
        if waiting.datagrams.len() < MAX_WAITING {
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

/// Socket of an endpoint for datagrams of another protocol: those whose first byte is 4 to 15.
pub struct NonQuicSocket {
    socket: Arc<dyn UdpSocket>,
    non_quic: Arc<DatagramQueue>,
    dscp: Dscp,
}

impl fmt::Debug for NonQuicSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NonQuicSocket").field("socket", &self.socket).finish_non_exhaustive()
    }
}

impl NonQuicSocket {
    pub(crate) fn new(
        socket: Arc<dyn UdpSocket>,
        non_quic: Arc<DatagramQueue>,
        dscp: Dscp,
    ) -> Self {
        Self { socket, non_quic, dscp }
    }

    /// The next datagram; `None` once the endpoint is gone.
    pub fn poll_recv(&self, cx: &mut Context<'_>) -> Poll<Option<Received>> {
        let mut waiting = self.non_quic.0.lock();
        if let Some(next) = waiting.datagrams.pop_front() {
            return Poll::Ready(Some(next));
        }
        if waiting.closed {
            return Poll::Ready(None);
        }
        waiting.reader = Some(cx.waker().clone());
        Poll::Pending
    }

    /// True if a datagram that is too large for the path may arrive all the same, in fragments.
    pub fn may_fragment(&self) -> bool {
        self.socket.may_fragment()
    }

    /// Sends a datagram, which begins with 4 to 15; from `src`, or from whichever address leads there.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if the socket is full, and those of the socket.
    pub fn try_send(
        &self,
        dst: SocketAddr,
        src: Option<IpAddr>,
        ecn: Ecn,
        payload: &[u8],
    ) -> io::Result<()> {
        debug_assert!(is_non_quic(payload));
        let dscp = self.dscp;
        self.socket.try_send(&Datagram { dst, src, ecn, dscp, payload, segment: None })
    }
}
