//! Connections of clients over TCP: with TLS, or without it for this machine and for proxies. On the port of media some of
//! them carry media.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use airlane_host::{RateLimitedLog, accept};
use airlane_quic::ConnectionLimiter;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use super::Answer;
use super::signalling::Signalling;
use crate::media_tcp::framing::may_begin_frame;
use crate::media_tcp::tune;

/// Time in which a handshake is over, and in which the head of a request has come.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// Age at which a connection is closed.
const MAX_AGE: Duration = Duration::from_secs(300);
/// Bytes that a connection reads ahead, and that the head of a request may have.
const BUFFER_BYTES: usize = 16 << 10;
/// First byte of a TLS record that holds a handshake (RFC 8446, section 5.1).
const TLS_HANDSHAKE: u8 = 0x16;

/// Way in which a listener is spoken to.
#[derive(Clone)]
pub(crate) enum Security {
    /// TLS; requests without it are redirected.
    Tls {
        acceptor: TlsAcceptor,
        /// True if clients may send media on connections without TLS: it has security of its own.
        takes_media: bool,
    },
    /// Plain HTTP.
    Plain,
}

/// State that all connections share.
#[derive(Clone)]
pub(crate) struct Connections {
    pub(crate) runtime: RuntimeHandle,
    pub(crate) signalling: Arc<Signalling>,
    pub(crate) limiter: Arc<ConnectionLimiter>,
    pub(crate) warnings: Arc<RateLimitedLog>,
    /// Becomes true when the server stops.
    pub(crate) stopping: watch::Receiver<bool>,
}

impl Connections {
    /// Takes connections until the server stops.
    pub(crate) async fn serve(self, listener: TcpListener, security: Security) {
        let mut stopping = self.stopping.clone();
        loop {
            let (stream, peer) = tokio::select! {
                biased;
                _ = stopping.wait_for(|stops| *stops) => return,
                accepted = accept(&self.runtime, &listener, Some(&self.warnings)) => accepted,
            };
            let permit = match self.limiter.acquire_idle(peer.ip()) {
                Ok(permit) => permit,
                Err(e) => {
                    let message = format_args!("a connection of {}: {e}", peer.ip());
                    self.warnings.warn("connections", message);
                    continue;
                }
            };
            let (this, security, mut stopping) =
                (self.clone(), security.clone(), self.stopping.clone());
            self.runtime.spawn("call connection", async move {
                let media = tokio::select! {
                    biased;
                    media = this.connection(stream, peer, security) => media,
                    () = permit.evicted() => None,
                    _ = stopping.wait_for(|stops| *stops) => None,
                    () = this.runtime.sleep(MAX_AGE) => None,
                };
                drop(permit);
                if let Some(stream) = media {
                    this.media(stream, peer).await;
                }
            });
        }
    }

    /// Answers requests on a connection until it ends; the connection, if it has media instead.
    async fn connection(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        security: Security,
    ) -> Option<TcpStream> {
        // Without it the last bytes of an answer may wait; it goes on all the same.
        let _ = stream.set_nodelay(true);
        let service = {
            let signalling = self.signalling.clone();
            service_fn(move |request| signalling.clone().answer(peer.ip().to_canonical(), request))
        };
        match security {
            Security::Plain => self.http(TokioIo::new(stream), service).await,
            Security::Tls { acceptor, takes_media } => {
                let first = async {
                    let mut first = [0];
                    if stream.peek(&mut first).await.ok()? == 0 {
                        return None;
                    }
                    Some(first[0])
                };
                let first = tokio::select! {
                    biased;
                    first = first => first,
                    () = self.runtime.sleep(HANDSHAKE_TIMEOUT) => None,
                };
                match first? {
                    TLS_HANDSHAKE => {
                        let stream = tokio::select! {
                            biased;
                            stream = acceptor.accept(stream) => stream.ok()?,
                            () = self.runtime.sleep(HANDSHAKE_TIMEOUT) => return None,
                        };
                        self.http(TokioIo::new(stream), service).await;
                    }
                    first if takes_media && may_begin_frame(first) => return Some(stream),
                    _ => {
                        let service = service_fn(|request| std::future::ready(redirect(&request)));
                        self.http(TokioIo::new(stream), service).await;
                    }
                }
            }
        }
        None
    }

    /// Hands a connection to the conference until it ends.
    async fn media(&self, stream: TcpStream, peer: SocketAddr) {
        // A connection that fails here has ended.
        let Ok(local) = tune(&stream).and_then(|()| stream.local_addr()) else { return };
        let served = self.signalling.conference.serve_stream(stream, peer, local).await;
        if let Err(e) = served {
            let message = format_args!("a connection for media of {}: {e}", peer.ip());
            self.warnings.warn("media connections", message);
        }
    }

    async fn http<I, S>(&self, io: I, service: S)
    where
        I: hyper::rt::Read + hyper::rt::Write + Unpin,
        S: hyper::service::Service<Request<Incoming>, Response = Answer, Error = Infallible>,
    {
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .max_buf_size(BUFFER_BYTES);
        // Whoever asks and goes is nobody to warn of.
        let _ = builder.serve_connection(io, service).await;
    }
}

/// The answer to plain HTTP: a redirection to the same over TLS.
fn redirect(request: &Request<Incoming>) -> Result<Answer, Infallible> {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let there = host.and_then(|host| HeaderValue::try_from(format!("https://{host}{path}")).ok());
    let mut answer = Response::new(Full::default());
    match there {
        Some(there) => {
            *answer.status_mut() = StatusCode::PERMANENT_REDIRECT;
            answer.headers_mut().insert(header::LOCATION, there);
        }
        None => *answer.status_mut() = StatusCode::BAD_REQUEST,
    }
    Ok(answer)
}
