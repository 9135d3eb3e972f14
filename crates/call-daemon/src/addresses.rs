//! Addresses at which clients reach the UDP socket.

use std::net::{IpAddr, SocketAddr};

use airlane_base::InputError;

/// Addresses that are announced at most: each is a candidate that every client tries.
const MAX_ANNOUNCED: usize = 8;

/// Addresses to announce for a socket bound to `local`: those given, or the one it is bound to, or those of this
/// machine's interfaces.
///
/// # Errors
/// If there is none.
pub(crate) fn announced(
    given: &[SocketAddr],
    local: SocketAddr,
) -> Result<Vec<SocketAddr>, InputError> {
    if !given.is_empty() {
        let with_port = |at: &SocketAddr| match at.port() {
            0 => SocketAddr::new(at.ip(), local.port()),
            _ => *at,
        };
        return Ok(given.iter().map(with_port).take(MAX_ANNOUNCED).collect());
    }
    if !local.ip().is_unspecified() {
        return Ok(vec![local]);
    }
    let (others, loopback): (Vec<IpAddr>, Vec<IpAddr>) = interfaces()
        .into_iter()
        .filter(|ip| local.is_ipv6() || ip.is_ipv4())
        .partition(|ip| !ip.is_loopback());
    let usable = if others.is_empty() { loopback } else { others };
    if usable.is_empty() {
        let expected = "name one with --announce ADDR";
        return Err(InputError::new(
            "this machine has no address that clients could reach",
            expected,
        ));
    }
    Ok(usable.into_iter().map(|ip| SocketAddr::new(ip, local.port())).take(MAX_ANNOUNCED).collect())
}

/// Addresses of the interfaces that are up, without those of links alone.
#[cfg(unix)]
fn interfaces() -> Vec<IpAddr> {
    use nix::net::if_::InterfaceFlags;
    let Ok(all) = nix::ifaddrs::getifaddrs() else { return Vec::new() };
    let mut found: Vec<IpAddr> = all
        .filter(|interface| interface.flags.contains(InterfaceFlags::IFF_UP))
        .filter_map(|interface| {
            let address = interface.address?;
            if let Some(v4) = address.as_sockaddr_in() {
                return Some(IpAddr::from(v4.ip()));
            }
            address.as_sockaddr_in6().map(|v6| IpAddr::from(v6.ip()))
        })
        .filter(|ip| !matches!(ip, IpAddr::V6(v6) if v6.is_unicast_link_local()))
        .collect();
    // Clients try them in this order, and those of IP version 4 reach most.
    found.sort_by_key(|ip| (ip.is_ipv6(), *ip));
    found.dedup();
    found
}

#[cfg(not(unix))]
fn interfaces() -> Vec<IpAddr> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn what_is_given_is_announced_and_else_what_is_bound() {
        let local = at("192.0.2.7:4460");
        assert_eq!(announced(&[], local), Ok(vec![local]));
        let given = [at("198.51.100.1:0"), at("[2001:db8::1]:9")];
        let expected = vec![at("198.51.100.1:4460"), at("[2001:db8::1]:9")];
        assert_eq!(announced(&given, at("0.0.0.0:4460")), Ok(expected));
    }

    #[test]
    fn a_socket_of_all_addresses_announces_usable_ones_of_its_family() {
        let all = announced(&[], at("0.0.0.0:4460")).unwrap();
        assert!(!all.is_empty() && all.len() <= MAX_ANNOUNCED);
        assert!(
            all.iter().all(|at| at.is_ipv4() && !at.ip().is_unspecified() && at.port() == 4460)
        );
    }
}
