//! Addresses of hosts and of the networks that they have.

use std::net::{IpAddr, Ipv6Addr};

/// The network that one subscriber has: an address of IPv4, or a network of 64 bits of IPv6, which
/// one host may have all of (RFC 4291, 2.5.4). An address of IPv4 that is mapped into IPv6 is that
/// address.
pub fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_address_stands_for_its_network_and_a_mapped_one_for_itself() {
        let of = |text: &str| network_of(text.parse().unwrap()).to_string();
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(of("::ffff:192.0.2.1"), "192.0.2.1");
        assert_eq!(of("192.0.2.1"), "192.0.2.1");
    }
}
