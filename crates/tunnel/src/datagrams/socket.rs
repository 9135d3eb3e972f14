//! UDP sockets that hold a burst, and tell of datagrams that they did not.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::UdpSocket;

/// Bytes of a socket's receive buffer: 500 datagrams that each fill a packet, as Linux counts them
/// (2304 bytes), and as many again.
const RECEIVE_BYTES: usize = 2 << 20;

/// A socket of an association or a relay.
pub(crate) struct BurstSocket {
    socket: UdpSocket,
    /// Datagrams that found its buffer full, as the system counts them.
    lost: AtomicU32,
    /// Number of these that were returned already.
    told: AtomicU32,
}

impl BurstSocket {
    /// A socket at an address.
    ///
    /// # Errors
    /// If there is none to be had: no descriptors are left, say.
    pub(crate) fn bind(at: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(at), Type::DGRAM, Some(Protocol::UDP))?;
        socket.set_nonblocking(true)?;
        if at.is_ipv6() {
            // Peers over IPv4 have a socket of their own.
            socket.set_only_v6(true)?;
        }
        socket.bind(&at.into())?;
        enlarge(&socket);
        let socket = UdpSocket::from_std(socket.into())?;
        Ok(Self { socket, lost: AtomicU32::new(0), told: AtomicU32::new(0) })
    }

    /// Local address of the socket.
    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Sends a datagram. What does not leave is lost.
    pub(crate) async fn send_to(&self, payload: &[u8], to: SocketAddr) {
        let _ = self.socket.send_to(payload, to).await;
    }

    /// The next datagram: its bytes in `buffer`, and where it came from.
    ///
    /// # Errors
    /// If the socket fails.
    pub(crate) async fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        loop {
            match self.receive(buffer).await {
                // A datagram that somebody did not want before.
                Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {}
                received => return received,
            }
        }
    }

    /// Number of datagrams since this was asked last that found the buffer full. It is known with the
    /// next one that did not.
    pub(crate) fn lost(&self) -> u64 {
        let lost = self.lost.load(Ordering::Relaxed);
        u64::from(lost.wrapping_sub(self.told.swap(lost, Ordering::Relaxed)))
    }

    #[cfg(target_os = "linux")]
    async fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        use std::os::fd::AsRawFd;

        use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};
        let fd = self.socket.as_raw_fd();
        let receive = || {
            let mut iov = [io::IoSliceMut::new(buffer)];
            let mut told = nix::cmsg_space!(u32);
            let received =
                recvmsg::<SockaddrStorage>(fd, &mut iov, Some(&mut told), MsgFlags::empty())?;
            for message in received.cmsgs()? {
                if let ControlMessageOwned::RxqOvfl(lost) = message {
                    self.lost.store(lost, Ordering::Relaxed);
                }
            }
            let from = received.address.as_ref().and_then(address);
            Ok((received.bytes, from.ok_or(io::ErrorKind::AddrNotAvailable)?))
        };
        self.socket.async_io(tokio::io::Interest::READABLE, receive).await
    }

    #[cfg(not(target_os = "linux"))]
    async fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.socket.recv_from(buffer).await
    }
}

#[cfg(target_os = "linux")]
fn address(of: &nix::sys::socket::SockaddrStorage) -> Option<SocketAddr> {
    let v4 = of.as_sockaddr_in().map(|v4| SocketAddr::V4((*v4).into()));
    v4.or_else(|| of.as_sockaddr_in6().map(|v6| SocketAddr::V6((*v6).into())))
}

/// Gives a socket a buffer for bursts, and has it count what that does not hold. Where the system
/// grants less it has that.
fn enlarge(socket: &Socket) {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::socket::{setsockopt, sockopt};
        let _ = setsockopt(socket, sockopt::RxqOvfl, &1);
        // Beyond `net.core.rmem_max`, where this user may do that.
        if setsockopt(socket, sockopt::RcvBufForce, &RECEIVE_BYTES).is_ok() {
            return;
        }
    }
    let _ = socket.set_recv_buffer_size(RECEIVE_BYTES);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_burst_is_held_and_what_is_not_is_counted() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let (socket, sender) = (BurstSocket::bind(any).unwrap(), BurstSocket::bind(any).unwrap());
        let at = socket.local_addr().unwrap();
        let mut buffer = [0; 2048];
        let mut sent = 0;
        // Nobody reads meanwhile: on a single thread only this task runs.
        for _ in 0..8000 {
            sender.send_to(&[7; 1200], at).await;
            sent += 1;
        }
        let mut held = 0;
        while let Ok((1200, from)) = socket.socket.try_recv_from(&mut buffer) {
            assert_eq!(from, sender.local_addr().unwrap());
            held += 1;
        }
        // The next one that is held tells of those that were not.
        sender.send_to(b"last", at).await;
        assert_eq!(socket.recv_from(&mut buffer).await.unwrap().0, 4);
        assert_eq!(held + socket.lost(), sent);
        assert_eq!(socket.lost(), 0);
        let granted = socket2::SockRef::from(&socket.socket).recv_buffer_size().unwrap();
        assert!(held >= 500 || granted < RECEIVE_BYTES, "{held} with {granted} bytes");
    }
}
