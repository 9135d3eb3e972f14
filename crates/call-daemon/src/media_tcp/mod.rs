//! Media over TCP (ICE over TCP, RFC 6544), for clients that cannot send UDP: each datagram is a frame on a connection that
//! the client has made (RFC 4571).
//!
//! A connection is a task. What comes on it goes to the conference's driver, which answers for all of them; what goes to it
//! waits in a queue that is bounded in bytes. Whose a connection is, STUN says, as over UDP.

pub(crate) mod connections;
pub(crate) mod framing;
pub(crate) mod pump;
pub(crate) mod send_queue;

use std::io;

use socket2::SockRef;

/// Bytes of each direction that the system keeps of a connection: a round trip of 200 ms at 10 Mbit/s.
const SYSTEM_BUFFER_BYTES: usize = 256 << 10;
/// Bytes that the system keeps before it has sent them: more of them would only be older when they leave.
#[cfg(target_os = "linux")]
const UNSENT_BYTES: u32 = 16 << 10;

/// Sets a socket up for media.
pub(crate) fn tune<'a>(socket: impl Into<SockRef<'a>>) -> io::Result<()> {
    let socket = socket.into();
    socket.set_tcp_nodelay(true)?;
    socket.set_recv_buffer_size(SYSTEM_BUFFER_BYTES)?;
    socket.set_send_buffer_size(SYSTEM_BUFFER_BYTES)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_notsent_lowat(UNSENT_BYTES)?;
    Ok(())
}
