//! One connection to a server, whatever it speaks.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use airlane_quic::{ControlHandle, Endpoint, H3Client, QuicError, Trust};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::Bytes;
use http::{HeaderValue, Request, Response, Uri, header};
use http_body_util::Empty;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::CertificateError;
use rustls::pki_types::ServerName;
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Mutex;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::answer::{Answer, AnswerBody, Sender1};
use super::{Speak, Url};
use airlane_host::happy_eyeballs::{interleave, race};

/// Maximum time that HTTP/3 has to answer, at whichever address, before TCP is tried.
const HEAD_START: Duration = Duration::from_secs(3);

type Sender2 = http2::SendRequest<Empty<Bytes>>;

/// Error in connecting to a server.
#[derive(Debug)]
pub(super) enum Refusal {
    /// No trusted authority signed the server's certificate.
    Untrusted(String),
    Other(String),
}

impl Refusal {
    /// Reason to report for a server that could be reached at none of its addresses: that it is
    /// not to be trusted, if that is why, else the last reason.
    fn of(mut refusals: Vec<Self>, url: &Url) -> Self {
        let untrusted = refusals.iter().position(|r| matches!(r, Self::Untrusted(_)));
        match untrusted {
            Some(at) => refusals.swap_remove(at),
            None => refusals
                .pop()
                .unwrap_or_else(|| Self::Other(format!("{} has no address", url.host()))),
        }
    }
}

/// One connection.
#[derive(Debug)]
pub(super) enum Connection {
    Http3(H3Client),
    Http2(Sender2),
    /// One request at a time: others wait.
    Http1(Arc<Mutex<Sender1>>),
}

/// Settings with which a client opens its connections.
pub(super) struct Connector<'a> {
    pub(super) runtime: &'a RuntimeHandle,
    pub(super) endpoint: &'a Endpoint,
    pub(super) trust: &'a Trust,
    pub(super) speak: Speak,
    /// The local address of TCP connections; `None`: the system's choice.
    pub(super) source: Option<IpAddr>,
}

impl Connector<'_> {
    /// Connects to the server of `url`, which is at one of `addresses`; none: where the system says
    /// that its name is.
    pub(super) async fn open(
        &self,
        url: &Url,
        addresses: &[SocketAddr],
    ) -> Result<Connection, Refusal> {
        let addresses = match addresses {
            [] => interleave(
                tokio::net::lookup_host((url.host(), url.port()))
                    .await
                    .map_err(|e| Refusal::Other(format!("{}: {e}", url.host())))?,
            ),
            known => interleave(known.iter().copied()),
        };
        if url.is_tls() && matches!(self.speak, Speak::Best | Speak::Http3) {
            let attempt = race(self.runtime, &addresses, |at| http3(self.endpoint, at, url));
            let refusal = match timeout(HEAD_START, attempt).await {
                Ok(Ok(connection)) => return Ok(connection),
                Ok(Err(refusals)) => Refusal::of(refusals, url),
                Err(_) => Refusal::Other("it does not answer over QUIC".to_owned()),
            };
            if self.speak == Speak::Http3 {
                return Err(refusal);
            }
        }
        let attempt = race(self.runtime, &addresses, |at| self.tcp(at, url));
        attempt.await.map_err(|refusals| Refusal::of(refusals, url))
    }

    async fn tcp(&self, address: SocketAddr, url: &Url) -> Result<Connection, Refusal> {
        let text = |e: &dyn std::fmt::Display| Refusal::Other(e.to_string());
        let stream = self.tcp_stream(address).await.map_err(|e| text(&e))?;
        stream.set_nodelay(true).map_err(|e| text(&e))?;
        if !url.is_tls() {
            return over(self.runtime, TokioIo::new(stream), false).await;
        }
        let alpn: &[Vec<u8>] = match self.speak {
            Speak::Http1 => &[b"http/1.1".to_vec()],
            _ => &[b"h2".to_vec(), b"http/1.1".to_vec()],
        };
        let config = self.trust.client_config(alpn).map_err(|e| text(&e))?;
        let name = ServerName::try_from(url.host().to_owned()).map_err(|e| text(&e))?;
        let connector = TlsConnector::from(Arc::new(config));
        let stream = connector.connect(name, stream).await.map_err(|e| match tls_error(&e) {
            Some(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)) => {
                Refusal::Untrusted(e.to_string())
            }
            _ => text(&e),
        })?;
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        over(self.runtime, TokioIo::new(stream), is_http2).await
    }

    async fn tcp_stream(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let Some(source) = self.source else { return TcpStream::connect(address).await };
        let socket = if source.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.bind((source, 0).into())?;
        socket.connect(address).await
    }
}

