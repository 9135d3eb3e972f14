//! The origin: serves the objects of a store.
//!
//! It accepts HTTP/3 connections itself ([`Origin::serve`]) and sets their weights if its policy
//! says so. Requests over other protocols are answered in the same way ([`Origin::answer`]); the
//! weights of their connections are not set.

use std::future::pending;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::Time;
use airlane_quic::{Connection, Endpoint, H3_NO_ERROR, H3Server, QuicError, Responder};
use airlane_runtime::{RuntimeExt, RuntimeHandle, WatchCell};
use http::{HeaderName, HeaderValue, Method, Request, StatusCode};

use super::delivery::{Chunk, Delivery, Estimates};
use super::events::{Carrier, ClientConnection, OriginEvents, Requested, Responded};
use super::provider::WeightPolicy;
use super::sending::{Limits, send};
use super::sessions::{PartRequest, SharedSessions};
use super::weigher::{Weigher, group};
use crate::cmcd::Cmcd;
use crate::http::{Answer, AnswerOptions, Busy, Exchange, Pace, answer, within};
use crate::store::{Store, Target};

/// Path at which players post reports (CMCD version 2, event mode).
pub const REPORTS_PATH: &str = "/airlane/cmcd";

/// The field with a session's token: of the answer to its first request, and of requests of a player
/// that goes on with it, on whichever connection.
pub const SESSION_FIELD: HeaderName = HeaderName::from_static("airlane-session");

/// Policy by which the origin shares its links among viewers.
#[derive(Clone, Debug)]
pub enum Policy {
    /// The origin sets no weights.
    Plain,
    /// Weights follow the viewers' experience.
    Minerva(Arc<dyn WeightPolicy>),
}

/// A server of titles. Clones are the same one.
#[derive(Clone)]
pub struct Origin {
    store: Arc<dyn Store>,
    policy: Policy,
    events: Arc<dyn OriginEvents>,
    options: Arc<AnswerOptions>,
    limits: Limits,
    sessions: SharedSessions,
    in_flight: Arc<InFlight>,
}

/// Work that must end before the origin may.
#[derive(Default)]
struct InFlight {
    /// Answers that are being sent.
    answers: Busy,
    /// Connections over HTTP/3 whose clients have not been told that the origin takes no more.
    untold: Busy,
    /// True if the origin takes no more.
    stopping: WatchCell<bool>,
}

impl InFlight {
    /// Ready when the origin takes no more.
    async fn stopped(&self) {
        // The sender is here: it does not go meanwhile.
        self.stopping.until(true).await;
    }
}

impl Origin {
    /// An origin that serves the objects of `store` and reports to `events`.
    pub fn new(store: Arc<dyn Store>, policy: Policy, events: Arc<dyn OriginEvents>) -> Self {
        Self {
            store,
            policy,
            events,
            options: Arc::default(),
            limits: Limits::default(),
            sessions: SharedSessions::default(),
            in_flight: Arc::default(),
        }
    }

    /// The same with these options.
    #[must_use]
    pub fn with_options(self, options: AnswerOptions) -> Self {
        Self { options: Arc::new(options), ..self }
    }

    /// The same with these limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The same with these sessions, which several origins of one server share: a player may ask
    /// one of them and report to another.
    #[must_use]
    pub fn with_sessions(self, sessions: SharedSessions) -> Self {
        Self { sessions, ..self }
    }

    /// Serves every connection of `endpoint` until it is closed.
    pub async fn serve(self, endpoint: impl Into<Arc<Endpoint>>) {
        let endpoint = endpoint.into();
        while let Some(connection) = endpoint.accept().await {
            if self.in_flight.stopping.get() {
                connection.close(H3_NO_ERROR, "the server stops");
                continue;
            }
            let origin = self.clone();
            endpoint.runtime().spawn("origin connection", async move {
                if let Err(e) = origin.serve_connection(connection).await {
                    tracing::debug!("a connection ended: {e}");
                }
            });
        }
    }

    /// Takes no further connections over HTTP/3, and tells the clients of those that there are that it
    /// takes no further requests (GOAWAY). Ready when all have been told; what they sent before they
    /// hear of it is answered.
    pub async fn go_away(&self) {
        self.in_flight.stopping.set(true);
        self.in_flight.untold.none().await;
    }

    /// Waits until all answers on their way have been sent.
    pub async fn drained(&self) {
        self.in_flight.answers.none().await;
    }

