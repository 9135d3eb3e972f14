use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::special::{RANGES, Reachability};
use super::*;

/// IANA's special-purpose address registries (as of 2025): each block, and whether it is globally
/// reachable.
const REGISTRIES: &[(&str, bool)] = &[
    ("0.0.0.0/8", false),
    ("0.0.0.0/32", false),
    ("10.0.0.0/8", false),
    ("100.64.0.0/10", false),
    ("127.0.0.0/8", false),
    ("169.254.0.0/16", false),
    ("172.16.0.0/12", false),
    ("192.0.0.0/24", false),
    ("192.0.0.0/29", false),
    ("192.0.0.8/32", false),
    ("192.0.0.170/32", false),
    ("192.0.0.171/32", false),
    ("192.0.2.0/24", false),
    ("192.31.196.0/24", true),
    ("192.52.193.0/24", true),
    ("192.88.99.0/24", false),
    ("192.168.0.0/16", false),
    ("192.175.48.0/24", true),
    ("198.18.0.0/15", false),
    ("198.51.100.0/24", false),
    ("203.0.113.0/24", false),
    ("240.0.0.0/4", false),
    ("255.255.255.255/32", false),
    ("::1/128", false),
    ("::/128", false),
    ("64:ff9b:1::/48", false),
    ("100::/64", false),
    ("100:0:0:1::/64", false),
    ("2001::/32", false),
    ("2001:2::/48", false),
    ("2001:3::/32", true),
    ("2001:4:112::/48", true),
    ("2001:10::/28", false),
    ("2001:20::/28", true),
    ("2001:30::/28", true),
    ("2001:db8::/32", false),
    ("2002::/16", false),
    ("2620:4f:8000::/48", true),
    ("3fff::/20", false),
    ("5f00::/16", false),
    ("fc00::/7", false),
    ("fe80::/10", false),
    // The registries of multicast addresses.
    ("224.0.0.0/4", false),
    ("ff00::/8", false),
];

fn target() -> Target {
    Target::new("a.example", 80).unwrap()
}

fn check(rules: &Rules, address: IpAddr) -> Result<(), NotAllowed> {
    rules.check(&target(), address, &OwnAddresses::default())
}

fn allows(rules: &Rules, target: &str, address: &str) -> bool {
    let target = Target::parse(target).unwrap();
    rules.check(&target, address.parse().unwrap(), &OwnAddresses::default()).is_ok()
}

fn rules(allow: &[&str], deny: &[&str]) -> Rules {
    Rules {
        allow: allow.iter().map(|r| r.parse().unwrap()).collect(),
        deny: deny.iter().map(|r| r.parse().unwrap()).collect(),
    }
}

/// An address whose first bits are those of the network, and whose others are those of `host`.
fn within(network: &str, host: u128) -> (IpAddr, u8) {
    let (first, bits) = network.split_once('/').unwrap();
    let bits: u8 = bits.parse().unwrap();
    let free = |width: u8| u128::MAX.checked_shr(u32::from(128 - (width - bits))).unwrap_or(0);
    let address = match first.parse().unwrap() {
        IpAddr::V4(v4) => Ipv4Addr::from_bits(v4.to_bits() | (host & free(32)) as u32).into(),
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() | host & free(128)).into(),
    };
    (address, bits)
}

/// The forms of IPv6 that an IPv4 address is known in.
fn embeddings(v4: Ipv4Addr) -> Vec<IpAddr> {
    let [a, b, c, d] = v4.octets().map(u16::from);
    let (high, low) = (a << 8 | b, c << 8 | d);
    [
        Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, high, low),
        Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low),
        Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low),
        Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
        Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
        Ipv6Addr::new(0x2a00, 1, 0, 0, 0, 0x5efe, high, low),
        Ipv6Addr::new(0x2a00, 1, 0, 0, 0x200, 0x5efe, high, low),
    ]
    .map(IpAddr::V6)
    .to_vec()
}

