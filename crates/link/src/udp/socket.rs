//! UDP sockets with batches, joined datagrams and ECN.
//!
//! DSCP is not carried: quinn-udp 0.6.1 does not tell that of what arrives, and tells the system an
//! octet for each datagram that leaves, with the ECN field and zeros in it.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use airlane_base::{DropReason, Ecn, Time};
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use rustix::fs::fstat;
use rustix::io::Errno;
use rustix::net::sockopt;

use crate::clock::Clock;
use crate::totals::Reason;

/// Size of a socket's buffer each way, for the time in which the link's thread does not run.
/// The system may grant less to whoever is not privileged.
const BUFFER_BYTES: usize = 4 << 20;
/// Maximum number of bytes that the kernel hands over at once.
const JOINED_BYTES: usize = 1 << 16;

pub(super) struct Socket {
    io: UdpSocket,
    state: UdpSocketState,
    inode: u64,
}

impl Socket {
    pub(super) fn new(io: UdpSocket) -> io::Result<Self> {
        let state = UdpSocketState::new((&io).into())?;
        // With privileges beyond the system's limit, else up to it; without, smaller bursts fit.
        let _ = sockopt::set_socket_recv_buffer_size_force(&io, BUFFER_BYTES)
            .or_else(|_| sockopt::set_socket_recv_buffer_size(&io, BUFFER_BYTES));
        let _ = sockopt::set_socket_send_buffer_size_force(&io, BUFFER_BYTES)
            .or_else(|_| sockopt::set_socket_send_buffer_size(&io, BUFFER_BYTES));
        let inode = fstat(&io)?.st_ino;
        Ok(Self { io, state, inode })
    }

    /// Forgets what earlier failures to send made it avoid.
    pub(super) fn renew(&mut self) -> io::Result<()> {
        self.state = UdpSocketState::new((&self.io).into())?;
        Ok(())
    }

    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
    }

    /// The kernel's number of it, by which its list of sockets can be searched.
    pub(super) fn inode(&self) -> u64 {
        self.inode
    }

    /// Maximum number of datagrams that can be joined for sending.
    pub(super) fn max_segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// Sends a datagram, or several of `segment` bytes.
    pub(super) fn send(
        &self,
        to: SocketAddr,
        from: Option<IpAddr>,
        ecn: Ecn,
        contents: &[u8],
        segment: Option<usize>,
    ) -> Result<(), Reason> {
        let transmit = Transmit {
            destination: to,
            ecn: EcnCodepoint::from_bits(ecn as u8),
            contents,
            segment_size: segment,
            src_ip: from,
        };
        let send = || self.state.try_send(UdpSockRef::from(&self.io), &transmit);
        // What failed may be the message that an earlier one was refused: that one told, this one
        // goes.
        let result = send().or_else(|e| if told_late(&e) { send() } else { Err(e) });
        result.map_err(|e| match e {
            e if Errno::from_io_error(&e) == Some(Errno::MSGSIZE) => {
                Reason::Link(DropReason::TooLarge)
            }
            e if told_late(&e) => Reason::Link(DropReason::Unreachable),
            _ => Reason::Unsent,
        })
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.io.as_fd()
    }
}

/// True if an error may come from an ICMP message about an earlier datagram.
fn told_late(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
    )
}

/// The ECN field as the laboratory has it.
pub(super) fn to_ecn(code: Option<EcnCodepoint>) -> Ecn {
    match code {
        None => Ecn::NotEct,
        Some(EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(EcnCodepoint::Ce) => Ecn::Ce,
    }
}

/// A buffer that was filled: by which socket, when, and what the kernel says of it.
#[derive(Clone, Copy)]
pub(super) struct Arrived {
    pub(super) at: Time,
    pub(super) tag: u32,
    pub(super) meta: RecvMeta,
    buffer: usize,
}

/// Buffers for one round of receiving.
#[derive(Default)]
pub(super) struct Intake {
    buffers: Vec<Box<[u8]>>,
    arrived: Vec<Arrived>,
}

impl Intake {
    pub(super) fn new() -> Self {
        let buffers = std::iter::repeat_with(|| vec![0; JOINED_BYTES].into()).take(BATCH_SIZE);
        Self { buffers: buffers.collect(), arrived: Vec::with_capacity(BATCH_SIZE) }
    }

    /// Reads what a socket has into the buffers that are free. Nothing there is no error.
    pub(super) fn read(&mut self, socket: &Socket, tag: u32, clock: &Clock) -> io::Result<()> {
        let first = self.arrived.len();
        let mut slices: Vec<IoSliceMut<'_>> =
            self.buffers[first..].iter_mut().map(|b| IoSliceMut::new(b)).collect();
        let mut metas = [RecvMeta::default(); BATCH_SIZE];
        let count = match socket.state.recv((&socket.io).into(), &mut slices, &mut metas) {
            Ok(count) => count,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(e) => return Err(e),
        };
        let at = clock.now();
        let metas = metas.into_iter().take(count).enumerate();
        self.arrived.extend(metas.map(|(i, meta)| Arrived { at, tag, meta, buffer: first + i }));
        Ok(())
    }

    pub(super) fn is_full(&self) -> bool {
        self.arrived.len() == self.buffers.len()
    }

    /// Datagrams that arrived, with their bytes.
    pub(super) fn arrivals(&self) -> impl Iterator<Item = (&Arrived, &[u8])> {
        self.arrived.iter().map(|a| (a, &self.buffers[a.buffer][..a.meta.len]))
    }

    /// Frees the buffers.
    pub(super) fn empty(&mut self) {
        self.arrived.clear();
    }

    /// The same with all buffers free.
    pub(super) fn emptied(mut self) -> Self {
        self.empty();
        self
    }
}
