//! The listener for operators: the pages and data about all sessions and titles, and the metrics.
//!
//! It is a listener of its own, so that neither a forwarder nor a container in front of the public
//! ones makes a stranger look local. Pages of other sites that the operator's browser has open
//! cannot read it ([`own_host`](airlane_host::own_host)).

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use airlane_base::InputError;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use http::{HeaderValue, Request, StatusCode, header};
use hyper::body::Incoming;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::background::until_stopped;
use super::config::Admin;
use super::site::Site;
use airlane_host::plain_http::{self, Answer, Answers, answer, refusal};

const HOST_EXPECTED: &str = "expected an address, localhost, or a name that --admin was given\n";

/// Answer for other paths: the list of those that there are.
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

/// Answers to operators.
struct Operators {
    site: Arc<Site>,
    /// Names of this host that the operator gave.
    names: Vec<String>,
}

impl Answers for Operators {
    fn admits(&self, _: IpAddr) -> bool {
        true
    }

    fn names(&self) -> &[String] {
        &self.names
    }

    fn host_expected(&self) -> &'static str {
        HOST_EXPECTED
    }

    async fn answer(&self, request: &Request<Incoming>) -> Answer {
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
                fields.insert(header::CACHE_CONTROL, HeaderValue::from_static(data.caching));
                // In the place of those that every answer has: two policies would both hold.
                for (name, value) in data.fields {
                    fields.insert(name, value);
                }
                response
            }
            None => refusal(StatusCode::NOT_FOUND, PATHS),
        }
    }
}