    /// A client connected over `carrier`; the weight of the connection is not set.
    pub fn on_connect(&self, peer: std::net::SocketAddr, carrier: Carrier) -> ClientConnection {
        let client = self.sessions.lock().on_connect(peer, carrier, None);
        self.events.connected(&client, None);
        client
    }

    /// That connection ended.
    pub fn on_disconnect(&self, client: &ClientConnection) {
        self.sessions.lock().on_disconnect(client.id);
        self.events.disconnected(client);
    }

    /// All requests of one connection.
    async fn serve_connection(self, connection: Connection) -> Result<(), QuicError> {
        // A connection that was lost meanwhile has no address, and no requests either.
        let Some(peer) = connection.remote_addr() else { return Ok(()) };
        let runtime = connection.runtime().clone();
        let managed = matches!(self.policy, Policy::Minerva(_));
        let begins_at = managed.then(|| connection.control().stats().weight);
        let (client, shares) = {
            let mut sessions = self.sessions.lock();
            let client = sessions.on_connect(peer, Carrier::Http3, begins_at);
            (client, sessions.shares(client.id))
        };
        self.events.connected(&client, Some(connection.control()));
        let weigher = match (&self.policy, shares) {
            (Policy::Minerva(weighing), Some(shares)) => {
                let (weighing, connection) = (weighing.clone(), connection.clone());
                let sessions = (self.sessions.clone(), shares);
                Some(Weigher::new(client, weighing, connection, runtime.clone(), sessions))
            }
            _ => None,
        };
        let result = self.take_requests(connection, &runtime, client, weigher.as_ref()).await;
        self.on_disconnect(&client);
        result
    }

    async fn take_requests(
        &self,
        connection: Connection,
        runtime: &RuntimeHandle,
        client: ClientConnection,
        weigher: Option<&Arc<Weigher>>,
    ) -> Result<(), QuicError> {
        let busy = Busy::default();
        let idle = busy.idle(runtime, self.limits.idle);
        tokio::pin!(idle);
        let mut server = tokio::select! {
            biased;
            server = H3Server::bounded(connection.clone(), self.limits.request) => server?,
            () = &mut idle => return Ok(()),
        };
        let weighing = async {
            match weigher.cloned() {
                Some(w) => w.run(self.events.clone()).await,
                None => pending().await,
            }
        };
        tokio::pin!(weighing);
        let stopped = self.in_flight.stopped();
        tokio::pin!(stopped);
        let unasked = async {
            match self.limits.first_request {
                Some(limit) => runtime.sleep(limit).await,
                None => pending().await,
            }
        };
        tokio::pin!(unasked);
        let mut has_asked = false;
        let mut untold = Some(self.in_flight.untold.begin());
        let mut pace = self.limits.rate.map(Pace::new);
        let mut wait = Duration::ZERO;
        loop {
            let next = async {
                if !wait.is_zero() {
                    runtime.sleep(wait).await;
                }
                server.accept().await
            };
            let next = tokio::select! {
                biased;
                () = &mut stopped, if untold.is_some() => {
                    tokio::select! {
                        biased;
                        told = server.go_away() => told?,
                        () = &mut idle => return Ok(()),
                    }
                    untold = None;
                    continue;
                }
                next = next => next?,
                () = &mut weighing => unreachable!("weights are set as long as the connection lives"),
                () = &mut unasked, if !has_asked => {
                    connection.close(H3_NO_ERROR, "nothing was asked for");
                    return Ok(());
                }
                () = &mut idle => {
                    connection.close(H3_NO_ERROR, "nothing was asked for");
                    return Ok(());
                }
            };
            let Some((request, mut responder)) = next else { return Ok(()) };
            has_asked = true;
            wait = pace.as_mut().map_or(Duration::ZERO, |pace| pace.take(runtime.now()));
            // Counted before its task begins.
            let answering = (busy.begin(), self.in_flight.answers.begin());
            let (origin, weigher, rt) = (self.clone(), weigher.cloned(), runtime.clone());
            runtime.spawn("origin response", async move {
                if !origin.has_come_whole(&rt, &request, &mut responder).await {
                    return;
                }
                origin.answer_request(&rt, &client, weigher.as_ref(), &request, responder).await;
                drop(answering);
            });
        }
    }

