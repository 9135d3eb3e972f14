//! Special addresses: those of this machine's surroundings, which a rule has to name.
//!
//! The ranges are those of IANA's special-purpose address registries of both families (RFC 6890),
//! multicast, what is no global unicast address of IPv6 (RFC 4291, section 2.4), and the metadata
//! services of hosting providers. Ranges that the registries call globally reachable are as any other
//! address, but for the anycast addresses of a network's own NAT and TURN servers (RFC 7723, RFC 8155).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::network::Network;

/// Peers that may reach the addresses of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reachability {
    /// Everybody: they are globally reachable, and as any other address.
    Global,
    /// This machine's networks: they are open where there are no rules.
    Private,
    /// Nobody but whom a rule lets.
    Closed,
}

/// A range of special addresses.
#[derive(Debug)]
pub(crate) struct Range {
    pub(crate) network: Network,
    /// Name of the range, for messages.
    name: &'static str,
    pub(crate) reachability: Reachability,
}

const fn closed(network: Network, name: &'static str) -> Range {
    Range { network, name, reachability: Reachability::Closed }
}

const fn private(network: Network) -> Range {
    Range { network, name: "an address of a private network", reachability: Reachability::Private }
}

const fn global(network: Network) -> Range {
    Range { network, name: "a global address", reachability: Reachability::Global }
}

const METADATA: &str = "a metadata service of the hosting provider";
const DOCUMENTATION: &str = "an address of documents";
const BENCHMARKING: &str = "an address of benchmarks";
const RESERVED: &str = "a reserved address";
const PROTOCOL: &str = "an address of IETF protocols";
const MULTICAST: &str = "a multicast group";
const UNSPECIFIED: &str = "an address of this host on this network";
const LOOPBACK: &str = "a loopback address";
const LINK_LOCAL: &str = "a link-local address";
const EMBEDDING: &str = "an IPv4 address in an IPv6 address";

/// All ranges. Of those that hold an address the one with the longest prefix counts.
pub(crate) static RANGES: &[Range] = &[
    closed(Network::v4([0, 0, 0, 0], 8), UNSPECIFIED),
    private(Network::v4([10, 0, 0, 0], 8)),
    closed(Network::v4([100, 64, 0, 0], 10), "a shared address of a provider's network"),
    closed(Network::v4([127, 0, 0, 0], 8), LOOPBACK),
    closed(Network::v4([169, 254, 0, 0], 16), LINK_LOCAL),
    private(Network::v4([172, 16, 0, 0], 12)),
    closed(Network::v4([192, 0, 0, 0], 24), PROTOCOL),
    closed(Network::v4([192, 0, 2, 0], 24), DOCUMENTATION),
    global(Network::v4([192, 31, 196, 0], 24)),
    global(Network::v4([192, 52, 193, 0], 24)),
    closed(Network::v4([192, 88, 99, 0], 24), "a 6to4 relay"),
    private(Network::v4([192, 168, 0, 0], 16)),
    global(Network::v4([192, 175, 48, 0], 24)),
    closed(Network::v4([198, 18, 0, 0], 15), BENCHMARKING),
    closed(Network::v4([198, 51, 100, 0], 24), DOCUMENTATION),
    closed(Network::v4([203, 0, 113, 0], 24), DOCUMENTATION),
    closed(Network::v4([224, 0, 0, 0], 4), MULTICAST),
    closed(Network::v4([240, 0, 0, 0], 4), RESERVED),
    closed(Network::v4([255, 255, 255, 255], 32), "the broadcast address"),
    // Whatever is no global unicast address (2000::/3) and in no narrower range.
    closed(Network::v6([0; 8], 3), RESERVED),
    closed(Network::v6([0x4000, 0, 0, 0, 0, 0, 0, 0], 2), RESERVED),
    closed(Network::v6([0x8000, 0, 0, 0, 0, 0, 0, 0], 1), RESERVED),
    closed(Network::v6([0; 8], 96), EMBEDDING),
    closed(Network::v6([0; 8], 128), "the unspecified address"),
    closed(Network::v6([0, 0, 0, 0, 0, 0, 0, 1], 128), LOOPBACK),
    closed(Network::v6([0, 0, 0, 0, 0xffff, 0, 0, 0], 96), EMBEDDING),
    // The address behind it decides.
    global(Network::v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96)),
    closed(Network::v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48), "an address of a local NAT64"),
    closed(Network::v6([0x100, 0, 0, 0, 0, 0, 0, 0], 64), "an address that discards"),
    closed(Network::v6([0x100, 0, 0, 1, 0, 0, 0, 0], 64), RESERVED),
    closed(Network::v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23), PROTOCOL),
    closed(Network::v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32), "a Teredo address"),
    closed(Network::v6([0x2001, 2, 0, 0, 0, 0, 0, 0], 48), BENCHMARKING),
    global(Network::v6([0x2001, 3, 0, 0, 0, 0, 0, 0], 32)),
    global(Network::v6([0x2001, 4, 0x112, 0, 0, 0, 0, 0], 48)),
    global(Network::v6([0x2001, 0x20, 0, 0, 0, 0, 0, 0], 28)),
    global(Network::v6([0x2001, 0x30, 0, 0, 0, 0, 0, 0], 28)),
    closed(Network::v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32), DOCUMENTATION),
    closed(Network::v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16), "a 6to4 address"),
    closed(Network::v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20), DOCUMENTATION),
    closed(Network::v6([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16), "a segment identifier"),
    private(Network::v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7)),
    closed(Network::v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10), LINK_LOCAL),
    closed(Network::v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10), "a site-local address"),
    closed(Network::v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8), MULTICAST),
    // The services of Amazon (containers too), Google, Microsoft, Oracle, Alibaba, Scaleway and
    // OpenStack.
    closed(Network::v4([169, 254, 169, 254], 32), METADATA),
    closed(Network::v4([169, 254, 170, 2], 32), METADATA),
    closed(Network::v4([169, 254, 170, 23], 32), METADATA),
    closed(Network::v4([169, 254, 42, 42], 32), METADATA),
    closed(Network::v4([168, 63, 129, 16], 32), METADATA),
    closed(Network::v4([192, 0, 0, 192], 32), METADATA),
    closed(Network::v4([100, 100, 100, 200], 32), METADATA),
    closed(Network::v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0], 32), METADATA),
    closed(Network::v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0], 32), METADATA),
    closed(Network::v6([0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe], 128), METADATA),
    closed(Network::v6([0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42], 128), METADATA),
    closed(Network::v6([0xfe80, 0, 0, 0, 0, 0, 0xa9fe, 0xa9fe], 128), METADATA),
];

