//! HTTP/1.1 and 2 over TCP, for clients without HTTP/3 and for first requests, before a client
//! knows that HTTP/3 is offered.
//!
//! The answers are the origin's own. The weights of these connections are not set: they are
//! controlled by the system's TCP.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use airlane_origin::http::{Busy, Pace, RequestRate};
use airlane_origin::{Carrier, ClientConnection, Origin, REPORTS_PATH};
use airlane_quic::{ActivityHandle, ConnectionLimiter, LimitExceeded};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, Version, header};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsAcceptor;

use super::config::Timeouts;
use super::exchange::{ExchangeCut, PendingAnswer, Pieces, TcpExchange};
use airlane_host::{RateLimitedLog, accept};

/// Silence of an HTTP/2 connection after which the server sends it a PING.
const SILENCE: Duration = Duration::from_secs(30);
/// Bytes that the head of a request may have.
const HEAD_BYTES: u32 = 32 << 10;
/// Bytes that an HTTP/1.1 connection reads ahead.
const BUFFER_BYTES: usize = 64 << 10;
/// Requests of one HTTP/2 connection that are answered at a time.
const STREAMS: u32 = 64;
/// Connections that wait to be taken by each socket.
const BACKLOG: u32 = 1024;
/// Bytes of each answer that HTTP/2 keeps until the client takes them.
const AHEAD_BYTES: usize = 128 << 10;

/// Bytes of a request's content that are read where none is of use.
const UNUSED_BYTES: usize = 64 << 10;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// State that every connection over TCP needs.
pub(super) struct TcpContext {
    pub(super) origin: Origin,
    pub(super) runtime: RuntimeHandle,
    pub(super) tls: TlsAcceptor,
    /// One per connection that there may be, of which an address has so many.
    pub(super) limiter: Arc<ConnectionLimiter>,
    pub(super) rate: RequestRate,
    /// Becomes true when no request is taken any more.
    pub(super) stopping: watch::Receiver<bool>,
    pub(super) timeouts: Timeouts,
    pub(super) warnings: Arc<RateLimitedLog>,
}

/// State that a connection shares with its answers.
#[derive(Clone)]
struct Progress {
    busy: Busy,
    /// An answer was broken off.
    cut: Arc<Notify>,
    /// For pieces that wait.
    shared_permits: Arc<Semaphore>,
    /// Keeps the connection's place, once something was asked for.
    activity: ActivityHandle,
    /// Notified of each request.
    asked: Arc<Notify>,
}

impl Progress {
    fn on_request(&self) {
        self.activity.mark_active();
        self.asked.notify_one();
    }
}

/// A connection that the origin knows of, until this is dropped: also where its task panics.
struct Open<'a> {
    origin: &'a Origin,
    client: ClientConnection,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.origin.on_disconnect(&self.client);
    }
}

impl TcpContext {
    /// Takes connections until the server stops.
    pub(super) async fn serve(self: Arc<Self>, listener: TcpListener) {
        let mut stopping = self.stopping.clone();
        loop {
            let (stream, peer) = tokio::select! {
                biased;
                _ = stopping.wait_for(|s| *s) => return,
                accepted = accept(&self.runtime, &listener, Some(&self.warnings)) => accepted,
            };
            let permit = match self.limiter.acquire_idle(peer.ip()) {
                Ok(permit) => permit,
                Err(e) => {
                    // One address that has too many must not hide that there are too many in all.
                    let kind = if e == LimitExceeded::Total { "no room" } else { "no place" };
                    let message = format_args!("a TCP connection of {}: {e}", peer.ip());
                    self.warnings.warn(kind, message);
                    continue;
                }
            };
            let tcp = self.clone();
            self.runtime.spawn("tcp connection", async move {
                let (busy, cut) = (Busy::default(), Arc::default());
                let (shared_permits, activity) =
                    (permit.shared_permits().clone(), permit.activity().clone());
                let asked = Arc::default();
                let progress = Progress { busy, cut, shared_permits, activity, asked };
                let served = tokio::select! {
                    biased;
                    served = tcp.serve_connection(stream, peer, progress) => served,
                    () = permit.evicted() => Err("silent, and others came".into()),
                };
                if let Err(e) = served {
                    tracing::debug!(%peer, "a TCP connection ended: {e}");
                }
            });
        }
    }

