//! Where the serving end may connect to.

mod network;
mod own;
mod policy;
mod special;

use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::str::FromStr;

use self::network::Network;
use self::own::OwnAddresses;
pub(crate) use self::policy::TargetPolicy;
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
    Network(Network),
    /// This name, as the client asks for it.
    Name(String),
    /// Names that end like this, with the dot.
    Below(String),
}

/// A rule of what is denied. It has no name: a client may ask for the address that a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DenyRule(Rule);

/// Rules on the targets that are allowed.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// If there are any, nothing but these.
    pub allow: Vec<Rule>,
    /// Not these, whatever is allowed.
    pub deny: Vec<DenyRule>,
}

/// Reason why a connection is not allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotAllowed {
    #[error("--deny {0} forbids it")]
    Denied(Rule),
    #[error("no --allow rule fits")]
    NoRule,
    #[error("{address} is {name}, which a rule has to name, such as --allow {}", example(*.address))]
    Special { address: IpAddr, name: &'static str },
}

/// A rule that names an address.
fn example(address: IpAddr) -> String {
    match address {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => format!("[{v6}]"),
    }
}

impl Rules {
    /// Checks whether a client that asked for `target` may be connected to `address`, as this
    /// machine's own addresses are.
    ///
    /// Special addresses need a rule that names one of theirs: neither `*` nor a name nor a network
    /// that is wider than their range opens them.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn check(
        &self,
        target: &Target,
        address: IpAddr,
        own: &OwnAddresses,
    ) -> Result<(), NotAllowed> {
        let address = address.to_canonical();
        if let Some(DenyRule(rule)) = self.deny.iter().find(|DenyRule(r)| r.denies(target, address))
        {
            return Err(NotAllowed::Denied(rule.clone()));
        }
        let special = own.special(address);
        let is_open = match (self.allow.is_empty(), special) {
            (true, None) => true,
            (true, Some(special)) => special.is_open,
            (false, None) => self.allow.iter().any(|rule| rule.fits(target, address)),
            (false, Some(special)) => self
                .allow
                .iter()
                .any(|rule| rule.names(special.min_bits) && rule.fits(target, address)),
        };
        match special {
            _ if is_open => Ok(()),
            Some(special) => Err(NotAllowed::Special { address, name: special.name }),
            None => Err(NotAllowed::NoRule),
        }
    }
}

impl Rule {
    fn fits(&self, target: &Target, address: IpAddr) -> bool {
        let host = match &self.host {
            Host::Any => true,
            Host::Network(network) => network.contains(address),
            Host::Name(name) => target.host.eq_ignore_ascii_case(name),
            Host::Below(end) => {
                let host = target.host.to_ascii_lowercase();
                host.ends_with(end.as_str()) && host.len() > end.len()
            }
        };
        host && self.ports.contains(&target.port)
    }

    /// True if it denies an address, or one of IPv4 that the address may lead to.
    fn denies(&self, target: &Target, address: IpAddr) -> bool {
        let embedded = match address {
            IpAddr::V6(v6) => special::embedded(v6),
            IpAddr::V4(_) => [None; 2],
        };
        let embedded = embedded.into_iter().flatten().map(|(v4, _)| IpAddr::V4(v4));
        std::iter::once(address).chain(embedded).any(|address| self.fits(target, address))
    }

    /// True if it names addresses by a prefix that is no shorter.
    fn names(&self, min_bits: u8) -> bool {
        matches!(&self.host, Host::Network(network) if network.bits >= min_bits)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Any => f.write_str("*")?,
            Host::Network(network) => network.fmt(f)?,
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

impl FromStr for DenyRule {
    type Err = String;

    /// Reads `HOST[:PORT[-PORT]]`: an address, a network such as 10.0.0.0/8, or `*`.
    fn from_str(text: &str) -> Result<Self, String> {
        let rule: Rule = text.parse()?;
        match rule.host {
            Host::Any | Host::Network(_) => Ok(Self(rule)),
            Host::Name(_) | Host::Below(_) => {
                Err("expected an address, a network or *: a name would be no bar to a client \
                     that asks for the address it stands for"
                    .to_owned())
            }
        }
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
        if let Ok(network) = text.parse() {
            return Some(Self::Network(network));
        }
        let is_name = !text.contains('/') && Target::new(text, 1).is_some();
        is_name.then(|| Self::Name(text.to_owned()))
    }
}

#[cfg(test)]
mod tests;
