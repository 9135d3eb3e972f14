//! A client of HTTP/3, 2 and 1.1 for players: one connection per server, answers as they come.
//!
//! hyper drives the connections of HTTP/2 and 1.1. Which connection a request takes is decided here,
//! not by the client of `hyper-util` (`client::legacy`, 0.1.21), since that one opens a further
//! connection for each request that finds none free, and has no limit of them: twenty requests at
//! one time made twenty connections, also over HTTP/2, which it shares only once a handshake has
//! told it that the server speaks HTTP/2. The server takes a session of another connection for
//! another session, so that a player whose picture and sound begin at one time would have two. The
//! connector with TLS, the attempts at several addresses, the choice between HTTP/3 and TCP and
//! giving up a silent connection would stay our own, and are most of what is here.

mod answer;
mod connection;
mod url;

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, UdpSocket};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use airlane_congestion::ControllerConfig;
use airlane_cupid_agent::AirAgent;
use airlane_origin::SESSION_FIELD;
use airlane_quic::{
    ALPN_H3, ControlHandle, Endpoint, PacketConfig, QuicError, Reports, Timers, Tls,
    TransportConfig, Trust,
};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use tokio::sync::Mutex;
use tokio::time::timeout;

pub use self::answer::Answer;
use self::connection::{Connection, Connector, Refusal};
pub use self::url::Url;

/// Time without a byte after which a request is given up.
const SILENCE: Duration = Duration::from_secs(15);
/// Silence of an HTTP/3 connection after which the client asks the server whether it is there.
const ASK_AFTER: Duration = Duration::from_secs(5);
/// Redirections that are followed.
const REDIRECTS: usize = 5;

/// Error of a request.
#[derive(Clone, Debug, thiserror::Error)]
pub enum FetchError {
    /// It is no address of HTTP.
    #[error("{0}: expected an address such as https://host:port/path")]
    Address(String),
    /// The server cannot be reached, or the connection broke.
    #[error("{url}: {why}")]
    Connection {
        /// URL that was asked for.
        url: String,
        /// Error that happened.
        why: String,
    },
    /// No trusted authority signed the server's certificate.
    #[error(
        "{url}: no authority that this machine trusts signed the server's certificate ({why}); \
         `airlane play --insecure` plays all the same"
    )]
    Untrusted {
        /// URL that was asked for.
        url: String,
        /// Error of TLS.
        why: String,
    },
    /// The server answered something else.
    #[error("{url}: the server answered {status}")]
    Status {
        /// URL that was asked for.
        url: String,
        /// The answer.
        status: StatusCode,
    },
}

impl FetchError {
    /// True if the same request may succeed later.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Address(_) | Self::Untrusted { .. } => false,
            Self::Connection { .. } => true,
            Self::Status { status, .. } => {
                status.is_server_error() || *status == StatusCode::TOO_MANY_REQUESTS
            }
        }
    }
}

/// The version of HTTP to speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Speak {
    /// HTTP/3 where the server has it, else what it offers over TCP.
    #[default]
    Best,
    /// HTTP/3 alone.
    Http3,
    /// HTTP/2 or 1.1 over TCP, whichever the server prefers.
    Tcp,
    /// HTTP/1.1 alone.
    Http1,
}

/// A client with a connection to each server that it was sent to.
#[derive(Debug)]
pub struct Client {
    runtime: RuntimeHandle,
    endpoint: Endpoint,
    trust: Trust,
    speak: Speak,
    /// The local address of its connections; `None`: the system's choice.
    source: Option<IpAddr>,
    /// Addresses of hosts for which the system's resolver is not asked.
    addresses: BTreeMap<String, Vec<SocketAddr>>,
    connections: Mutex<BTreeMap<String, Arc<Connection>>>,
    /// The token of the session that it has with each server: shown with every request, it goes on
    /// with that session on another connection.
    sessions: parking_lot::Mutex<BTreeMap<String, HeaderValue>>,
    /// Servers that send whole files where some bytes are asked for: each is said once.
    unranged: parking_lot::Mutex<BTreeSet<String>>,
}

impl Client {
    /// A client that talks to the servers of `trust`.
    ///
    /// # Errors
    /// If there is no socket for it.
    pub fn new(runtime: RuntimeHandle, trust: Trust, speak: Speak) -> Result<Self, QuicError> {
        Self::on_air(runtime, trust, speak, None)
    }

    /// A client whose connections come from the local address `source`.
    ///
    /// # Errors
    /// If there is no socket for it at that address.
    pub fn from_source(
        runtime: RuntimeHandle,
        trust: Trust,
        speak: Speak,
        source: IpAddr,
    ) -> Result<Self, QuicError> {
        let endpoint = Endpoint::client(&runtime, (source, 0).into(), transport(&trust))?;
        Ok(Self { source: Some(source), ..Self::with_endpoint(runtime, endpoint, trust, speak) })
    }

