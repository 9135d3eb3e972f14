//! Addresses to listen at.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

use airlane_base::InputError;

/// The addresses that `ADDR:PORT` stands for; `key` is where it was given.
pub(super) fn listen_addresses(text: &str, key: &str) -> Result<Vec<SocketAddr>, InputError> {
    let wrong = |what: String| {
        InputError::new(what, "expected ADDR:PORT, such as [::]:443 or localhost:4433").at_key(key)
    };
    if let Some(port) = text.strip_prefix(':') {
        let port = port.parse().map_err(|_| wrong(format!("{text:?} has no port")))?;
        // One socket for both kinds of addresses.
        return Ok(vec![SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))]);
    }
    if let Some(port) = text.strip_prefix("localhost:").and_then(|p| p.parse::<u16>().ok()) {
        // Browsers try both, whatever the machine's own table of names says.
        let both = [SocketAddr::from(([127, 0, 0, 1], port)), (Ipv6Addr::LOCALHOST, port).into()];
        let usable = |a: &SocketAddr| std::net::UdpSocket::bind((a.ip(), 0)).is_ok();
        return Ok(both.into_iter().filter(usable).collect());
    }
    let found: Vec<_> =
        text.to_socket_addrs().map_err(|e| wrong(format!("{text:?}: {e}")))?.collect();
    if found.is_empty() { Err(wrong(format!("{text:?} has no address"))) } else { Ok(found) }
}

/// An address to listen at: a port alone is one of this machine alone.
pub(super) fn local_address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse() {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    let text = text.replace("localhost:", "127.0.0.1:");
    text.parse().map_err(|_| "expected a port or ADDR:PORT, such as 127.0.0.1:1080".to_owned())
}
