//! Interfaces: by the name of an interface or an address on it.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpSocket;

/// Bytes that the system takes beyond what it has sent, so that little waits in a connection that
/// another could take.
const UNSENT_BYTES: u32 = 128 << 10;
/// Bytes of an interface's name at most (IFNAMSIZ, with its end).
const NAME_BYTES: usize = 15;

/// Interface or address that a subflow leaves from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathSpec {
    /// An interface of this name: nothing leaves through others.
    Interface(String),
    /// An address of this machine; the routes say through which interface it leaves.
    Address(IpAddr),
}

impl fmt::Display for PathSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interface(name) => f.write_str(name),
            Self::Address(address) => write!(f, "{address}"),
        }
    }
}

impl FromStr for PathSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(address) = text.parse() {
            return Ok(Self::Address(address));
        }
        let is_name = (1..=NAME_BYTES).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_graphic() && b != b'/');
        match is_name {
            true => Ok(Self::Interface(text.to_owned())),
            false => {
                Err("expected the name of an interface, such as wlan0, or an address of this \
                          machine, such as 10.0.0.2"
                    .to_owned())
            }
        }
    }
}

impl PathSpec {
    /// True if an address of the other end can be reached from it, whatever addresses it has now.
    pub(crate) fn fits(&self, remote: SocketAddr) -> bool {
        match self {
            Self::Interface(_) => true,
            Self::Address(own) => own.is_ipv4() == remote.is_ipv4(),
        }
    }

    /// The addresses of the other end that can be reached from it: those of a family that it has an
    /// address of. All of them if its interface has none: that may come.
    pub(crate) fn fitting(&self, remote: &[SocketAddr]) -> Vec<SocketAddr> {
        let fits = |at: &SocketAddr| match self {
            Self::Interface(name) => address_of(name, *at).is_ok(),
            Self::Address(_) => self.fits(*at),
        };
        let fitting: Vec<SocketAddr> = remote.iter().copied().filter(fits).collect();
        match self {
            Self::Interface(_) if fitting.is_empty() => remote.to_vec(),
            _ => fitting,
        }
    }

    /// An address that a socket to `remote` is to be bound to where it cannot be bound to the
    /// interface itself.
    pub(crate) fn address(&self, remote: SocketAddr) -> io::Result<IpAddr> {
        match self {
            Self::Address(own) => Ok(*own),
            Self::Interface(name) => address_of(name, remote),
        }
    }

    /// A TCP socket that leaves from it to `remote`.
    pub(crate) fn tcp_socket(&self, remote: SocketAddr) -> io::Result<TcpSocket> {
        let socket = Socket::new(Domain::for_address(remote), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_nonblocking(true)?;
        match self {
            Self::Interface(name) => bind_to(&socket, name, remote)?,
            Self::Address(own) => socket.bind(&SocketAddr::new(*own, 0).into())?,
        }
        tune(&socket)?;
        Ok(TcpSocket::from_std_stream(socket.into()))
    }
}

/// Binds a socket to an interface, or to its address where this user may not do that.
#[cfg(target_os = "linux")]
fn bind_to(socket: &Socket, name: &str, remote: SocketAddr) -> io::Result<()> {
    match socket.bind_device(Some(name.as_bytes())) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            socket.bind(&SocketAddr::new(address_of(name, remote)?, 0).into())
        }
        bound => bound,
    }
}

#[cfg(not(target_os = "linux"))]
fn bind_to(socket: &Socket, name: &str, remote: SocketAddr) -> io::Result<()> {
    socket.bind(&SocketAddr::new(address_of(name, remote)?, 0).into())
}

/// The first address of an interface of the family of `remote`.
#[cfg(unix)]
fn address_of(name: &str, remote: SocketAddr) -> io::Result<IpAddr> {
    let all = nix::ifaddrs::getifaddrs()?;
    let address = |of: nix::ifaddrs::InterfaceAddress| {
        let address = of.address?;
        let v4 = address.as_sockaddr_in().map(|a| IpAddr::V4(a.ip()));
        v4.or_else(|| address.as_sockaddr_in6().map(|a| IpAddr::V6(a.ip())))
    };
    let fits = |ip: &IpAddr| match ip {
        IpAddr::V4(_) => remote.is_ipv4(),
        IpAddr::V6(v6) => {
            let is_on_link = matches!(remote.ip(), IpAddr::V6(to) if to.is_unicast_link_local());
            remote.is_ipv6() && v6.is_unicast_link_local() == is_on_link
        }
    };
    let found = all.filter(|of| of.interface_name == name).filter_map(address).find(fits);
    found.ok_or_else(|| {
        let problem = format!("no interface {name}, or no address on it that leads to {remote}");
        io::Error::new(io::ErrorKind::AddrNotAvailable, problem)
    })
}

#[cfg(not(unix))]
fn address_of(name: &str, _: SocketAddr) -> io::Result<IpAddr> {
    let problem = format!("{name}: interfaces have no names here; give an address");
    Err(io::Error::new(io::ErrorKind::Unsupported, problem))
}

/// Sets up a socket of a subflow, at either end.
pub(crate) fn tune<'a>(socket: impl Into<socket2::SockRef<'a>>) -> io::Result<()> {
    let socket = socket.into();
    // Every write is what should leave now.
    socket.set_tcp_nodelay(true)?;
    // A subflow that is closed is of no more use: what is left of it must not go on.
    socket.set_linger(Some(std::time::Duration::ZERO))?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_notsent_lowat(UNSENT_BYTES)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_interfaces_or_addresses() {
        let read = |text: &str| text.parse::<PathSpec>();
        assert_eq!(read("10.0.0.2"), Ok(PathSpec::Address([10, 0, 0, 2].into())));
        assert_eq!(read("wlan0"), Ok(PathSpec::Interface("wlan0".to_owned())));
        for bad in ["", "a b", "a/b", "a-name-that-is-too-long"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_interface_has_an_address_of_the_right_family() {
        let v4 = SocketAddr::from(([127, 0, 0, 1], 1));
        assert_eq!(address_of("lo", v4).unwrap(), v4.ip());
        assert!(address_of("no-such-name", v4).is_err());
        let lo = PathSpec::Interface("lo".to_owned());
        // It never has such an address.
        let link_local = "[fe80::1]:1".parse().unwrap();
        assert_eq!(lo.fitting(&[link_local, v4]), [v4]);
        let gone = PathSpec::Interface("no-such-name".to_owned());
        assert_eq!(gone.fitting(&[link_local, v4]), [link_local, v4]);
        let own = PathSpec::Address([127, 0, 0, 2].into());
        assert_eq!(own.fitting(&[link_local, v4]), [v4]);
    }
}
