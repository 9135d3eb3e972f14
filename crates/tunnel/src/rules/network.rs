//! Networks: addresses whose first bits are the same.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Bits of an IPv6 address in front of the IPv4 address in one that is mapped (RFC 4291, section
/// 2.5.5.2).
const MAPPED_BITS: u8 = 96;

/// Addresses of one family whose first bits are these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Network {
    address: IpAddr,
    /// Length of the prefix, bits.
    pub(crate) bits: u8,
}

impl Network {
    pub(crate) const fn v4(octets: [u8; 4], bits: u8) -> Self {
        let [a, b, c, d] = octets;
        Self { address: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), bits }
    }

    pub(crate) const fn v6(segments: [u16; 8], bits: u8) -> Self {
        let [a, b, c, d, e, f, g, h] = segments;
        Self { address: IpAddr::V6(Ipv6Addr::new(a, b, c, d, e, f, g, h)), bits }
    }

    /// True if an address is one of them. An address that is mapped into IPv6 is an IPv4 address.
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        let shift = |width: u8| u32::from(width.saturating_sub(self.bits));
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                u64::from(own.to_bits() ^ other.to_bits()) >> shift(32) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                (own.to_bits() ^ other.to_bits()).checked_shr(shift(128)).unwrap_or(0) == 0
            }
            _ => false,
        }
    }

    /// Its first address.
    #[cfg(test)]
    pub(crate) fn first(&self) -> IpAddr {
        self.address
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            IpAddr::V4(v4) => write!(f, "{v4}/{}", self.bits),
            IpAddr::V6(v6) => write!(f, "[{v6}/{}]", self.bits),
        }
    }
}

impl FromStr for Network {
    type Err = ();

    /// Reads an address, or an address and the length of a prefix, such as 10.0.0.0/8.
    fn from_str(text: &str) -> Result<Self, ()> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u8>().map_err(drop)?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(drop)?;
        let width = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(width);
        if bits > width {
            return Err(());
        }
        match (address.to_canonical(), bits.checked_sub(MAPPED_BITS)) {
            (mapped @ IpAddr::V4(_), Some(bits)) if address.is_ipv6() => {
                Ok(Self { address: mapped, bits })
            }
            _ => Ok(Self { address, bits }),
        }
    }
}