    async fn serve_connection(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        progress: Progress,
    ) -> Result<(), Failure> {
        // Nagle's algorithm would hold back the end of every answer.
        stream.set_nodelay(true)?;
        let handshake = Instant::now() + self.timeouts.handshake;
        let mut first = [0];
        if timeout_at(handshake, stream.peek(&mut first)).await?? == 0 {
            return Ok(());
        }
        /// The first byte of a TLS record that holds a handshake.
        const HANDSHAKE: u8 = 0x16;
        if first[0] != HANDSHAKE {
            let service = service_fn(|request| {
                progress.on_request();
                std::future::ready(elsewhere(&request))
            });
            return self.run(TokioIo::new(stream), service, true, &progress).await;
        }
        let stream = timeout_at(handshake, self.tls.accept(stream)).await??;
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        let carrier = if is_http2 { Carrier::Http2 } else { Carrier::Http1 };
        let client = self.origin.on_connect(peer, carrier);
        let _open = Open { origin: &self.origin, client };
        let pace = Mutex::new(Pace::new(self.rate));
        let service = service_fn(|request: Request<Incoming>| {
            let (origin, runtime) = (self.origin.clone(), self.runtime.clone());
            progress.on_request();
            let wait = pace.lock().take(runtime.now());
            let request = (request, self.timeouts.head);
            let answered = answer(origin, runtime.clone(), client, progress.clone(), request);
            async move {
                if !wait.is_zero() {
                    runtime.sleep(wait).await;
                }
                answered.await
            }
        });
        self.run(TokioIo::new(stream), service, !is_http2, &progress).await
    }

    async fn run<S, I>(
        &self,
        io: I,
        service: S,
        is_http1: bool,
        progress: &Progress,
    ) -> Result<(), Failure>
    where
        S: hyper::service::Service<
                Request<Incoming>,
                Response = Response<Pieces>,
                Error = ExchangeCut,
            >,
        S::Future: Send + 'static,
        I: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
    {
        let mut builder = Builder::new(TokioExecutor::new());
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(self.timeouts.head)
            .max_buf_size(BUFFER_BYTES);
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS)
            .max_header_list_size(HEAD_BYTES)
            .max_send_buf_size(AHEAD_BYTES)
            .keep_alive_interval(SILENCE)
            .keep_alive_timeout(SILENCE);
        let builder = if is_http1 { builder.http1_only() } else { builder.http2_only() };
        let mut stopping = self.stopping.clone();
        let connection = builder.serve_connection(io, service);
        tokio::pin!(connection);
        let over = tokio::select! {
            biased;
            result = connection.as_mut() => return result,
            () = progress.cut.notified() => EndReason::Cut,
            _ = stopping.wait_for(|s| *s) => EndReason::Stopping,
            () = progress.busy.idle(&self.runtime, Some(self.timeouts.idle)) => EndReason::Idle,
            () = unasked(&self.runtime, self.timeouts.head, &progress.asked) => EndReason::Idle,
        };
        if let (EndReason::Cut, true) = (over, is_http1) {
            // Nothing can follow on this connection.
            return Err(ExchangeCut.into());
        }
        connection.as_mut().graceful_shutdown();
        let rest = async {
            match over {
                // Other answers may still come whole.
                EndReason::Cut => progress.busy.idle(&self.runtime, Some(self.timeouts.head)).await,
                // Has a bound of its own for answers that are being sent.
                EndReason::Stopping if !is_http1 => std::future::pending().await,
                EndReason::Stopping => progress.cut.notified().await,
                EndReason::Idle => self.runtime.sleep(self.timeouts.head).await,
            }
        };
        tokio::select! {
            biased;
            result = connection => result,
            () = rest => Ok(()),
        }
    }
}

/// Ready where nothing was asked for within `limit`. Its timer ends with the first request: when it
/// fired later, hyper would be polled beside it and take a further piece of an answer of which the client
/// takes nothing, and the client's time would begin anew.
async fn unasked(runtime: &RuntimeHandle, limit: Duration, asked: &Notify) {
    tokio::select! {
        biased;
        () = asked.notified() => std::future::pending().await,
        () = runtime.sleep(limit) => {}
    }
}

/// Reason for which a connection ends.
#[derive(Clone, Copy)]
enum EndReason {
    /// An answer was broken off that the client did not take. hyper keeps what waits of it, and over
    /// HTTP/2 resets the stream only once the client makes room for more.
    Cut,
    /// The server stops.
    Stopping,
    /// Nothing was asked for.
    Idle,
}

/// The answer to plain HTTP: a redirection to the same over TLS.
fn elsewhere(request: &Request<Incoming>) -> Result<Response<Pieces>, ExchangeCut> {
    let host = request.headers().get(header::HOST).and_then(|h| h.to_str().ok());
    let path = request.uri().path_and_query().map_or("/", |p| p.as_str());
    let there = host.and_then(|h| HeaderValue::try_from(format!("https://{h}{path}")).ok());
    let mut response = Response::new(Pieces::default());
    match there {
        Some(there) => {
            *response.status_mut() = StatusCode::PERMANENT_REDIRECT;
            response.headers_mut().insert(header::LOCATION, there);
        }
        None => *response.status_mut() = StatusCode::BAD_REQUEST,
    }
    Ok(response)
}