/// Special address, by its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpecialAddress {
    /// Name of its range, for messages.
    pub(crate) name: &'static str,
    /// Shortest prefix of a rule that names it, bits.
    pub(crate) min_bits: u8,
    /// True if it is open where there are no rules.
    pub(crate) is_open: bool,
}

impl SpecialAddress {
    /// The stricter of both, the other one if they are alike.
    pub(crate) fn and(self, other: Self) -> Self {
        let stricter = if self.min_bits <= other.min_bits { other } else { self };
        Self { is_open: self.is_open && other.is_open, ..stricter }
    }
}

/// Special properties of an address by itself, whichever machine's it is. One of IPv6 that a
/// translator or a tunnel turns into one of IPv4 is as special as that.
pub(crate) fn special(address: IpAddr) -> Option<SpecialAddress> {
    let address = address.to_canonical();
    let own = in_ranges(address);
    let IpAddr::V6(v6) = address else { return own };
    let embedded = embedded(v6).into_iter().flatten().filter_map(|(v4, offset)| {
        let special = in_ranges(IpAddr::V4(v4))?;
        Some(SpecialAddress { min_bits: offset + special.min_bits, ..special })
    });
    own.into_iter().chain(embedded).reduce(SpecialAddress::and)
}

fn in_ranges(address: IpAddr) -> Option<SpecialAddress> {
    let holding = RANGES.iter().filter(|range| range.network.contains(address));
    let narrowest = holding.max_by_key(|range| range.network.bits)?;
    let Range { network, name, reachability } = narrowest;
    let is_open = match reachability {
        Reachability::Global => return None,
        Reachability::Private => true,
        Reachability::Closed => false,
    };
    Some(SpecialAddress { name, min_bits: network.bits, is_open })
}

/// IPv4 addresses that an IPv6 address may lead to, each with the number of bits in front of it: by a
/// NAT64 (RFC 6052, the well-known prefix), 6to4 (RFC 3056), ISATAP (RFC 5214), SIIT (RFC 2765), or
/// as an IPv4-compatible address (RFC 4291).
pub(crate) fn embedded(address: Ipv6Addr) -> [Option<(Ipv4Addr, u8)>; 2] {
    let s = address.segments();
    let v4 = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    let is_last = matches!(
        s,
        [0x64, 0xff9b, 0, 0, 0, 0, ..]
            | [0, 0, 0, 0, 0 | 0xffff, 0, ..]
            | [_, _, _, _, 0 | 0x200, 0x5efe, ..]
    );
    [(s[0] == 0x2002).then(|| (v4(s[1], s[2]), 16)), is_last.then(|| (v4(s[6], s[7]), 96))]
}
