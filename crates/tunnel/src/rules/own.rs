//! The addresses of this machine's interfaces.

use std::net::IpAddr;

use super::special::{SpecialAddress, special};

/// An address of an interface of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OwnAddress {
    address: IpAddr,
    /// Length of the prefix of its network, bits.
    bits: u8,
    /// True if it is one of the loopback interface: an address of a service, which routes lead
    /// others to.
    is_service: bool,
}

/// The addresses of this machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnAddresses(Vec<OwnAddress>);

impl OwnAddresses {
    /// Those that the interfaces have now; none where the system does not tell.
    #[cfg(unix)]
    pub(crate) fn now() -> Self {
        use nix::net::if_::InterfaceFlags;
        let ip = |of: &nix::sys::socket::SockaddrStorage| {
            let v4 = of.as_sockaddr_in().map(|a| IpAddr::V4(a.ip()));
            v4.or_else(|| of.as_sockaddr_in6().map(|a| IpAddr::V6(a.ip())))
        };
        let bits = |mask: IpAddr| match mask {
            IpAddr::V4(v4) => v4.to_bits().count_ones(),
            IpAddr::V6(v6) => v6.to_bits().count_ones(),
        };
        let Ok(all) = nix::ifaddrs::getifaddrs() else { return Self::default() };
        let own = all.filter_map(|of| {
            let address = ip(&of.address?)?;
            let width = if address.is_ipv4() { 32 } else { 128 };
            let bits = of.netmask.as_ref().and_then(ip).map_or(width, bits);
            Some(OwnAddress {
                address,
                bits: u8::try_from(bits).unwrap_or(u8::MAX),
                is_service: of.flags.contains(InterfaceFlags::IFF_LOOPBACK),
            })
        });
        Self(own.collect())
    }

    /// Those that the interfaces have now; none where the system does not tell.
    #[cfg(not(unix))]
    pub(crate) fn now() -> Self {
        Self::default()
    }

    /// Special properties of an address, this machine's own included.
    pub(crate) fn special(&self, address: IpAddr) -> Option<SpecialAddress> {
        let address = address.to_canonical();
        let by_itself = special(address);
        let v6 = match address {
            IpAddr::V6(v6) => super::special::embedded(v6),
            IpAddr::V4(_) => [None; 2],
        };
        let embedded = v6.into_iter().flatten().map(|(v4, offset)| (IpAddr::V4(v4), offset));
        let own = std::iter::once((address, 0)).chain(embedded).filter_map(|(ip, offset)| {
            let OwnAddress { bits, is_service, .. } =
                *self.0.iter().find(|own| own.address == ip)?;
            // A range that a rule names may hold the network: 10.0.0.0/8 names 10.0.0.1 too.
            let range = special(ip).map_or(u8::MAX, |range| range.min_bits);
            let min_bits = offset + bits.min(range);
            Some(SpecialAddress {
                name: "this machine's own address",
                min_bits,
                is_open: is_service,
            })
        });
        by_itself.into_iter().chain(own).reduce(SpecialAddress::and)
    }
}

#[cfg(test)]
impl OwnAddresses {
    /// One address of an ordinary interface, and one of the loopback interface.
    pub(crate) fn test(own: &str, bits: u8, service: &str) -> Self {
        let of = |text: &str, bits, is_service| OwnAddress {
            address: text.parse().unwrap(),
            bits,
            is_service,
        };
        Self(vec![of(own, bits, false), of(service, 32, true)])
    }
}