/// Has the origin answer, and hands the answer to hyper as it comes.
async fn answer(
    origin: Origin,
    runtime: RuntimeHandle,
    client: ClientConnection,
    progress: Progress,
    (request, stall_timeout): (Request<Incoming>, Duration),
) -> Result<Response<Pieces>, ExchangeCut> {
    if request.version() == Version::HTTP_11
        && request.headers().get_all(header::HOST).iter().count() != 1
    {
        // RFC 9112, section 3.2.
        let mut response = Response::new(Pieces::default());
        *response.status_mut() = StatusCode::BAD_REQUEST;
        return Ok(response);
    }
    let (mut parts, mut incoming) = request.into_parts();
    let is_report = parts.method == Method::POST && parts.uri.path() == REPORTS_PATH;
    if parts.version == Version::HTTP_2 && !is_report {
        end_of(&mut incoming, stall_timeout).await?;
    }
    // HTTP/1.1 has the host in a field, HTTP/2 in the address.
    if parts.version < Version::HTTP_2
        && let Some(path) = parts.uri.path_and_query()
    {
        parts.uri = path.clone().into();
    }
    let (exchange, answered) = TcpExchange::new(incoming, progress.cut, progress.shared_permits);
    let answering = progress.busy.begin();
    let request = Request::from_parts(parts, ());
    let on = runtime.clone();
    let answering = PendingAnswer::new(runtime, async move {
        origin.answer(&on, &client, &request, exchange).await;
        drop(answering);
    });
    answering.until(answered).await.map_err(|_| ExchangeCut)
}

/// Waits for the end of a request whose content is of no use, so that one that is malformed in what
/// follows its head is refused, not answered (RFC 9113, section 8.1.1). No longer than `stall_timeout`, and
/// for no more than [`UNUSED_BYTES`]: then the answer comes before the end.
async fn end_of(incoming: &mut Incoming, stall_timeout: Duration) -> Result<(), ExchangeCut> {
    if incoming.is_end_stream() {
        return Ok(());
    }
    let reading = async {
        let mut bytes = 0;
        while let Some(frame) = incoming.frame().await {
            bytes += frame.map_err(|_| ExchangeCut)?.data_ref().map_or(0, Bytes::len);
            if bytes > UNUSED_BYTES {
                break;
            }
        }
        Ok(())
    };
    timeout(stall_timeout, reading).await.unwrap_or(Ok(()))
}

/// Listens for TCP where UDP listens, with as many sockets where the system can share an address among
/// them.
pub(super) fn listen(at: SocketAddr, sockets: usize) -> std::io::Result<Vec<TcpListener>> {
    let bound = |shared| {
        let socket = if at.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        // Connections of a server before this one may still be ending.
        socket.set_reuseaddr(true)?;
        #[cfg(target_os = "linux")]
        socket.set_reuseport(shared)?;
        socket.bind(at)?;
        Ok::<_, std::io::Error>(socket)
    };
    if sockets < 2 {
        return Ok(vec![bound(false)?.listen(BACKLOG)?]);
    }
    // One that does not share its address finds out whether somebody else has it.
    drop(bound(false)?);
    (0..sockets).map(|_| bound(true)?.listen(BACKLOG)).collect()
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Wake, Waker};

    use airlane_base::Seed;
    use airlane_runtime::real_time::TokioRuntime;

    use super::*;

    /// Number of times that a task was woken.
    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// The limit passes between the two counts, however long that takes.
    #[tokio::test]
    async fn the_limit_of_the_first_request_wakes_no_connection_that_has_made_one() {
        let runtime: RuntimeHandle = TokioRuntime::new(Seed(1));
        let limit = Duration::from_millis(20);
        for is_asked in [false, true] {
            let (wakes, asked) = (Arc::new(Wakes::default()), Notify::new());
            let waker = Waker::from(wakes.clone());
            let mut cx = Context::from_waker(&waker);
            let mut waiting = pin!(unasked(&runtime, limit, &asked));
            assert!(waiting.as_mut().poll(&mut cx).is_pending());
            if is_asked {
                asked.notify_one();
                assert!(waiting.as_mut().poll(&mut cx).is_pending());
            }
            let before = wakes.0.load(Ordering::SeqCst);
            runtime.sleep(5 * limit).await;
            let woken = wakes.0.load(Ordering::SeqCst) - before;
            assert_eq!(woken, usize::from(!is_asked), "asked: {is_asked}");
            assert_eq!(waiting.as_mut().poll(&mut cx).is_ready(), !is_asked);
        }
    }
}
