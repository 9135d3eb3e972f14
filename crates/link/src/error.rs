//! Why a link could not start or go on.

use std::io;
use std::net::SocketAddr;

use airlane_base::InputError;

/// Error of a link that could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// Something in the request is wrong.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The address to listen on cannot be had.
    #[error("cannot listen on {address}: {source}; {}", listen_advice(source))]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Error of the system.
        source: io::Error,
    },
    /// A device or a namespace cannot be made or entered.
    #[error("cannot {what}: {source}; {}", device_advice(source))]
    Device {
        /// Action that failed.
        what: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The system refused something that a link needs while it runs.
    #[error("the link stopped: cannot {what}: {source}")]
    System {
        /// Action that failed.
        what: &'static str,
        /// Error of the system.
        source: io::Error,
    },
    /// The link's thread ended without a word: a fault of Airlane.
    #[error("the link's thread ended unexpectedly")]
    Gone,
}

impl LinkError {
    /// For `map_err`: what was tried while the link ran.
    pub(crate) fn system<E: Into<io::Error>>(what: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::System { what, source: source.into() }
    }

    /// For `map_err`: what was tried with devices or namespaces.
    pub(crate) fn device<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Self {
        let what = what.into();
        move |source| Self::Device { what, source: source.into() }
    }

    /// True if the user can correct the error: bad input, an address that is taken, a
    /// missing permission.
    pub fn is_input(&self) -> bool {
        matches!(self, Self::Input(_) | Self::Listen { .. } | Self::Device { .. })
    }
}

fn listen_advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "stop what uses the port, or choose another",
        io::ErrorKind::AddrNotAvailable => "expected an address of this machine",
        io::ErrorKind::PermissionDenied => "choose a port from 1024 on",
        _ => "choose another address",
    }
}

fn device_advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "run it as root or with CAP_NET_ADMIN, and CAP_SYS_ADMIN for namespaces; the UDP \
             forwarder needs neither"
        }
        io::ErrorKind::ResourceBusy | io::ErrorKind::AlreadyExists => {
            "remove what has this name, or choose another"
        }
        io::ErrorKind::NotFound => "check that it exists: ip netns, ls /dev/net/tun",
        _ => "see the system's message",
    }
}
