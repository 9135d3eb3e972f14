//! Real time: the machine's clock and sockets, by way of tokio.

mod socket;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use airlane_base::{Seed, Time};

use self::socket::TokioSocket;
use crate::api::{BoxFuture, Runtime, RuntimeHandle, Timer, UdpSocket};

/// The runtime of the daemons. Its time starts when it is made.
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

/// The time of a runtime that started at `start`.
#[expect(clippy::disallowed_methods, reason = "this is the half that reads the clock")]
fn now(start: Instant) -> Time {
    Time::ZERO + Instant::now().saturating_duration_since(start)
}

/// The machine's name for a time. Further than a year ahead, tokio's own arithmetic may overflow.
fn instant(start: Instant, at: Time) -> tokio::time::Instant {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
    tokio::time::Instant::from_std(start + at.since_start().min(YEAR))
}

impl Runtime for TokioRuntime {
    fn now(&self) -> Time {
        now(self.start)
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
        Ok(Box::new(TokioSocket::bind(local, None, self.start)?))
    }

    fn bind_udp_to(&self, local: SocketAddr, interface: &str) -> io::Result<Box<dyn UdpSocket>> {
        let _guard = self.handle.enter();
        Ok(Box::new(TokioSocket::bind(local, Some(interface), self.start)?))
    }

    #[cfg(target_os = "linux")]
    fn bind_udp_group(
        &self,
        local: SocketAddr,
        count: usize,
    ) -> io::Result<Vec<Box<dyn UdpSocket>>> {
        let _guard = self.handle.enter();
        let group = TokioSocket::bind_group(local, count, self.start)?;
        Ok(group.into_iter().map(|socket| Box::new(socket) as Box<dyn UdpSocket>).collect())
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
