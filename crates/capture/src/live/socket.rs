//! The socket: the only place of the crate with what the compiler cannot check.

#![expect(unsafe_code, reason = "the standard library has no packet sockets")]

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// The kernel keeps so many bytes of packets that were not taken yet.
static KERNEL_BUFFER: libc::c_int = 16 << 20;

/// A packet socket that is bound to an interface.
#[derive(Debug)]
pub(super) struct PacketSocket(OwnedFd);

/// A packet that was received.
pub(super) struct Received {
    /// Time of capture, nanoseconds since 1970.
    pub(super) nanos: Option<u64>,
    /// Bytes of it in the buffer.
    pub(super) captured: usize,
    /// Bytes that it had.
    pub(super) original: usize,
}

impl PacketSocket {
    /// Listens on the interface of that number.
    pub(super) fn open(index: u32) -> io::Result<Self> {
        let all = (libc::ETH_P_ALL as u16).to_be();
        // SAFETY: no pointers; the descriptor is checked and owned from here on.
        let socket = unsafe {
            let fd = libc::socket(
                libc::AF_PACKET,
                libc::SOCK_RAW | libc::SOCK_CLOEXEC,
                libc::c_int::from(all),
            );
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            Self(OwnedFd::from_raw_fd(fd))
        };
        // SAFETY: all bytes zero are a value of this plain structure.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = all;
        address.sll_ifindex = libc::c_int::try_from(index).unwrap_or_default();
        // SAFETY: the address lives through the call, and its size is told.
        let bound = unsafe {
            libc::bind(
                socket.0.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        };
        if bound < 0 {
            return Err(io::Error::last_os_error());
        }
        socket.enlarge();
        Ok(socket)
    }

    /// Asks for a larger buffer; the usual one does as well.
    fn enlarge(&self) {
        for option in [libc::SO_RCVBUF, libc::SO_RCVBUFFORCE] {
            // SAFETY: the option is an integer, which lives through the call.
            unsafe {
                libc::setsockopt(
                    self.0.as_raw_fd(),
                    libc::SOL_SOCKET,
                    option,
                    (&raw const KERNEL_BUFFER).cast(),
                    size_of::<libc::c_int>() as libc::socklen_t,
                );
            }
        }
    }

    /// Waits for a packet; `None` if none comes in time, or a signal does.
    pub(super) fn receive(
        &self,
        buffer: &mut [u8],
        timeout: Duration,
    ) -> io::Result<Option<Received>> {
        let fd = self.0.as_raw_fd();
        let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let millis = libc::c_int::try_from(timeout.as_millis()).unwrap_or(libc::c_int::MAX);
        // SAFETY: one entry, which lives through the call.
        match unsafe { libc::poll(&raw mut poll, 1, millis) } {
            0 => return Ok(None),
            n if n < 0 => return passing(io::Error::last_os_error()),
            _ => {}
        }
        // MSG_TRUNC: the whole length is returned, also where the buffer is shorter.
        // SAFETY: the buffer lives through the call, and its size is told.
        let len = unsafe {
            libc::recv(
                fd,
                buffer.as_mut_ptr().cast(),
                buffer.len(),
                libc::MSG_TRUNC | libc::MSG_DONTWAIT,
            )
        };
        let Ok(original) = usize::try_from(len) else {
            return passing(io::Error::last_os_error());
        };
        let captured = original.min(buffer.len());
        Ok(Some(Received { nanos: self.stamp(), captured, original }))
    }

    /// Time at which the last packet came.
    fn stamp(&self) -> Option<u64> {
        const SIOCGSTAMPNS: libc::c_ulong = 0x8907;
        // SAFETY: all bytes zero are a value of this plain structure, which lives through the call.
        let (told, time) = unsafe {
            let mut time: libc::timespec = zeroed();
            let told = libc::ioctl(self.0.as_raw_fd(), SIOCGSTAMPNS as _, &raw mut time);
            (told, time)
        };
        if told < 0 {
            return None;
        }
        let seconds = u64::try_from(time.tv_sec).ok()?;
        seconds.checked_mul(1_000_000_000)?.checked_add(u64::try_from(time.tv_nsec).ok()?)
    }

    /// Packets that the kernel dropped since the last call.
    pub(super) fn dropped(&self) -> u64 {
        let mut statistics = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut size = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        // SAFETY: the structure and its size live through the call.
        unsafe {
            libc::getsockopt(
                self.0.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut statistics).cast(),
                &raw mut size,
            );
        }
        u64::from(statistics.tp_drops)
    }
}

/// Nothing came, if that is all that the error says.
fn passing(error: io::Error) -> io::Result<Option<Received>> {
    match error.kind() {
        io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock => Ok(None),
        _ => Err(error),
    }
}
