//! Whether a request is for this machine, and not for a name that a stranger gave it.
//!
//! Pages of other sites that an operator's browser has open cannot read what operators read: they are
//! allowed nothing (CORS), and a stranger's name that comes to mean this address after its page was
//! loaded (DNS rebinding) is no name of ours. An address in the place of a name cannot be bound anew.

use std::net::IpAddr;

use http::uri::Authority;
use http::{HeaderMap, header};

/// True if the host of a request is one that no third party can name: an address, this machine's
/// own names (RFC 6761, section 6.3), or one of `names`.
pub fn is_for_us(fields: &HeaderMap, names: &[String]) -> bool {
    let mut hosts = fields.get_all(header::HOST).iter();
    let host = hosts.next().and_then(|host| host.to_str().ok());
    host.is_some_and(|host| is_own(host, names)) && hosts.next().is_none()
}

/// True if such a host is ours.
fn is_own(host: &str, names: &[String]) -> bool {
    let Ok(host) = host.parse::<Authority>() else { return false };
    let host = host.host().trim_end_matches('.').to_ascii_lowercase();
    let address = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(&host);
    address.parse::<IpAddr>().is_ok()
        || host == "localhost"
        || host.ends_with(".localhost")
        || names.iter().any(|name| name.eq_ignore_ascii_case(&host))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_strangers_can_name_are_not_ours() {
        let names = ["Box.example".to_owned()];
        for own in [
            "127.0.0.1:4434",
            "10.0.0.1",
            "[::1]:4434",
            "localhost",
            "LOCALHOST:1",
            "a.localhost:80",
            "localhost.",
            "box.example:9000",
        ] {
            assert!(is_own(own, &names), "{own}");
        }
        for strange in [
            "",
            "evil.example",
            "evil.example:4434",
            "localhost.evil.example",
            "notlocalhost",
            "127.0.0.1.evil.example:4434",
            "box.example.evil",
            "[::1",
            "a b",
        ] {
            assert!(!is_own(strange, &names), "{strange}");
        }
    }
}