    /// The same, which reports what an agent of Cupid measures to servers that take it, over HTTP/3.
    ///
    /// # Errors
    /// If there is no socket for it.
    pub fn on_air(
        runtime: RuntimeHandle,
        trust: Trust,
        speak: Speak,
        air: Option<&AirAgent>,
    ) -> Result<Self, QuicError> {
        let reports = Reports { source: air.map(AirAgent::report_source), sink: None };
        let config = TransportConfig { reports, ..transport(&trust) };
        let endpoint = Endpoint::client(&runtime, any_address(), config)?;
        Ok(Self::with_endpoint(runtime, endpoint, trust, speak))
    }

    fn with_endpoint(
        runtime: RuntimeHandle,
        endpoint: Endpoint,
        trust: Trust,
        speak: Speak,
    ) -> Self {
        Self {
            runtime,
            endpoint,
            trust,
            speak,
            source: None,
            addresses: BTreeMap::new(),
            connections: Mutex::default(),
            sessions: parking_lot::Mutex::default(),
            unranged: parking_lot::Mutex::default(),
        }
    }

    /// The same, which takes `host` to be at these addresses and does not ask the system.
    #[must_use]
    pub fn with_addresses(mut self, host: &str, addresses: Vec<SocketAddr>) -> Self {
        self.addresses.insert(host.to_owned(), addresses);
        self
    }

    /// Asks for `url`, or some bytes of it (first and last). The head of the answer, with its body
    /// to come; where it was redirected to. Of a server that knows no ranges and sends all of a file,
    /// the body is what was asked for of it, and ends there.
    ///
    /// # Errors
    /// If the server cannot be reached, answers anything but 200 or 206, or sends other bytes.
    pub async fn get(
        &self,
        url: &Url,
        range: Option<(u64, u64)>,
    ) -> Result<(Answer, Url), FetchError> {
        let mut url = url.clone();
        for _ in 0..=REDIRECTS {
            let answer = self.ask(&url, range).await?;
            let status = answer.status();
            if status.is_redirection()
                && let Some(there) = location(answer.headers(), &url)
            {
                url = there?;
                continue;
            }
            return match (range, status) {
                (None, StatusCode::OK) => Ok((answer, url)),
                (Some(range), StatusCode::PARTIAL_CONTENT) => match begins(answer.headers()) {
                    Some(at) if at != range.0 => {
                        let why = format!("bytes from {at} on came, and not from {}", range.0);
                        Err(FetchError::Connection { url: url.to_string(), why })
                    }
                    _ => Ok((answer, url)),
                },
                (Some(range), StatusCode::OK) => {
                    if self.unranged.lock().insert(url.origin()) {
                        tracing::warn!(
                            "{}: the server knows no byte ranges and sends whole files: what comes \
                             before a chunk is fetched and thrown away",
                            url.origin()
                        );
                    }
                    Ok((answer.sliced(range), url))
                }
                _ => Err(FetchError::Status { url: url.to_string(), status }),
            };
        }
        let why = format!("more than {REDIRECTS} redirections");
        Err(FetchError::Connection { url: url.to_string(), why })
    }

    /// All of `url`, which may have `most` bytes, and where it was found.
    ///
    /// # Errors
    /// As [`get`](Self::get), and if it is longer.
    pub async fn get_all(
        &self,
        url: &Url,
        range: Option<(u64, u64)>,
        most: usize,
    ) -> Result<(Vec<u8>, Url), FetchError> {
        let (mut answer, url) = self.get(url, range).await?;
        let mut all = Vec::new();
        while let Some(piece) = self.next(&mut answer, &url).await? {
            if all.len() + piece.len() > most {
                let why = format!("more than {most} bytes");
                return Err(FetchError::Connection { url: url.to_string(), why });
            }
            all.extend_from_slice(&piece);
        }
        Ok((all, url))
    }

    /// The next piece of an answer's body; `None` after the last.
    ///
    /// # Errors
    /// If the connection breaks, or nothing comes for too long.
    pub async fn next(&self, answer: &mut Answer, url: &Url) -> Result<Option<Bytes>, FetchError> {
        match patiently(answer.data()).await {
            Some(Ok(piece)) => Ok(piece),
            Some(Err(why)) => Err(self.broken(url, why).await),
            None => Err(self.broken(url, "nothing came for too long".to_owned()).await),
        }
    }

    /// The controller of the connection to the server of `url`, if it is of HTTP/3.
    pub async fn control(&self, url: &Url) -> Option<ControlHandle> {
        self.connections.lock().await.get(&url.origin())?.control()
    }

