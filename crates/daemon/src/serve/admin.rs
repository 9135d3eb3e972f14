//! The listener for operators: the pages and data about all sessions and titles, and the metrics.
//!
//! It is a listener of its own, so that neither a forwarder nor a container in front of the public
//! ones makes a stranger look local. Pages of other sites that the operator's browser has open
//! cannot read it: it allows no other origin (CORS), and answers only requests for a host that no
//! stranger can name. That is against DNS rebinding, where a stranger's name comes to mean this
//! address after its page was loaded; an address in the place of a name cannot be bound anew.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use airlane_base::InputError;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use http::uri::Authority;
use http::{HeaderValue, Request, StatusCode, header};
use hyper::body::Incoming;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::request::Admin;
use super::site::Site;
use super::upkeep::until_stopped;
use crate::plain_http::{self, Answer, Answers, answer, refusal};

const HOST_EXPECTED: &str = "expected an address, localhost, or a name that --admin was given\n";

/// What stands there.
const PATHS: &str = "expected /airlane/, /airlane/sessions, /airlane/titles or /metrics\n";

/// Listens where the settings say, for a server whose first public address is `public`. Where it
/// listens, and what to tell if that is elsewhere than expected.
///
/// # Errors
/// If the operator chose an address that cannot be had.
pub(super) async fn listen(
    admin: &Admin,
    public: SocketAddr,
    wanted_port: u16,
) -> Result<(Vec<TcpListener>, Option<String>), InputError> {
    match admin {
        Admin::Off => Ok((Vec::new(), None)),
        Admin::At { addresses, .. } => {
            let mut listeners = Vec::new();
            for &at in addresses {
                let listener = TcpListener::bind(at).await.map_err(|e| {
                    let found = format!("cannot listen there: {e}");
                    let expected = "choose another address or port for --admin, or none";
                    InputError::new(found, expected).at_key(at.to_string())
                })?;
                listeners.push(listener);
            }
            Ok((listeners, None))
        }
        Admin::Loopback => {
            // Where the system chooses the public port it chooses this one too.
            let port = if wanted_port == 0 { 0 } else { public.port().checked_add(1).unwrap_or(0) };
            let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            match TcpListener::bind(at(port)).await {
                Ok(listener) => Ok((vec![listener], None)),
                Err(e) => {
                    let failed = |e| {
                        InputError::new(
                            format!("no port for the admin listener: {e}"),
                            "choose an address for --admin, or none",
                        )
                    };
                    let listener = TcpListener::bind(at(0)).await.map_err(failed)?;
                    let instead = listener.local_addr().map_err(failed)?;
                    let told = format!(
                        "the admin listener is at {instead}, since {} cannot be had: {e}; --admin \
                         chooses another",
                        at(port)
                    );
                    Ok((vec![listener], Some(told)))
                }
            }
        }
    }
}

/// Answers at these listeners until the server stops.
pub(super) fn serve(
    runtime: &RuntimeHandle,
    listeners: Vec<TcpListener>,
    site: &Arc<Site>,
    names: &[String],
    stopping: &watch::Receiver<bool>,
) {
    for listener in listeners {
        let answers = Arc::new(Operators { site: site.clone(), names: names.to_vec() });
        let answering = plain_http::serve(runtime.clone(), listener, answers);
        runtime.spawn("admin", until_stopped(stopping.clone(), answering));
    }
}

/// What operators are answered.
struct Operators {
    site: Arc<Site>,
    /// Names of this host that the operator gave.
    names: Vec<String>,
}

impl Answers for Operators {
    fn admits(&self, _: IpAddr) -> bool {
        true
    }

    async fn answer(&self, request: &Request<Incoming>) -> Answer {
        let host = request.headers().get(header::HOST).and_then(|h| h.to_str().ok());
        if !host.is_some_and(|host| is_own(host, &self.names)) {
            return refusal(StatusCode::MISDIRECTED_REQUEST, HOST_EXPECTED);
        }
        let path = request.uri().path();
        if path == "/" {
            let mut response = refusal(StatusCode::TEMPORARY_REDIRECT, PATHS);
            let there = HeaderValue::from_static("/airlane/");
            response.headers_mut().insert(header::LOCATION, there);
            return response;
        }
        match self.site.for_operators(request).await {
            Some(data) => {
                let mut response = answer(data.media_type, data.bytes);
                let fields = response.headers_mut();
                let same = HeaderValue::from_static("same-origin");
                fields.insert("cross-origin-resource-policy", same);
                fields.insert(header::CACHE_CONTROL, HeaderValue::from_static(data.caching));
                fields.extend(data.fields);
                response
            }
            None => refusal(StatusCode::NOT_FOUND, PATHS),
        }
    }
}

/// Whether the host of a request is one that no stranger can name: an address, this machine's own
/// names (RFC 6761, section 6.3), or one of `names`.
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
