//! The figures over HTTP/1.1, for who is near.

use std::net::IpAddr;
use std::sync::Arc;

use airlane_runtime::RuntimeHandle;
use http::{Request, StatusCode};
use hyper::body::Incoming;
use tokio::net::TcpListener;

use super::{TunnelStatus, metrics};
use airlane_host::net_scope::is_local_network;
use airlane_host::plain_http::{self, Answer, Answers, answer, page, refusal};
use airlane_host::prometheus;

const PAGE: &str = include_str!("../../../../web/tunnel/index.html");
const SCRIPT: &str = include_str!("../../../../web/tunnel/tunnel.js");
const STYLE: &str = include_str!("../../../../web/shared/base.css");

/// Callback that gives the status to show.
pub(crate) type StatusSource = Arc<dyn Fn() -> TunnelStatus + Send + Sync>;

/// Answers for ever.
pub(crate) async fn serve(runtime: RuntimeHandle, listener: TcpListener, figures: StatusSource) {
    plain_http::serve(runtime, listener, Arc::new(Status(figures))).await;
}

struct Status(StatusSource);

impl Answers for Status {
    fn admits(&self, peer: IpAddr) -> bool {
        is_local_network(peer)
    }

    async fn answer(&self, request: &Request<Incoming>) -> Answer {
        let figures = || (self.0)();
        match request.uri().path() {
            "/" => page(PAGE),
            "/assets/tunnel.js" => answer("text/javascript; charset=utf-8", SCRIPT),
            "/assets/base.css" => answer("text/css; charset=utf-8", STYLE),
            // Numbers and text are JSON.
            "/status" => {
                answer("application/json", serde_json::to_vec(&figures()).unwrap_or_default())
            }
            "/metrics" => answer(prometheus::MEDIA_TYPE, metrics::page(&figures())),
            _ => refusal(StatusCode::NOT_FOUND, "expected /, /status or /metrics\n"),
        }
    }
}
