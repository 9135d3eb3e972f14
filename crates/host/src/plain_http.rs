//! A small server of HTTP/1.1 without TLS, for what operators look at: figures and pages that are
//! in memory.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use airlane_quic::{ActivityHandle, ConnectionLimiter};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};

use crate::accept::accept;
use crate::own_host::is_for_us;

/// Connections at once at most.
const CONNECTIONS: usize = 32;
/// A request's head has come by then, the next one's after an answer too.
const HEAD: Duration = Duration::from_secs(10);
/// A connection that is so old is told with its next answer that it is closed, and is closed without one
/// later.
const MAX_AGE: Duration = Duration::from_secs(300);
const GRACE: Duration = Duration::from_secs(60);
/// Bytes that a connection reads ahead, and that the head of a request may have.
const BUFFER_BYTES: usize = 16 << 10;

const TEXT: &str = "text/plain; charset=utf-8";

/// An answer.
pub type Answer = Response<Full<Bytes>>;

/// Answers to requests over plain HTTP.
pub trait Answers: Send + Sync + 'static {
    /// True if clients at this address are answered.
    fn admits(&self, peer: IpAddr) -> bool;
    /// Names of this host that requests may be for, beside addresses and `localhost`.
    fn names(&self) -> &[String] {
        &[]
    }
    /// Answer to a request for another host.
    fn host_expected(&self) -> &'static str {
        "expected an address or localhost\n"
    }
    /// The answer to a GET or HEAD.
    fn answer(&self, request: &Request<Incoming>) -> impl Future<Output = Answer> + Send;
}

/// Answers for ever. Connections without a request give way to others.
pub async fn serve(runtime: RuntimeHandle, listener: TcpListener, answers: Arc<impl Answers>) {
    let limiter = ConnectionLimiter::new(CONNECTIONS, CONNECTIONS);
    loop {
        let (connection, peer) = accept(&runtime, &listener, None).await;
        if !answers.admits(peer.ip()) {
            // Nobody who may know.
            continue;
        }
        let Ok(permit) = limiter.acquire_idle(peer.ip()) else { continue };
        let (on, answers) = (runtime.clone(), answers.clone());
        runtime.spawn("plain http", async move {
            tokio::select! {
                biased;
                () = serve_connection(&on, connection, answers, permit.activity(), MAX_AGE) => {}
                () = permit.evicted() => {}
                () = on.sleep(MAX_AGE + GRACE) => {}
            }
        });
    }
}

async fn serve_connection(
    runtime: &RuntimeHandle,
    connection: TcpStream,
    answers: Arc<impl Answers>,
    activity: &ActivityHandle,
    max_age: Duration,
) {
    let begun = runtime.now();
    let service = service_fn(|request: Request<Incoming>| {
        let answers = answers.clone();
        async move {
            activity.mark_active();
            let mut answer = match *request.method() {
                _ if !is_for_us(request.headers(), answers.names()) => {
                    refusal(StatusCode::MISDIRECTED_REQUEST, answers.host_expected())
                }
                Method::GET | Method::HEAD => answers.answer(&request).await,
                _ => refusal(StatusCode::METHOD_NOT_ALLOWED, "expected GET\n"),
            };
            if runtime.now().since(begun) >= max_age {
                answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            activity.mark_idle();
            Ok::<_, Infallible>(answer)
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(BUFFER_BYTES);
    // Whoever asks and goes is nobody to warn of.
    let _ = builder.serve_connection(TokioIo::new(connection), service).await;
}

/// Content security policy of a page that sets none: it may load nothing, and stand in no frame.
const NOTHING: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; \
                       frame-ancestors 'none'";

/// An answer of this media type.
pub fn answer(media_type: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut response = Response::new(Full::new(body.into()));
    let fields = response.headers_mut();
    fields.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    fields.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    fields.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    fields.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(NOTHING));
    let same = HeaderValue::from_static("same-origin");
    fields.insert("cross-origin-resource-policy", same);
    response
}

/// Content security policy of an operator's page: it loads from its own origin, and no page frames it.
const OWN_ORIGIN: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; \
                          connect-src 'self'; base-uri 'none'; form-action 'none'; \
                          frame-ancestors 'none'";

/// A page for an operator, which loads scripts, styles and figures from its own origin.
pub fn page(html: &'static str) -> Answer {
    let mut response = answer("text/html; charset=utf-8", html);
    let policy = HeaderValue::from_static(OWN_ORIGIN);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    response
}

/// A refusal, with what was expected.
pub fn refusal(status: StatusCode, expected: &'static str) -> Answer {
    let mut response = answer(TEXT, expected);
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use airlane_base::Seed;
    use airlane_runtime::real_time::TokioRuntime;

    use super::*;

    struct Page;

    impl Answers for Page {
        fn admits(&self, _: IpAddr) -> bool {
            true
        }

        async fn answer(&self, _: &Request<Incoming>) -> Answer {
            answer("text/plain", "all of it")
        }
    }

    /// Two requests, of which the second is the last.
    const ASKED: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n\
                           GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

    #[tokio::test]
    async fn an_old_connection_is_told_that_an_answer_is_its_last() {
        let runtime: RuntimeHandle = TokioRuntime::new(Seed(1));
        for (max_age, answers) in [(Duration::ZERO, 1), (MAX_AGE, 2)] {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
            let mut client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            client.write_all(ASKED).unwrap();
            let (stream, peer) = listener.accept().await.unwrap();
            let permit = ConnectionLimiter::new(1, 1).acquire(peer.ip()).unwrap();
            serve_connection(&runtime, stream, Arc::new(Page), permit.activity(), max_age).await;
            let mut said = String::new();
            client.read_to_string(&mut said).unwrap();
            assert_eq!(said.matches("HTTP/1.1 200").count(), answers, "{said}");
            assert_eq!(said.matches("connection: close").count(), 1, "{said}");
            assert!(said.ends_with("all of it"), "{said}");
        }
    }
}
