//! noq's runtime over ours: time, timers, tasks and one UDP socket.

use std::fmt;
use std::future::Future;
use std::io::{self, IoSliceMut};
use std::mem;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker, ready};
use std::time::Instant;

use airlane_base::Ecn;
use airlane_runtime::{Datagram, RuntimeHandle, Timer, UdpSocket};
use noq::udp::{EcnCodepoint, RecvMeta, Transmit};
use noq::{AsyncTimer, AsyncUdpSocket, UdpSender};
use parking_lot::Mutex;

use crate::clock::Clock;

/// The runtime that noq's endpoint and connection drivers run on.
#[derive(Debug)]
pub(crate) struct NoqRuntime {
    pub(crate) runtime: RuntimeHandle,
    pub(crate) clock: Arc<Clock>,
}

impl noq::Runtime for NoqRuntime {
    fn new_timer(&self, i: Instant) -> Pin<Box<dyn AsyncTimer>> {
        let timer = self.runtime.timer(self.clock.time(i));
        Box::pin(NoqTimer { timer, clock: self.clock.clone() })
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        self.runtime.spawn_boxed("quic", future);
    }

    fn wrap_udp_socket(&self, _: std::net::UdpSocket) -> io::Result<Box<dyn AsyncUdpSocket>> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "sockets come from the runtime"))
    }

    fn now(&self) -> Instant {
        self.clock.tell(self.runtime.now())
    }
}

#[derive(Debug)]
struct NoqTimer {
    timer: Box<dyn Timer>,
    clock: Arc<Clock>,
}

impl AsyncTimer for NoqTimer {
    fn reset(mut self: Pin<&mut Self>, i: Instant) {
        let at = self.clock.time(i);
        self.timer.reset(at);
    }

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.timer.poll(cx)
    }
}

/// One socket, shared by the endpoint and every connection on it.
#[derive(Debug)]
pub(crate) struct NoqSocket {
    shared: Arc<Shared>,
}

struct Shared {
    socket: Box<dyn UdpSocket>,
    /// Who waits for room to send. Our sockets remember one waiter each way, noq has many.
    writers: Arc<Writers>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.socket.fmt(f)
    }
}

#[derive(Default)]
struct Writers(Mutex<Vec<Waker>>);

impl Wake for Writers {
    fn wake(self: Arc<Self>) {
        for waker in mem::take(&mut *self.0.lock()) {
            waker.wake();
        }
    }
}

impl NoqSocket {
    pub(crate) fn new(socket: Box<dyn UdpSocket>) -> Self {
        Self { shared: Arc::new(Shared { socket, writers: Arc::default() }) }
    }
}

impl AsyncUdpSocket for NoqSocket {
    fn create_sender(&self) -> Pin<Box<dyn UdpSender>> {
        Box::pin(NoqSender { shared: self.shared.clone(), sent: 0 })
    }

    fn poll_recv(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let mut n = 0;
        for (buf, meta) in bufs.iter_mut().zip(meta) {
            match self.shared.socket.poll_recv(cx, buf) {
                Poll::Ready(Ok(r)) => {
                    meta.addr = r.src;
                    meta.len = r.len;
                    meta.stride = r.len;
                    meta.ecn = codepoint(r.ecn);
                    meta.dst_ip = (!r.dst_ip.is_unspecified()).then_some(r.dst_ip);
                    n += 1;
                }
                Poll::Ready(Err(e)) if n == 0 => return Poll::Ready(Err(e)),
                // The error, if it lasts, comes again at the next call.
                Poll::Ready(Err(_)) | Poll::Pending => break,
            }
        }
        if n == 0 { Poll::Pending } else { Poll::Ready(Ok(n)) }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.shared.socket.local_addr())
    }
}

#[derive(Debug)]
struct NoqSender {
    shared: Arc<Shared>,
    /// Bytes of the transmit at hand that went out before the socket had to be waited for.
    sent: usize,
}

/// Datagrams that noq may hand over at once: it then looks for work once per batch, not once per
/// datagram.
const BATCH: NonZeroUsize = NonZeroUsize::new(10).unwrap();

impl UdpSender for NoqSender {
    fn poll_send(
        self: Pin<&mut Self>,
        transmit: &Transmit<'_>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let size = transmit.segment_size.unwrap_or(transmit.contents.len()).max(1);
        while let Some(rest) = transmit.contents.get(this.sent..).filter(|r| !r.is_empty()) {
            let payload = &rest[..size.min(rest.len())];
            ready!(this.send_one(cx, transmit.destination, payload));
            this.sent += payload.len();
        }
        this.sent = 0;
        Poll::Ready(Ok(()))
    }

    fn max_transmit_segments(&self) -> NonZeroUsize {
        BATCH
    }
}

impl NoqSender {
    fn send_one(&self, cx: &mut Context<'_>, dst: SocketAddr, payload: &[u8]) -> Poll<()> {
        // Always Not-ECT: no controller of ours reacts to marks, so asking for them would only
        // turn drops into nothing. The peer then reports no counts, and noq stops expecting any.
        let datagram = Datagram { dst, ecn: Ecn::NotEct, payload };
        let Shared { socket, writers } = &*self.shared;
        let sent = match socket.poll_send(cx, &datagram) {
            Poll::Pending => {
                writers.0.lock().push(cx.waker().clone());
                let all = Waker::from(writers.clone());
                socket.poll_send(&mut Context::from_waker(&all), &datagram)
            }
            ready => ready,
        };
        match sent {
            // A datagram that could not be sent is a lost one: the connection recovers, and must
            // not die because the path was unreachable for a moment.
            Poll::Ready(Err(e)) => {
                tracing::debug!(%dst, "a datagram was not sent: {e}");
                Poll::Ready(())
            }
            Poll::Ready(Ok(())) => Poll::Ready(()),
            Poll::Pending => Poll::Pending,
        }
    }
}

fn codepoint(ecn: Ecn) -> Option<EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(EcnCodepoint::Ect0),
        Ecn::Ect1 => Some(EcnCodepoint::Ect1),
        Ecn::Ce => Some(EcnCodepoint::Ce),
    }
}