    /// Waits for the end of a request whose content is of no use. Whether it is well-formed so far.
    async fn has_come_whole(
        &self,
        runtime: &RuntimeHandle,
        request: &Request<()>,
        responder: &mut Responder,
    ) -> bool {
        /// Bytes of such content that are waited for.
        const UNUSED_BYTES: usize = 64 << 10;
        // Where a request may take for ever, as in the laboratory, nobody waits for the end of one.
        let limit = self.limits.request.head_timeout;
        let has_no_end = request.method() == Method::CONNECT;
        if has_no_end || limit.is_none() || is_report(request) {
            return true;
        }
        let whole = responder.discard_body(UNUSED_BYTES);
        let whole = within(runtime, limit, whole).await;
        !matches!(whole, Some(Err(_)))
    }

    /// Answers a request on a connection whose weight is not set.
    pub async fn answer(
        &self,
        runtime: &RuntimeHandle,
        client: &ClientConnection,
        request: &Request<()>,
        exchange: impl Exchange,
    ) {
        self.answer_request(runtime, client, None, request, exchange).await;
    }

    async fn answer_request(
        &self,
        runtime: &RuntimeHandle,
        client: &ClientConnection,
        weigher: Option<&Arc<Weigher>>,
        request: &Request<()>,
        mut exchange: impl Exchange,
    ) {
        let began = runtime.now();
        let path = request.uri().path();
        let _in_flight = self.in_flight.answers.begin();
        if is_report(request) {
            let status = self.take_report(runtime, client, request, &mut exchange).await;
            self.report_answer(runtime, client, request, (began, None, status), (0, true));
            return;
        }
        let (query, fields) = (request.uri().query(), request.headers());
        let target = Target { path, query, fields, peer: client.peer };
        let found = self.store.find(target).await;
        let object = match &found {
            Ok(object) => object.as_ref(),
            Err(e) => {
                tracing::debug!("{path} cannot be read: {e}");
                let status = match e.kind() {
                    io::ErrorKind::PermissionDenied => StatusCode::FORBIDDEN,
                    _ => StatusCode::INTERNAL_SERVER_ERROR,
                };
                let head = Answer::bare(status, &self.options, &[]);
                let sent = send(runtime, &self.limits, &mut exchange, head, None, None).await;
                self.report_answer(runtime, client, request, (began, None, status), sent);
                return;
            }
        };
        let mut head = answer(request, object, &self.options);
        let first = head.body.as_ref().map(|body| body.start);
        let part = first.and_then(|first| Some(object?.part.as_ref()?.at(first)));
        let cmcd = part.is_some().then(|| Cmcd::of_request(request));
        let asked = part.as_ref().zip(cmcd.as_ref());
        let begun = asked.and_then(|(part, cmcd)| {
            let request = PartRequest { part, cmcd, token: session_token(request) };
            let chunk = object.zip(first).and_then(|(object, first)| Chunk::of(object, first));
            self.begin_delivery(runtime, client, weigher, request, chunk)
        });
        let (delivery, token) = begun.unzip();
        let session = asked.map(|(_, cmcd)| cmcd.session.as_deref().unwrap_or_default());
        if let Some(delivery) = &delivery {
            // Sound, headers and text are short, and the picture is of no use without them.
            exchange.join_group(group(delivery.response.session()), delivery.chunk.is_none());
        } else if object.is_some_and(|object| is_manifest(object.media_type)) {
            exchange.join_group(0, true);
        }
        if let Some(token) = token.flatten().and_then(|t| HeaderValue::try_from(t).ok()) {
            head.head.headers_mut().insert(SESSION_FIELD, token);
        }
        if let Some(estimates) =
            delivery.as_ref().filter(|_| self.options.cmsd).and_then(Delivery::estimates)
        {
            head.head.headers_mut().extend(cmsd(estimates));
        }
        let status = head.head.status();
        let delivering = delivery.as_ref();
        let sent = send(runtime, &self.limits, &mut exchange, head, object, delivering).await;
        if let Some(delivery) = delivery {
            delivery.end(sent.0);
        }
        self.report_answer(runtime, client, request, (began, session, status), sent);
    }

