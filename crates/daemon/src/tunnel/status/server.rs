//! The figures over HTTP/1.1, for who is near.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::{TunnelStatus, metrics};
use crate::near::is_near;
use crate::prometheus;

/// Connections at once at most.
const CONNECTIONS: usize = 32;
/// A request's head has come by then.
const HEAD: Duration = Duration::from_secs(10);
/// A connection lasts no longer.
const LAST: Duration = Duration::from_secs(300);

const PAGE: &str = include_str!("../../../../../web/tunnel/index.html");
const SCRIPT: &str = include_str!("../../../../../web/tunnel/tunnel.js");
const STYLE: &str = include_str!("../../../../../web/shared/base.css");

/// What the figures are.
pub(in crate::tunnel) type Figures = Arc<dyn Fn() -> TunnelStatus + Send + Sync>;

/// Answers for ever.
pub(in crate::tunnel) async fn serve(
    runtime: RuntimeHandle,
    listener: TcpListener,
    figures: Figures,
) {
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(permit) = permits.clone().acquire_owned().await else { return };
        match listener.accept().await {
            Ok((connection, peer)) if is_near(peer.ip()) => {
                let (on, figures) = (runtime.clone(), figures.clone());
                runtime.spawn("tunnel status", async move {
                    tokio::select! {
                        biased;
                        () = answer(connection, figures) => {}
                        () = on.sleep(LAST) => {}
                    }
                    drop(permit);
                });
            }
            // Nobody who may know.
            Ok(_) => {}
            // Out of descriptors, or the peer is gone already.
            Err(_) => runtime.sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn answer(connection: TcpStream, figures: Figures) {
    let service = service_fn(move |request: Request<Incoming>| {
        let answer = respond(request.method(), request.uri().path(), &figures);
        std::future::ready(Ok::<_, Infallible>(answer))
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(16 << 10);
    // Whoever asks and goes is nobody to warn of.
    let _ = builder.serve_connection(TokioIo::new(connection), service).await;
}

fn respond(method: &Method, path: &str, figures: &Figures) -> Response<Full<Bytes>> {
    let text = |media_type: &'static str, body: Bytes| {
        let mut response = Response::new(Full::new(body));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        response
    };
    let still =
        |media_type, body: &'static str| text(media_type, Bytes::from_static(body.as_bytes()));
    if !matches!(*method, Method::GET | Method::HEAD) {
        let mut response = still("text/plain; charset=utf-8", "expected GET\n");
        *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
        return response;
    }
    match path {
        "/" => still("text/html; charset=utf-8", PAGE),
        "/assets/tunnel.js" => still("text/javascript; charset=utf-8", SCRIPT),
        "/assets/base.css" => still("text/css; charset=utf-8", STYLE),
        // Numbers and text are JSON.
        "/status" => {
            text("application/json", serde_json::to_vec(&figures()).unwrap_or_default().into())
        }
        "/metrics" => text(prometheus::MEDIA_TYPE, metrics::page(&figures()).into()),
        _ => {
            let mut response =
                still("text/plain; charset=utf-8", "expected /, /status or /metrics\n");
            *response.status_mut() = StatusCode::NOT_FOUND;
            response
        }
    }
}
