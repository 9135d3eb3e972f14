//! Listening at an address.

use std::fmt;
use std::net::SocketAddr;

use airlane_base::InputError;
use tokio::net::{TcpListener, TcpSocket};

/// Connections that the system keeps until they are taken, if its own bound is no lower. Where there
/// are more it answers with SYN cookies, and some connections then come twice, the second time
/// without anybody at their other end.
const WAITING: u32 = 4096;

/// Takes TCP connections at an address.
///
/// # Errors
/// If that is not possible.
pub(crate) fn tcp(at: SocketAddr) -> Result<TcpListener, InputError> {
    let socket = match at {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    };
    let listening = socket.and_then(|socket| {
        socket.set_reuseaddr(true)?;
        socket.bind(at)?;
        socket.listen(WAITING)
    });
    listening.map_err(|e| refused(at, &e))
}

/// Error for an address that cannot be listened at.
pub(crate) fn refused(at: SocketAddr, e: &dyn fmt::Display) -> InputError {
    InputError::new(format!("cannot listen there: {e}"), "choose another address or port")
        .at_key(at.to_string())
}
