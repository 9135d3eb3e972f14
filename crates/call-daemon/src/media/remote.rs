//! Addresses of clients, over the transports that carry media.

use std::net::SocketAddr;

use str0m::net::Protocol;

/// Transport of media.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transport {
    /// UDP.
    #[default]
    Udp,
    /// TCP, each datagram a frame on a connection (RFC 4571).
    Tcp,
}

impl Transport {
    /// Transport that str0m names.
    pub(crate) fn of(protocol: Protocol) -> Self {
        if protocol == Protocol::Udp { Self::Udp } else { Self::Tcp }
    }

    /// Name of the transport for str0m.
    pub(crate) const fn protocol(self) -> Protocol {
        match self {
            Self::Udp => Protocol::Udp,
            Self::Tcp => Protocol::Tcp,
        }
    }

    /// Name of the transport in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Udp => "udp",
            Self::Tcp => "tcp",
        }
    }

    /// Bytes of what stands before a datagram: the headers of IP version 4 and UDP; or those of IP and TCP, with time
    /// stamps, and the length of the frame, where each is sent in a segment of its own.
    pub(crate) const fn header_bytes(self) -> u64 {
        match self {
            Self::Udp => 28,
            Self::Tcp => 54,
        }
    }
}

/// Address of a client over a transport: the same one over another transport may be another client's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Remote {
    pub(crate) transport: Transport,
    pub(crate) address: SocketAddr,
}

impl Remote {
    pub(crate) const fn udp(address: SocketAddr) -> Self {
        Self { transport: Transport::Udp, address }
    }

    pub(crate) const fn tcp(address: SocketAddr) -> Self {
        Self { transport: Transport::Tcp, address }
    }
}