    /// Protocol that carries the connection to the server of `url`, once there is one.
    pub async fn carrier(&self, url: &Url) -> Option<&'static str> {
        Some(self.connections.lock().await.get(&url.origin())?.carrier())
    }

    /// Waits.
    pub async fn pause(&self, time: Duration) {
        self.runtime.sleep(time).await;
    }

    async fn ask(&self, url: &Url, range: Option<(u64, u64)>) -> Result<Answer, FetchError> {
        let connection = self.connection(url).await?;
        let mut request = Request::get(url.to_string());
        if let Some((first, last)) = range {
            request = request.header(header::RANGE, format!("bytes={first}-{last}"));
        }
        if let Some(token) = self.sessions.lock().get(&url.origin()) {
            request = request.header(SESSION_FIELD, token);
        }
        let request = request.body(()).map_err(|_| FetchError::Address(url.to_string()))?;
        match timeout(SILENCE, connection.send(request)).await {
            Ok(Ok(answer)) => {
                if let Some(token) = answer.headers().get(SESSION_FIELD) {
                    self.sessions.lock().insert(url.origin(), token.clone());
                }
                Ok(answer)
            }
            Ok(Err(why)) => Err(self.broken(url, why).await),
            Err(_) => Err(self.broken(url, "no answer came".to_owned()).await),
        }
    }

    /// The connection to the server of `url`: the one that there is, or a new one.
    async fn connection(&self, url: &Url) -> Result<Arc<Connection>, FetchError> {
        let mut connections = self.connections.lock().await;
        if let Some(known) = connections.get(&url.origin()).filter(|c| !c.is_closed()) {
            return Ok(known.clone());
        }
        let known = self.addresses.get(url.host()).map_or(&[][..], Vec::as_slice);
        let connector = Connector {
            runtime: &self.runtime,
            endpoint: &self.endpoint,
            trust: &self.trust,
            speak: self.speak,
            source: self.source,
        };
        let connection = match timeout(SILENCE, connector.open(url, known)).await {
            Ok(result) => result,
            Err(_) => Err(Refusal::Other("it does not answer".to_owned())),
        };
        let connection = connection.map_err(|e| match e {
            Refusal::Untrusted(why) => FetchError::Untrusted { url: url.to_string(), why },
            Refusal::Other(why) => FetchError::Connection { url: url.to_string(), why },
        })?;
        let connection = Arc::new(connection);
        connections.insert(url.origin(), connection.clone());
        Ok(connection)
    }

    /// A connection that broke is not used again.
    async fn broken(&self, url: &Url, why: String) -> FetchError {
        self.connections.lock().await.remove(&url.origin());
        FetchError::Connection { url: url.to_string(), why }
    }
}

/// Result of an action; `None` if nothing happens for too long. What is there already, as most
/// pieces of a fast answer are, sets no timer.
async fn patiently<T>(action: impl Future<Output = T>) -> Option<T> {
    let mut action = pin!(action);
    match poll_fn(|cx| Poll::Ready(action.as_mut().poll(cx))).await {
        Poll::Ready(there) => Some(there),
        Poll::Pending => timeout(SILENCE, action).await.ok(),
    }
}

/// The system's choice, for both kinds of addresses where there are both.
fn any_address() -> SocketAddr {
    let v6 = SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0));
    let v4 = SocketAddr::from(([0, 0, 0, 0], 0));
    if UdpSocket::bind(v6).is_ok() { v6 } else { v4 }
}

fn transport(trust: &Trust) -> TransportConfig {
    // Requests are all that it sends.
    let controller = ControllerConfig::cubic(1.0);
    let tls = Tls { identity: None, trust: trust.clone() };
    TransportConfig {
        packets: PacketConfig::probing(),
        alpn: vec![ALPN_H3.to_vec()],
        // A client that waits for the rest of an answer sends nothing, and would not learn
        // that a restarted server no longer knows the connection.
        timers: Timers { keep_alive: Some(ASK_AFTER), ..Timers::default() },
        ..TransportConfig::network(tls, controller)
    }
}

/// The first byte of a range that an answer has (RFC 9110, section 14.4).
fn begins(fields: &HeaderMap) -> Option<u64> {
    let range = fields.get(header::CONTENT_RANGE)?.to_str().ok()?;
    range.strip_prefix("bytes ")?.split_once('-')?.0.trim().parse().ok()
}

/// URL that an answer redirects to.
fn location(fields: &HeaderMap, from: &Url) -> Option<Result<Url, FetchError>> {
    let there = fields.get(header::LOCATION)?.to_str().ok()?;
    Some(from.join(there))
}
