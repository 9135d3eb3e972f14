//! Where the serving end may connect to.

use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::str::FromStr;

use super::request::Target;

/// A rule: which hosts and ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    host: Host,
    ports: RangeInclusive<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    Any,
    /// Addresses whose first bits are these.
    Network(IpAddr, u8),
    /// This name, as the client asks for it.
    Name(String),
    /// Names that end like this, with the dot.
    Below(String),
}

/// What is allowed.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// If there are any, nothing but these.
    pub allow: Vec<Rule>,
    /// Not these, whatever is allowed.
    pub deny: Vec<Rule>,
}

impl Rules {
    /// Whether a connection to `address` is allowed for a client that asked for `target`.
    ///
    /// Without rules everything is but what the server alone should reach: itself, its link, and
    /// groups.
    pub fn allow(&self, target: &Target, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let fits = |rule: &Rule| rule.fits(target, address);
        if self.deny.iter().any(fits) {
            return false;
        }
        match self.allow.is_empty() {
            true => !is_private_to_host(address),
            false => self.allow.iter().any(fits),
        }
    }
}

/// Whether an address means the host itself, its link or a group.
fn is_private_to_host(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            v4.is_loopback()
                || v4.is_link_local()
                || v4.is_multicast()
                || v4.is_broadcast()
                || v4.octets()[0] == 0
        }
        IpAddr::V6(v6) => {
            v6.is_loopback()
                || v6.is_unicast_link_local()
                || v6.is_multicast()
                || v6.is_unspecified()
        }
    }
}

impl Rule {
    fn fits(&self, target: &Target, address: IpAddr) -> bool {
        let host = match &self.host {
            Host::Any => true,
            Host::Network(network, bits) => is_in(address, *network, *bits),
            Host::Name(name) => target.host.eq_ignore_ascii_case(name),
            Host::Below(end) => {
                let host = target.host.to_ascii_lowercase();
                host.ends_with(end.as_str()) && host.len() > end.len()
            }
        };
        host && self.ports.contains(&target.port)
    }
}

fn is_in(address: IpAddr, network: IpAddr, bits: u8) -> bool {
    let as_number = |ip: IpAddr| match ip {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()) << 96, 32),
        IpAddr::V6(v6) => (v6.to_bits(), 128),
    };
    let ((address, own), (network, other)) = (as_number(address), as_number(network));
    own == other && (bits == 0 || (address ^ network) >> (128 - u32::from(bits)) == 0)
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Any => f.write_str("*")?,
            Host::Network(IpAddr::V6(ip), bits) => write!(f, "[{ip}/{bits}]")?,
            Host::Network(ip, bits) => write!(f, "{ip}/{bits}")?,
            Host::Name(name) => f.write_str(name)?,
            Host::Below(end) => write!(f, "*{end}")?,
        }
        write!(f, ":{}-{}", self.ports.start(), self.ports.end())
    }
}

impl FromStr for Rule {
    type Err = String;

    /// Reads `HOST[:PORT[-PORT]]`: a name, `*.name`, an address, a network such as 10.0.0.0/8, or
    /// `*`; IPv6 in brackets.
    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            "expected HOST[:PORT[-PORT]] with HOST a name, *.name, an address, a network such as \
             10.0.0.0/8 or *, and IPv6 in brackets, such as [fd00::/8]:80-443"
                .to_owned()
        };
        let (host, ports) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, ports) = rest.split_once(']').ok_or_else(expected)?;
                let ports = match ports {
                    "" => None,
                    ports => Some(ports.strip_prefix(':').ok_or_else(expected)?),
                };
                (host, ports)
            }
            None => match text.split_once(':') {
                Some((host, ports)) => (host, Some(ports)),
                None => (text, None),
            },
        };
        let ports = match ports {
            None => 0..=u16::MAX,
            Some(ports) => {
                let (low, high) = ports.split_once('-').unwrap_or((ports, ports));
                let port = |text: &str| text.parse::<u16>().map_err(|_| expected());
                port(low)?..=port(high)?
            }
        };
        if ports.is_empty() {
            return Err(expected());
        }
        let host = Host::parse(host).ok_or_else(expected)?;
        Ok(Self { host, ports })
    }
}

impl Host {
    fn parse(text: &str) -> Option<Self> {
        if text == "*" {
            return Some(Self::Any);
        }
        if let Some(end) = text.strip_prefix('*') {
            let is_name = end.starts_with('.') && Target::new(end, 1).is_some() && end.len() > 1;
            return is_name.then(|| Self::Below(end.to_ascii_lowercase()));
        }
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u8>().ok()?)),
            None => (text, None),
        };
        if let Ok(address) = address.parse::<IpAddr>() {
            let most = if address.is_ipv4() { 32 } else { 128 };
            let bits = bits.unwrap_or(most);
            return (bits <= most).then_some(Self::Network(address, bits));
        }
        let is_name = bits.is_none() && Target::new(text, 1).is_some();
        is_name.then(|| Self::Name(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(rules: &Rules, target: &str, address: &str) -> bool {
        rules.allow(&Target::parse(target).unwrap(), address.parse().unwrap())
    }

    fn rules(allow: &[&str], deny: &[&str]) -> Rules {
        let read = |all: &[&str]| all.iter().map(|r| r.parse().unwrap()).collect();
        Rules { allow: read(allow), deny: read(deny) }
    }

    #[test]
    fn by_default_the_server_itself_and_its_link_are_out_of_reach() {
        let rules = rules(&[], &[]);
        for address in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "169.254.169.254",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "ff02::1",
            "::ffff:127.0.0.1",
        ] {
            assert!(!allows(&rules, "a:80", address), "{address}");
        }
        for address in ["192.0.2.1", "10.0.0.1", "2001:db8::1", "fd00::1"] {
            assert!(allows(&rules, "a:80", address), "{address}");
        }
    }

    #[test]
    fn what_is_denied_is_denied_and_what_is_allowed_is_all() {
        let some = rules(&["127.0.0.1:8000-8080", "*.Example.org:443", "box:22"], &["*:8005"]);
        assert!(allows(&some, "x:8000", "127.0.0.1") && allows(&some, "x:8080", "127.0.0.1"));
        assert!(!allows(&some, "x:8081", "127.0.0.1") && !allows(&some, "x:8005", "127.0.0.1"));
        assert!(!allows(&some, "x:8000", "127.0.0.2"));
        assert!(allows(&some, "A.example.ORG:443", "192.0.2.1"));
        assert!(!allows(&some, "example.org:443", "192.0.2.1"));
        assert!(!allows(&some, "a.example.org:80", "192.0.2.1"));
        assert!(allows(&some, "BOX:22", "192.0.2.9"));
        let net = rules(&["10.0.0.0/9", "[fd00::/8]:80"], &[]);
        assert!(allows(&net, "x:1", "10.127.0.1") && !allows(&net, "x:1", "10.128.0.1"));
        assert!(allows(&net, "x:80", "fd12::1") && !allows(&net, "x:81", "fd12::1"));
        assert!(allows(&rules(&["0.0.0.0/0"], &[]), "x:1", "127.0.0.1"));
        assert!(!allows(&rules(&["0.0.0.0/0"], &[]), "x:1", "::1"));
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
}
