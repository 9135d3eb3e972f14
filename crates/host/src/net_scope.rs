//! Who may see what is not for everybody.

use std::net::IpAddr;

/// True if an address is this machine's, or one of its private or link-local networks.
pub fn is_local_network(peer: IpAddr) -> bool {
    match peer.to_canonical() {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_private() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}
