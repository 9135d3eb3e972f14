//! Real time: the machine's clock and sockets, by way of tokio.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use airlane_base::{Ecn, Seed, Time};
use parking_lot::Mutex;
use tokio::io::ReadBuf;

use crate::api::{BoxFuture, Datagram, Received, Runtime, RuntimeHandle, Timer, UdpSocket};

/// The runtime of the daemons. Its time starts when it is made.
///
/// ECN is neither set nor read on these sockets.
#[derive(Debug)]
pub struct TokioRuntime {
    start: Instant,
    seed: Seed,
    handle: tokio::runtime::Handle,
}

impl TokioRuntime {
    /// A runtime on the tokio runtime of this thread.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    #[expect(clippy::disallowed_methods, reason = "this is the half that reads the clock")]
    #[expect(clippy::new_ret_no_self, reason = "roles take the shared handle")]
    pub fn new(seed: Seed) -> RuntimeHandle {
        Arc::new(Self { start: Instant::now(), seed, handle: tokio::runtime::Handle::current() })
    }
}

/// The machine's name for a time. Further than a year ahead, tokio's own arithmetic may overflow.
fn instant(start: Instant, at: Time) -> tokio::time::Instant {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
    tokio::time::Instant::from_std(start + at.since_start().min(YEAR))
}

impl Runtime for TokioRuntime {
    #[expect(clippy::disallowed_methods, reason = "this is the half that reads the clock")]
    fn now(&self) -> Time {
        Time::ZERO + Instant::now().saturating_duration_since(self.start)
    }

    fn timer(&self, at: Time) -> Box<dyn Timer> {
        let _guard = self.handle.enter();
        let start = self.start;
        Box::new(TokioTimer {
            sleep: Box::pin(tokio::time::sleep_until(instant(start, at))),
            start,
        })
    }

    #[expect(clippy::disallowed_methods, reason = "this is the half that spawns on tokio")]
    fn spawn_boxed(&self, name: &'static str, task: BoxFuture<()>) {
        let _guard = self.handle.enter();
        let handle = tokio::spawn(task);
        // A panic must not pass in silence; tokio itself prints it, the name tells whose it was.
        tokio::spawn(async move {
            if handle.await.is_err_and(|e| e.is_panic()) {
                eprintln!("task '{name}' panicked; the others go on");
            }
        });
    }

    fn bind_udp(&self, local: SocketAddr) -> io::Result<Box<dyn UdpSocket>> {
        let _guard = self.handle.enter();
        let socket = std::net::UdpSocket::bind(local)?;
        socket.set_nonblocking(true)?;
        let addr = socket.local_addr()?;
        Ok(Box::new(TokioSocket {
            socket: tokio::net::UdpSocket::from_std(socket)?,
            addr,
            scratch: Mutex::new(vec![0; MAX_DATAGRAM_BYTES].into()),
        }))
    }

    fn seed(&self) -> Seed {
        self.seed
    }
}

#[derive(Debug)]
struct TokioTimer {
    sleep: Pin<Box<tokio::time::Sleep>>,
    start: Instant,
}

impl Timer for TokioTimer {
    fn reset(&mut self, at: Time) {
        self.sleep.as_mut().reset(instant(self.start, at));
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.sleep.as_mut().poll(cx)
    }
}

/// What a UDP datagram holds at most.
const MAX_DATAGRAM_BYTES: usize = 65_535;

struct TokioSocket {
    socket: tokio::net::UdpSocket,
    addr: SocketAddr,
    /// Where a datagram is received before its size is known.
    scratch: Mutex<Box<[u8]>>,
}

impl fmt::Debug for TokioSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokioSocket({})", self.addr)
    }
}

impl UdpSocket for TokioSocket {
    fn poll_send(&self, cx: &mut Context<'_>, d: &Datagram<'_>) -> Poll<io::Result<()>> {
        let sent = ready!(self.socket.poll_send_to(cx, d.payload, d.dst))?;
        debug_assert_eq!(sent, d.payload.len());
        Poll::Ready(Ok(()))
    }

    fn poll_recv(&self, cx: &mut Context<'_>) -> Poll<io::Result<Received>> {
        let mut scratch = self.scratch.lock();
        let mut buf = ReadBuf::new(&mut scratch);
        let src = ready!(self.socket.poll_recv_from(cx, &mut buf))?;
        let payload = buf.filled().to_vec();
        Poll::Ready(Ok(Received { src, dst_ip: self.addr.ip(), ecn: Ecn::NotEct, payload }))
    }

    fn local_addr(&self) -> SocketAddr {
        self.addr
    }
}
