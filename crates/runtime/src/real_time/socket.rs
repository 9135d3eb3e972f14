//! UDP sockets of the machine, which send and receive several datagrams per call where the system
//! can (GSO and GRO).
//!
//! DSCP goes neither way. quinn-udp 0.6.1 tells the system the octet of each datagram (control
//! messages `IP_TOS` and `IPV6_TCLASS`), which overrides that of the socket, and puts the ECN field
//! and zeros into it: the DSCP of what leaves is the default. Of the octet of what arrives it hands
//! on the ECN field.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use airlane_base::Ecn;
use bytes::BytesMut;
use parking_lot::Mutex;
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use tokio::io::Interest;

use crate::api::{Datagram, Received, UdpSocket};

/// Batches that one call receives at most.
const BATCHES: usize = 8;
/// Maximum bytes of a batch: the system joins datagrams up to what one may have.
const BATCH_BYTES: usize = 65_536;
/// Bytes that the system is asked to keep for us in each direction: bursts of many connections come
/// while the one thread of a socket is at work. It may give less.
const BUFFER_BYTES: usize = 4 << 20;

thread_local! {
    /// Buffer in which datagrams are received before their sizes are known: one per thread is
    /// enough, and there may be thousands of sockets.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

pub(super) struct TokioSocket {
    socket: tokio::net::UdpSocket,
    state: UdpSocketState,
    addr: SocketAddr,
    /// Time at which its runtime started.
    start: Instant,
    /// Received and not yet asked for.
    arrived: Mutex<VecDeque<Received>>,
}

impl fmt::Debug for TokioSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokioSocket({})", self.addr)
    }
}

impl TokioSocket {
    /// A socket bound to `local`, and to an interface if one is named, in the tokio runtime of this
    /// thread; times count from `start`.
    pub(super) fn bind(
        local: SocketAddr,
        interface: Option<&str>,
        start: Instant,
    ) -> io::Result<Self> {
        let socket = match interface {
            Some(name) => bind_to(local, name)?,
            None => std::net::UdpSocket::bind(local)?,
        };
        Self::of(socket, start)
    }

    /// Sockets that share `local`, which nobody else has at the moment. The system chooses by the
    /// sender's address and port which of them a datagram comes to.
    #[cfg(target_os = "linux")]
    pub(super) fn bind_group(
        local: SocketAddr,
        count: usize,
        start: Instant,
    ) -> io::Result<Vec<Self>> {
        // One that does not share its address finds out whether it is in use: among those that do,
        // another program of the same user would go unnoticed.
        let local = std::net::UdpSocket::bind(local)?.local_addr()?;
        (0..count.max(1)).map(|_| Self::of(bind_shared(local)?, start)).collect()
    }

    /// This socket.
    fn of(socket: std::net::UdpSocket, start: Instant) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let state = UdpSocketState::new((&socket).into())?;
        // Less than asked for is what the system gives: it works, with more losses under load.
        let _ = state.set_recv_buffer_size((&socket).into(), BUFFER_BYTES);
        let _ = state.set_send_buffer_size((&socket).into(), BUFFER_BYTES);
        let addr = socket.local_addr()?;
        let socket = tokio::net::UdpSocket::from_std(socket)?;
        Ok(Self { socket, state, addr, start, arrived: Mutex::default() })
    }

    /// Receives what has arrived.
    fn receive(&self, arrived: &mut VecDeque<Received>) -> io::Result<()> {
        SCRATCH.with_borrow_mut(|scratch| {
            scratch.resize(BATCHES * BATCH_BYTES, 0);
            let mut metas = [RecvMeta::default(); BATCHES];
            let mut chunks = scratch.chunks_exact_mut(BATCH_BYTES);
            let mut buffers =
                [(); BATCHES].map(|()| IoSliceMut::new(chunks.next().unwrap_or_default()));
            let n = self.socket.try_io(Interest::READABLE, || {
                self.state.recv((&self.socket).into(), &mut buffers, &mut metas)
            })?;
            let at = super::now(self.start);
            for (buffer, meta) in buffers.iter().zip(&metas).take(n) {
                let dst_ip = meta.dst_ip.unwrap_or(self.addr.ip());
                let ecn = codepoint(meta.ecn);
                // One copy for all datagrams that the system has joined.
                let mut rest = BytesMut::from(&buffer[..meta.len]);
                let joined = meta.stride < meta.len;
                while !rest.is_empty() {
                    let payload = rest.split_to(meta.stride.clamp(1, rest.len()));
                    arrived.push_back(Received {
                        src: meta.addr,
                        dst_ip,
                        at,
                        ecn,
                        dscp: None,
                        payload,
                        joined,
                    });
                }
            }
            Ok(())
        })
    }
}

impl UdpSocket for TokioSocket {
    fn poll_send(&self, cx: &mut Context<'_>, d: &Datagram<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.socket.poll_send_ready(cx))?;
            match self.try_send(d) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result),
            }
        }
    }

    fn try_send(&self, d: &Datagram<'_>) -> io::Result<()> {
        let transmit = Transmit {
            destination: d.dst,
            ecn: match d.ecn {
                Ecn::NotEct => None,
                Ecn::Ect0 => Some(EcnCodepoint::Ect0),
                Ecn::Ect1 => Some(EcnCodepoint::Ect1),
                Ecn::Ce => Some(EcnCodepoint::Ce),
            },
            contents: d.payload,
            segment_size: d.segment,
            src_ip: d.src,
        };
        self.socket
            .try_io(Interest::WRITABLE, || self.state.try_send((&self.socket).into(), &transmit))
    }

    fn poll_recv(&self, cx: &mut Context<'_>) -> Poll<io::Result<Received>> {
        let mut arrived = self.arrived.lock();
        loop {
            if let Some(next) = arrived.pop_front() {
                return Poll::Ready(Ok(next));
            }
            ready!(self.socket.poll_recv_ready(cx))?;
            match self.receive(&mut arrived) {
                Err(e) if e.kind() != io::ErrorKind::WouldBlock => return Poll::Ready(Err(e)),
                _ => {}
            }
        }
    }

    fn local_addr(&self) -> SocketAddr {
        self.addr
    }

    fn max_segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }
}

#[cfg(target_os = "linux")]
fn bind_to(local: SocketAddr, interface: &str) -> io::Result<std::net::UdpSocket> {
    use socket2::{Domain, Protocol, Socket, Type};
    let socket = Socket::new(Domain::for_address(local), Type::DGRAM, Some(Protocol::UDP))?;
    socket.bind_device(Some(interface.as_bytes()))?;
    socket.bind(&local.into())?;
    Ok(socket.into())
}

#[cfg(target_os = "linux")]
fn bind_shared(local: SocketAddr) -> io::Result<std::net::UdpSocket> {
    use socket2::{Domain, Protocol, Socket, Type};
    let socket = Socket::new(Domain::for_address(local), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_port(true)?;
    socket.bind(&local.into())?;
    Ok(socket.into())
}

#[cfg(not(target_os = "linux"))]
fn bind_to(_: SocketAddr, _: &str) -> io::Result<std::net::UdpSocket> {
    Err(io::ErrorKind::Unsupported.into())
}

fn codepoint(ecn: Option<EcnCodepoint>) -> Ecn {
    match ecn {
        None => Ecn::NotEct,
        Some(EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(EcnCodepoint::Ce) => Ecn::Ce,
    }
}