proptest! {
    /// Addresses that no rule names stay closed, however wide the rules are; the address itself
    /// opens it.
    #[test]
    fn special_addresses_are_open_to_rules_that_name_them_alone(
        (block, is_global) in proptest::sample::select(REGISTRIES),
        host: u128,
    ) {
        let wide = rules(&["*", "*.example", "a.example", "0.0.0.0/0", "[::/0]", "[2000::/3]"], &[]);
        let (address, bits) = within(block, host);
        prop_assert_eq!(check(&wide, address).is_ok(), is_global, "{}", address);
        if let IpAddr::V4(v4) = address {
            for embedding in embeddings(v4) {
                let is_open = check(&wide, embedding).is_ok();
                prop_assert!(!is_open || is_global, "{}", embedding);
                let is_denied = rules(&["*", &example(embedding)], &[&example(address)]);
                prop_assert!(check(&is_denied, embedding).is_err(), "{}", embedding);
            }
        }
        prop_assert!(check(&rules(&[&example(address)], &[]), address).is_ok(), "{}", address);
        // A wider network than the block does not name it.
        if !is_global && bits > 8 {
            let wider = Rule { host: Host::Network(format!("{}/{}", address, 7).parse().unwrap()), ports: 0..=80 };
            let wider = Rules { allow: vec![wider], deny: Vec::new() };
            prop_assert!(check(&wider, address).is_err(), "{}", address);
        }
    }

    /// All other addresses are open to all rules, and without rules.
    #[test]
    fn other_addresses_are_open(v4: u32, v6: u128) {
        let any = rules(&["*:80"], &[]);
        for address in [
            IpAddr::V4(Ipv4Addr::from_bits(v4)),
            // Global unicast addresses (2000::/3).
            IpAddr::V6(Ipv6Addr::from_bits(v6 >> 3 | 1 << 125)),
        ] {
            let is_special = RANGES.iter().any(|range| range.network.contains(address));
            prop_assert!(is_special || check(&any, address).is_ok(), "{}", address);
            prop_assert!(is_special || check(&Rules::default(), address).is_ok(), "{}", address);
        }
    }
}

#[test]
fn what_the_table_calls_closed_is_closed_with_and_without_rules() {
    for range in RANGES {
        let first = range.network.first();
        let open = check(&Rules::default(), first).is_ok();
        // The narrowest range of the first address may be another.
        let is_narrowest = !RANGES
            .iter()
            .any(|r| r.network.contains(first) && r.network.bits > range.network.bits);
        if is_narrowest && !matches!(first, IpAddr::V6(v6) if v6.segments()[0] == 0x64) {
            assert_eq!(open, range.reachability != Reachability::Closed, "{}", range.network);
        }
    }
}

#[test]
fn metadata_services_are_named_by_themselves_alone() {
    let wide = rules(&["*", "169.254.0.0/16", "[fc00::/7]", "[fd00::/8]", "100.64.0.0/10"], &[]);
    for address in [
        "169.254.169.254",
        "169.254.170.2",
        "168.63.129.16",
        "100.100.100.200",
        "192.0.0.192",
        "fd00:ec2::254",
        "fd20:ce::254",
        "fd00:c1::a9fe:a9fe",
        "fd00:42::42",
        "fe80::a9fe:a9fe",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b::a83f:8110",
    ] {
        let ip: IpAddr = address.parse().unwrap();
        assert!(check(&wide, ip).is_err(), "{address}");
        assert!(check(&Rules::default(), ip).is_err(), "{address}");
        assert!(check(&rules(&[&example(ip)], &[]), ip).is_ok(), "{address}");
    }
}

#[test]
fn by_default_this_machine_and_its_links_are_out_of_reach() {
    let rules = rules(&[], &[]);
    for address in [
        "127.0.0.1",
        "127.9.9.9",
        "0.0.0.0",
        "169.254.1.1",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "64:ff9b::127.0.0.1",
        "2002:7f00:1::",
    ] {
        assert!(!allows(&rules, "a:80", address), "{address}");
    }
    for address in ["1.1.1.1", "10.0.0.1", "2606:4700::1", "fd01::1", "64:ff9b::1.1.1.1"] {
        assert!(allows(&rules, "a:80", address), "{address}");
    }
}