impl Connection {
    pub(super) fn is_closed(&self) -> bool {
        match self {
            Self::Http3(client) => client.connection().remote_addr().is_none(),
            Self::Http2(sender) => sender.is_closed(),
            Self::Http1(sender) => sender.try_lock().is_ok_and(|s| s.is_closed()),
        }
    }

    pub(super) fn control(&self) -> Option<ControlHandle> {
        match self {
            Self::Http3(client) => Some(client.control().clone()),
            _ => None,
        }
    }

    pub(super) fn carrier(&self) -> &'static str {
        match self {
            Self::Http3(_) => "h3",
            Self::Http2(_) => "h2",
            Self::Http1(_) => "http/1.1",
        }
    }

    /// Sends a request without a body; the answer's head.
    pub(super) async fn send(&self, request: Request<()>) -> Result<Answer, String> {
        match self {
            Self::Http3(client) => {
                let answer = client.send_request(request).await.map_err(|e| e.to_string())?;
                let (head, body) = answer.into_parts();
                Ok(Answer::new(Response::from_parts(head, ()), AnswerBody::Http3(Box::new(body))))
            }
            Self::Http2(sender) => {
                let request = request.map(|()| Empty::new());
                let answer = sender.clone().send_request(request).await;
                let (head, body) = answer.map_err(|e| e.to_string())?.into_parts();
                Ok(Answer::new(Response::from_parts(head, ()), AnswerBody::Tcp(body)))
            }
            Self::Http1(sender) => {
                let mut sender = sender.clone().lock_owned().await;
                sender.ready().await.map_err(|e| e.to_string())?;
                let answer = sender.send_request(of_http1(request)).await;
                let (head, body) = answer.map_err(|e| e.to_string())?.into_parts();
                let head = Response::from_parts(head, ());
                Ok(Answer::new(head, AnswerBody::Http1 { incoming: body, _busy: sender }))
            }
        }
    }
}

async fn http3(endpoint: &Endpoint, address: SocketAddr, url: &Url) -> Result<Connection, Refusal> {
    let connection = endpoint.connect(address, url.host()).await.map_err(|e| match e {
        QuicError::Untrusted(why) => Refusal::Untrusted(why),
        other => Refusal::Other(other.to_string()),
    })?;
    let client = H3Client::connect(connection).await;
    client.map(Connection::Http3).map_err(|e| Refusal::Other(e.to_string()))
}

/// Error of TLS, if it is the reason.
fn tls_error(e: &io::Error) -> Option<&rustls::Error> {
    e.get_ref()?.downcast_ref()
}

async fn over<I>(runtime: &RuntimeHandle, io: I, is_http2: bool) -> Result<Connection, Refusal>
where
    I: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    if is_http2 {
        let handshake = http2::handshake(TokioExecutor::new(), io).await;
        let (sender, connection) = handshake.map_err(|e| Refusal::Other(e.to_string()))?;
        runtime.spawn("h2 client", async move { drop(connection.await) });
        Ok(Connection::Http2(sender))
    } else {
        let handshake = http1::handshake(io).await;
        let (sender, connection) = handshake.map_err(|e| Refusal::Other(e.to_string()))?;
        runtime.spawn("http/1.1 client", async move { drop(connection.await) });
        Ok(Connection::Http1(Arc::new(Mutex::new(sender))))
    }
}

/// A request as HTTP/1.1 has it: the path in the line, the host in a field.
fn of_http1(mut request: Request<()>) -> Request<Empty<Bytes>> {
    let host = request.uri().authority().and_then(|a| HeaderValue::try_from(a.as_str()).ok());
    if let Some(host) = host {
        request.headers_mut().insert(header::HOST, host);
    }
    let path = request.uri().path_and_query().cloned();
    *request.uri_mut() = path.map_or_else(|| Uri::from_static("/"), Uri::from);
    request.map(|()| Empty::new())
}
