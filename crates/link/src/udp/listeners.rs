//! The sockets that clients send to: one per address, all on one port.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::epoll;

use super::socket::{Intake, Socket};
use crate::clock::Clock;
use crate::error::LinkError;

/// Ports that are tried where the system chooses one and it is taken at another address.
const TRIES: usize = 16;

/// The sockets that clients send to.
pub(super) struct Listeners {
    all: Vec<Listener>,
    /// Watches several; one is watched itself.
    epoll: Option<OwnedFd>,
    /// Index of the listener that is read first: it changes, so that none waits for the others for
    /// ever.
    first: usize,
}

/// One of them.
pub(super) struct Listener {
    pub(super) socket: Socket,
    /// Bound to no address in particular: answers must name theirs.
    pub(super) wildcard: bool,
}

impl Listeners {
    /// Listens at these addresses, at those that the machine has if there are several. Port 0 is
    /// the one that the system chose for the first.
    ///
    /// # Errors
    /// If one of them is taken, or the machine has none of them.
    pub(super) fn bind(addresses: &[SocketAddr]) -> Result<Self, LinkError> {
        let mut tries = 1..TRIES;
        let all = loop {
            match try_bind(addresses) {
                // The system chooses again.
                Err(LinkError::Listen { address, source })
                    if source.kind() == io::ErrorKind::AddrInUse
                        && addresses.iter().any(|a| a.port() == 0 && a.ip() == address.ip())
                        && tries.next().is_some() => {}
                done => break done?,
            }
        };
        let watch = |all: &[Listener]| {
            let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
            for listener in all {
                let data = epoll::EventData::new_u64(0);
                epoll::add(&epoll, &listener.socket, data, epoll::EventFlags::IN)?;
            }
            Ok::<_, rustix::io::Errno>(epoll)
        };
        let epoll = (all.len() > 1).then(|| watch(&all)).transpose();
        let epoll = epoll.map_err(LinkError::system("watch several sockets"))?;
        Ok(Self { all, epoll, first: 0 })
    }

    /// Addresses of the listeners.
    pub(super) fn addresses(&self) -> Result<Vec<SocketAddr>, LinkError> {
        let all: io::Result<Vec<_>> = self.all.iter().map(|l| l.socket.address()).collect();
        all.map_err(LinkError::system("ask for the socket's address"))
    }

    /// File descriptor that becomes readable when a client has sent something.
    pub(super) fn source(&self) -> BorrowedFd<'_> {
        self.epoll.as_ref().map_or_else(|| self.all[0].socket.as_fd(), AsFd::as_fd)
    }

    /// Reads what has come, tagged with the number of its socket. Nothing there is no error.
    ///
    /// # Errors
    /// If a socket fails and none has anything.
    pub(super) fn read(&mut self, intake: &mut Intake, clock: &Clock) -> io::Result<()> {
        let count = self.all.len();
        let mut failure = None;
        for number in (self.first..self.first + count).map(|i| i % count) {
            if let Err(e) = intake.read(&self.all[number].socket, number as u32, clock) {
                failure = Some(e);
            }
            if intake.is_full() {
                break;
            }
        }
        self.first = (self.first + 1) % count;
        match failure {
            Some(e) if intake.arrivals().next().is_none() => Err(e),
            _ => Ok(()),
        }
    }

    /// One of them, by its number.
    pub(super) fn get(&self, number: u32) -> &Listener {
        &self.all[number as usize]
    }

    /// One of them, to be changed.
    pub(super) fn socket_mut(&mut self, number: u32) -> &mut Socket {
        &mut self.all[number as usize].socket
    }

    /// All of them, in the order of their numbers.
    pub(super) fn sockets(&self) -> impl Iterator<Item = &Socket> {
        self.all.iter().map(|l| &l.socket)
    }
}

/// A listener at each of the addresses that the machine has, at least one.
fn try_bind(addresses: &[SocketAddr]) -> Result<Vec<Listener>, LinkError> {
    let (mut all, mut absent): (Vec<Listener>, _) = (Vec::new(), None);
    let mut port = None;
    for &(mut address) in addresses {
        if let (0, Some(port)) = (address.port(), port) {
            address.set_port(port);
        }
        let socket = UdpSocket::bind(address).and_then(|io| {
            port = port.or(Some(io.local_addr()?.port()));
            Socket::new(io)
        });
        match socket {
            Ok(socket) => {
                all.push(Listener { socket, wildcard: address.ip().is_unspecified() });
            }
            // `localhost` is ::1 too on machines without IPv6.
            Err(source) if is_absent(&source) => absent = Some((address, source)),
            Err(source) => return Err(LinkError::Listen { address, source }),
        }
    }
    match absent {
        Some((address, source)) if all.is_empty() => Err(LinkError::Listen { address, source }),
        _ => Ok(all),
    }
}

/// True if the machine does not have the address or its family.
fn is_absent(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrNotAvailable
        || rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::AFNOSUPPORT)
}
