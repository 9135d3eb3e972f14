//! What a role may ask of the world: time, timers, tasks, datagram sockets, randomness.

use std::fmt::Debug;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use airlane_base::{Dscp, Ecn, Seed, Time};
use bytes::BytesMut;

/// A boxed future that the runtime can run.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A shared handle to a runtime, bound to one host.
pub type RuntimeHandle = Arc<dyn Runtime>;

/// A datagram to send, or several of one size, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Destination address.
    pub dst: SocketAddr,
    /// The local address to send from; `None`: whichever leads there. Whoever answers on a socket
    /// that is bound to no address of its own names the one that was asked.
    pub src: Option<IpAddr>,
    /// The ECN field to set.
    pub ecn: Ecn,
    /// The DSCP to set. In real time it is ignored, and what leaves has the default.
    pub dscp: Dscp,
    /// UDP payload.
    pub payload: &'a [u8],
    /// Bytes of each datagram in it, at most [`UdpSocket::max_segments`] of them, of which the last
    /// may be shorter; `None`: it is one.
    pub segment: Option<usize>,
}

/// A datagram that was received.
#[derive(Clone, Debug)]
pub struct Received {
    /// Source address.
    pub src: SocketAddr,
    /// The local address that it came to.
    pub dst_ip: IpAddr,
    /// Time at which it arrived at the host, however late it is asked for. In real time, where
    /// the system keeps no times, when the socket was read.
    pub at: Time,
    /// The ECN field.
    pub ecn: Ecn,
    /// The DSCP; `None` where the system does not tell: in real time it never does.
    pub dscp: Option<Dscp>,
    /// UDP payload.
    pub payload: BytesMut,
    /// It shares its memory with others, which the system had joined.
    pub joined: bool,
}

/// A resettable timer.
pub trait Timer: Send + Debug {
    /// Sets when it fires next, whether it has fired or not.
    fn reset(&mut self, at: Time);
    /// Ready once the time has come; until then the task of `cx` is woken when it does.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()>;
    /// Both at once.
    fn poll_at(&mut self, at: Time, cx: &mut Context<'_>) -> Poll<()> {
        self.reset(at);
        self.poll(cx)
    }
}

/// A UDP socket.
pub trait UdpSocket: Send + Sync + Debug {
    /// Sends, or registers the task to be woken when sending may succeed.
    ///
    /// # Errors
    /// Those of the socket. A datagram that the network drops is no error.
    fn poll_send(&self, cx: &mut Context<'_>, datagram: &Datagram<'_>) -> Poll<io::Result<()>>;
    /// Sends, if that is possible at once: for whoever shares the socket with one who waits for it.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if it is not, and those of the socket.
    fn try_send(&self, datagram: &Datagram<'_>) -> io::Result<()>;
    /// Ready while the access below takes more datagrams to `dst` without a long queue; else the task is woken once
    /// it does. A sender that has something to drop waits for it. One task waits at a time. Where the runtime does
    /// not know, which is so in real time, it is always ready.
    fn poll_send_ready(&self, cx: &mut Context<'_>, dst: IpAddr) -> Poll<()> {
        let _ = (cx, dst);
        Poll::Ready(())
    }
    /// Receives one datagram, or registers the task to be woken when one arrives.
    ///
    /// # Errors
    /// Those of the socket.
    fn poll_recv(&self, cx: &mut Context<'_>) -> Poll<io::Result<Received>>;
    /// The local address.
    fn local_addr(&self) -> SocketAddr;
    /// Datagrams that can be sent at once.
    fn max_segments(&self) -> usize {
        1
    }
    /// True if a datagram that is too large for the path may arrive all the same, in fragments.
    fn may_fragment(&self) -> bool {
        false
    }
}

/// A world as one host of it sees it.
pub trait Runtime: Send + Sync + Debug + 'static {
    /// The time since the world started.
    fn now(&self) -> Time;
    /// A timer that fires at `at`.
    fn timer(&self, at: Time) -> Box<dyn Timer>;
    /// Runs `task` in the background. `name` appears when it panics or never ends.
    fn spawn_boxed(&self, name: &'static str, task: BoxFuture<()>);
    /// A socket bound to `local`; port 0 means any port. An unspecified address means all of the
    /// host's in real time, and the host's first one in virtual time: a host on several accesses
    /// binds a socket to the address on each.
    ///
    /// # Errors
    /// If the address is not the host's or is in use.
    fn bind_udp(&self, local: SocketAddr) -> io::Result<Box<dyn UdpSocket>>;
    /// The same, through which nothing comes and goes but over the interface of this name.
    ///
    /// # Errors
    /// Also if there is no such interface, this user may not ask for it, or the runtime has no
    /// interfaces with names.
    fn bind_udp_to(&self, local: SocketAddr, interface: &str) -> io::Result<Box<dyn UdpSocket>> {
        let problem = format!("{local} cannot be bound to interface {interface} here");
        Err(io::Error::new(io::ErrorKind::Unsupported, problem))
    }
    /// Sockets that are all bound to `local`, `count` where the system shares an address among them:
    /// what comes from one address and port then comes to always the same one. Elsewhere it is one.
    ///
    /// # Errors
    /// If the address is not the host's or is in use by others.
    fn bind_udp_group(
        &self,
        local: SocketAddr,
        count: usize,
    ) -> io::Result<Vec<Box<dyn UdpSocket>>> {
        let _ = count;
        Ok(vec![self.bind_udp(local)?])
    }
    /// The seed of this host: what a role draws comes from a part of it.
    fn seed(&self) -> Seed;
}

/// Conveniences on every runtime.
pub trait RuntimeExt {
    /// Runs `task` in the background.
    fn spawn(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static);
    /// Ends at `at`, at once if that has passed.
    fn sleep_until(&self, at: Time) -> Sleep;
    /// Ends after `d`.
    fn sleep(&self, d: Duration) -> Sleep;
}

impl RuntimeExt for RuntimeHandle {
    fn spawn(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        self.spawn_boxed(name, Box::pin(task));
    }

    fn sleep_until(&self, at: Time) -> Sleep {
        Sleep(self.timer(at))
    }

    fn sleep(&self, d: Duration) -> Sleep {
        self.sleep_until(self.now() + d)
    }
}

/// The future of [`RuntimeExt::sleep`].
#[derive(Debug)]
pub struct Sleep(Box<dyn Timer>);

impl Future for Sleep {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.poll(cx)
    }
}