    /// Reports a request for a part of a title to its session. What it begins, and the session's token
    /// if that begins with it; `None`: the connection was lost.
    fn begin_delivery(
        &self,
        runtime: &RuntimeHandle,
        client: &ClientConnection,
        weigher: Option<&Arc<Weigher>>,
        request: PartRequest<'_>,
        chunk: Option<Chunk>,
    ) -> Option<(Delivery, Option<String>)> {
        let weighing = match &self.policy {
            Policy::Plain => None,
            Policy::Minerva(weighing) => Some(weighing.clone()),
        };
        let (at, totals) = (runtime.now(), weigher.map(|w| w.progress()).unwrap_or_default());
        let accepted =
            self.sessions.lock().on_request(at, client.id, totals, request, weighing.as_deref())?;
        let PartRequest { part, cmcd, .. } = request;
        let session = cmcd.session.as_deref().unwrap_or_default();
        let (begins, cohort) = (accepted.begins, accepted.cohort);
        self.events.requested(client, &Requested { at, session, part, cmcd, begins, cohort });
        let concerned = accepted.response.has_share() || accepted.weight.is_some();
        if let Some(weigher) = weigher.filter(|_| concerned) {
            let session = accepted.response.session();
            weigher.on_request(session, accepted.share_weight, accepted.weight);
        }
        let delivery = Delivery {
            sessions: self.sessions.clone(),
            runtime: runtime.clone(),
            weigher: weigher.cloned(),
            weighing,
            response: accepted.response,
            part: part.clone(),
            chunk,
        };
        Some((delivery, accepted.token))
    }

    /// Reads what a player posts. The status of the answer.
    async fn take_report<E: Exchange>(
        &self,
        runtime: &RuntimeHandle,
        client: &ClientConnection,
        request: &Request<()>,
        exchange: &mut E,
    ) -> StatusCode {
        let mut body = Vec::new();
        let receiving = async {
            while let Some(piece) = exchange.receive().await? {
                if body.len() + piece.len() > self.limits.post_bytes {
                    return Ok(StatusCode::PAYLOAD_TOO_LARGE);
                }
                body.extend_from_slice(&piece);
            }
            Ok::<_, E::Error>(StatusCode::NO_CONTENT)
        };
        let status = match within(runtime, self.limits.stalled, receiving).await {
            Some(Ok(status)) => status,
            Some(Err(_)) => return StatusCode::BAD_REQUEST,
            None => StatusCode::REQUEST_TIMEOUT,
        };
        if status == StatusCode::NO_CONTENT {
            let token = session_token(request);
            // Some players put the report into the query, and leave the body empty.
            let inline = Some(Cmcd::of_request(request)).filter(|c| !c.is_empty());
            let posted = Cmcd::of_post(&String::from_utf8_lossy(&body));
            for report in inline.iter().chain(&posted) {
                self.events.reported(runtime.now(), report);
                self.sessions.lock().on_report(runtime.now(), client.id, token, report);
            }
        }
        let head = Answer::bare(status, &self.options, &[]);
        send(runtime, &self.limits, exchange, head, None, None).await;
        status
    }

    /// Tells the observer of an answer.
    fn report_answer(
        &self,
        runtime: &RuntimeHandle,
        client: &ClientConnection,
        request: &Request<()>,
        (began, session, status): (Time, Option<&str>, StatusCode),
        (bytes, whole): (u64, bool),
    ) {
        let at = runtime.now();
        let (method, path) = (request.method().as_str(), request.uri().path());
        let took = at - began;
        let responded = Responded { at, took, session, method, path, status, bytes, whole };
        self.events.responded(client, &responded);
    }
}

/// True if a player posts a report.
fn is_report(request: &Request<()>) -> bool {
    request.method() == Method::POST && request.uri().path() == REPORTS_PATH
}

/// The token of a session that a request shows.
fn session_token(request: &Request<()>) -> Option<&str> {
    request.headers().get(SESSION_FIELD)?.to_str().ok()
}

/// True if a media type is that of a manifest (RFC 8216; ISO/IEC 23009-1).
fn is_manifest(media_type: &str) -> bool {
    matches!(media_type, "application/dash+xml" | "application/vnd.apple.mpegurl")
}

/// CMSD's field of the server that answers (CTA-5006).
fn cmsd(estimates: Estimates) -> Option<(HeaderName, HeaderValue)> {
    let Estimates { throughput_kbps, bitrate_kbps } = estimates;
    let text = format!("\"airlane\";etp={throughput_kbps};mb={bitrate_kbps}");
    Some((HeaderName::from_static("cmsd-dynamic"), HeaderValue::try_from(text).ok()?))
}
