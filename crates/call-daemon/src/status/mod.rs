//! Status of a conference server over plain HTTP, for who is near: a page, JSON, and Prometheus.

mod metrics;

use std::net::IpAddr;

use airlane_host::net_scope::is_local_network;
use airlane_host::plain_http::{Answer, Answers, answer, page, refusal};
use airlane_host::prometheus;
use http::{Request, StatusCode};
use hyper::body::Incoming;

use crate::handle::ConferenceHandle;

const PAGE: &str = include_str!("../../../../web/call/status.html");
const SCRIPT: &str = include_str!("../../../../web/call/status.js");
const HISTORY: &str = include_str!("../../../../web/call/history.js");
const UI: &str = include_str!("../../../../web/shared/ui.js");
const BASE: &str = include_str!("../../../../web/shared/base.css");
const STYLE: &str = include_str!("../../../../web/call/status.css");
const SCRIPT_TYPE: &str = "text/javascript; charset=utf-8";
const STYLE_TYPE: &str = "text/css; charset=utf-8";

/// Answers to the operator.
pub(crate) struct StatusAnswers(pub(crate) ConferenceHandle);

impl Answers for StatusAnswers {
    fn admits(&self, peer: IpAddr) -> bool {
        is_local_network(peer)
    }

    async fn answer(&self, request: &Request<Incoming>) -> Answer {
        match request.uri().path() {
            "/" => page(PAGE),
            "/assets/status.js" => answer(SCRIPT_TYPE, SCRIPT),
            "/assets/history.js" => answer(SCRIPT_TYPE, HISTORY),
            "/assets/ui.js" => answer(SCRIPT_TYPE, UI),
            "/assets/base.css" => answer(STYLE_TYPE, BASE),
            "/assets/status.css" => answer(STYLE_TYPE, STYLE),
            "/status" | "/metrics" => {
                let Ok(status) = self.0.status().await else {
                    return refusal(StatusCode::SERVICE_UNAVAILABLE, "the server stops\n");
                };
                if request.uri().path() == "/metrics" {
                    return answer(prometheus::MEDIA_TYPE, metrics::page(&status));
                }
                // Numbers and text are JSON.
                answer("application/json", serde_json::to_vec(&status).unwrap_or_default())
            }
            _ => refusal(StatusCode::NOT_FOUND, "expected /, /status or /metrics\n"),
        }
    }
}