#[test]
fn this_machines_own_addresses_have_to_be_named() {
    let own = OwnAddresses::test("9.9.9.9", 24, "10.88.0.1");
    let open = |allow: &[&str], address: &str| {
        rules(allow, &[]).check(&target(), address.parse().unwrap(), &own).is_ok()
    };
    for address in ["9.9.9.9", "::ffff:9.9.9.9", "64:ff9b::9.9.9.9"] {
        for allow in [&[][..], &["*:80"], &["a.example"], &["9.9.0.0/16"]] {
            assert!(!open(allow, address), "{address} with {allow:?}");
        }
    }
    assert!(open(&["9.9.9.9"], "9.9.9.9") && open(&["9.9.9.0/24"], "9.9.9.9"));
    assert!(open(&["*:80"], "9.9.9.8"));
    // An address of a service is as any other where there are no rules, and named as others where
    // there are.
    assert!(open(&[], "10.88.0.1") && open(&["10.0.0.0/8"], "10.88.0.1"));
    assert!(!open(&["*:80"], "10.88.0.1"));
}

#[cfg(target_os = "linux")]
#[test]
fn the_interfaces_say_which_addresses_are_own() {
    let own = OwnAddresses::now();
    let special = own.special([127, 0, 0, 1].into()).unwrap();
    assert_eq!((special.name, special.min_bits), ("this machine's own address", 8));
}

#[test]
fn what_is_denied_is_denied_and_what_is_allowed_is_all() {
    let some = rules(&["127.0.0.1:8000-8080", "*.Example.org:443", "box:22"], &["*:8005"]);
    assert!(allows(&some, "x:8000", "127.0.0.1") && allows(&some, "x:8080", "127.0.0.1"));
    assert!(!allows(&some, "x:8081", "127.0.0.1") && !allows(&some, "x:8005", "127.0.0.1"));
    assert!(!allows(&some, "x:8000", "127.0.0.2"));
    assert!(allows(&some, "A.example.ORG:443", "1.1.1.1"));
    assert!(!allows(&some, "example.org:443", "1.1.1.1"));
    assert!(!allows(&some, "a.example.org:80", "1.1.1.1"));
    assert!(allows(&some, "BOX:22", "1.1.1.9") && !allows(&some, "BOX:22", "127.0.0.1"));
    let net = rules(&["10.0.0.0/9", "[fd00::/8]:80", "[::ffff:192.168.0.0/112]"], &["10.1.0.0/16"]);
    assert!(allows(&net, "x:1", "10.127.0.1") && !allows(&net, "x:1", "10.128.0.1"));
    assert!(allows(&net, "x:80", "fd12::1") && !allows(&net, "x:81", "fd12::1"));
    assert!(allows(&net, "x:1", "192.168.9.9") && !allows(&net, "x:1", "192.169.0.1"));
    assert!(!allows(&net, "x:1", "10.1.2.3") && !allows(&net, "x:1", "::ffff:10.1.2.3"));
}

#[test]
fn a_name_is_no_bar() {
    for name in ["example.org", "*.example.org:443", "localhost:80"] {
        assert!(name.parse::<Rule>().is_ok(), "{name}");
        let why = name.parse::<DenyRule>().unwrap_err();
        assert!(why.contains("expected an address"), "{why}");
    }
    for good in ["*", "*:25", "10.0.0.0/8", "[::1]:22"] {
        assert!(good.parse::<DenyRule>().is_ok(), "{good}");
    }
}

#[test]
fn what_is_no_rule_is_refused() {
    for bad in [
        "",
        ":80",
        "a:",
        "a:x",
        "a:9-8",
        "a:70000",
        "10.0.0.0/33",
        "[::1",
        "[::1]80",
        "[fd00::/129]",
        "*example.org",
        "*.",
        "name/8",
        "a b",
    ] {
        assert!(bad.parse::<Rule>().is_err(), "{bad}");
    }
}
