//! The server: an origin of DASH and HLS titles over HTTP/3, 2 and 1.1 that shares its links by
//! experience.

mod admin;
mod background;
mod config;
mod events;
mod exchange;
mod groups;
mod history;
mod log;
mod metrics;
mod overview;
mod pages;
mod registry;
mod session_view;
mod signed;
mod site;
mod start;
mod tcp;
mod title_view;
mod titles;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{InputError, Seed};
use airlane_congestion::{ControllerConfig, Fallback};
use airlane_origin::cmcd::Cmcd;
use airlane_origin::http::AnswerOptions;
use airlane_origin::sessions::{Sessions, SharedSessions, WeightRule};
use airlane_origin::{Cohort, Limits, Origin, Policy, SessionPolicy};
use airlane_quic::{
    ALPN_H3, AcceptConfig, Admission, ConnectionLimiter, DebugFiles, Endpoint, FlowControl,
    H3_NO_ERROR, PacketConfig, QuicError, Reports, Timers, Tls, TransportConfig, Trust,
};
use airlane_runtime::real_time::TokioRuntime;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use http::{HeaderName, HeaderValue, header};
use tokio::sync::watch as signal;
use tokio_rustls::TlsAcceptor;

use self::background::{keep_history, until_stopped, watch_certificates};
use self::events::Events;
use self::log::AccessLog;
use self::metrics::Metrics;
use self::overview::Overview;
use self::pages::{PLAYER_PATH, Pages};
use self::site::Site;
use self::start::{certificates, off_thread, read_titles, secret};
use self::tcp::TcpContext;
use crate::buffers::PIECE_BYTES;
use crate::error::DaemonError;
use airlane_certificate::ServedCertificates;
pub use airlane_certificate::{CertificateFiles, Development};
use airlane_host::RateLimitedLog;
use airlane_host::{date, host_id};

pub use config::{Admin, ServerConfig, Sharing, Timeouts};
pub use registry::{Points, Registry};
pub use session_view::SessionView;
pub use signed::{NotSigned, SignKey};
pub use titles::{Title, Titles};

/// UDP payload of a full packet on most paths, which rates of bodies and of packets are converted by.
const PAYLOAD_BYTES: u16 = 1350;
/// Handshakes under way from which on clients must show that they receive where they send from.
const VALIDATE_FROM: usize = 64;
/// Handshakes under way at most.
const HANDSHAKES: usize = 1024;
/// Bytes that wait for or in the network on every connection at least: two pieces of a body.
const MIN_AHEAD_BYTES: u64 = 128 << 10;
/// Bytes that the header fields of a request may have: over HTTP/3 with 32 for each, as RFC 9114,
/// section 4.2.2, counts them.
const HEAD_BYTES: u32 = 64 << 10;
/// Time after which the server no longer holds pieces of an answer in memory for a client that
/// takes none of it.
const RECLAIM_TIMEOUT: Duration = Duration::from_secs(1);
/// Time for which clients may remember that HTTP/3 is available here, in seconds (`ma` of Alt-Svc).
const ALT_SVC_S: u32 = 3600;

/// A server that runs.
pub struct Server {
    config: ServerConfig,
    site: Arc<Site>,
    endpoints: Vec<Arc<Endpoint>>,
    origins: Vec<Origin>,
    certificates: Arc<ServedCertificates>,
    /// Comes from the key of the first certificate that was shown, so that one who takes this
    /// server's place has it too. It stays as it is when the certificate is replaced: clients were
    /// told tokens that come from it.
    reset_secret: [u8; 32],
    log: Option<Arc<AccessLog>>,
    warnings: Arc<RateLimitedLog>,
    /// Limits of connections over QUIC and over TCP.
    limiters: [Arc<ConnectionLimiter>; 2],
    /// Becomes true when no request is taken any more. Each task that must end then has a receiver of it.
    stopping: signal::Sender<bool>,
    ready: Ready,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("ready", &self.ready).finish_non_exhaustive()
    }
}

/// Report of a server that has started.
#[derive(Clone, Debug)]
pub struct Ready {
    /// Addresses on which the server listens.
    pub addresses: Vec<SocketAddr>,
    /// Addresses at which operators see all sessions, titles and metrics, over plain HTTP.
    pub admin: Vec<SocketAddr>,
    /// Deviations from what was asked for.
    pub notes: Vec<String>,
    /// The path and query of the player's page with the first title.
    pub player: String,
    /// Titles, and how many of them are weighed.
    pub titles: usize,
    /// See [`titles`](Self::titles).
    pub weighed: usize,
    /// The development certificate, if it shows one.
    pub development: Option<Development>,
}

impl Server {
    /// Starts a server on the tokio runtime of this thread. It serves when this returns.
    ///
    /// # Errors
    /// If the folder, a file, a certificate or an address cannot be used.
    pub async fn start(config: ServerConfig) -> Result<Self, DaemonError> {
        let runtime = TokioRuntime::new(Seed(date::now_ms()));
        let warnings = RateLimitedLog::new(runtime.clone());
        let files = crate::files::Files::open(&config.folder, warnings.clone())?;
        let catalogue = Arc::new(read_titles(&config).await?);
        let log = config.access_log.as_deref().map(AccessLog::open).transpose()?.map(Arc::new);
        let (certificates, reset_secret) = certificates(&config)?;
        let sign_key = config.sign_key.as_deref().map(SignKey::read).transpose()?;
        let first = catalogue.titles.all().next();
        let player = first.map_or(PLAYER_PATH.to_owned(), |title| {
            title_view::player(title, sign_key.as_ref(), date::now_s())
        });
        let sessions = SharedSessions::new(Sessions::default().with_tokens(&secret()?));
        let site = Arc::new(Site {
            files,
            catalogue: parking_lot::RwLock::new(catalogue.clone()),
            registry: Registry::new(sessions.clone(), config.split.is_some()),
            sessions,
            metrics: Metrics::default(),
            overview: Overview::new(config.sharing, config.split),
            log: log.clone(),
            runtime: runtime.clone(),
            split: config.split,
            pages: Pages::new(&config.frames, config.foreign_manifests),
            list_titles: config.list_titles,
            sign_key,
            public: parking_lot::Mutex::default(),
            endpoints: parking_lot::Mutex::default(),
        });
        let (stopping, stop) = signal::channel(false);
        let limiters = [config.connections, over_tcp(config.connections)]
            .map(|all| ConnectionLimiter::new(all, config.connections_per_address));
        let mut server = Self {
            ready: Ready {
                addresses: Vec::new(),
                admin: Vec::new(),
                notes: Vec::new(),
                player,
                titles: catalogue.titles.all().count(),
                weighed: catalogue.titles.all().filter(|t| t.video.is_some()).count(),
                development: certificates.development(),
            },
            config,
            site,
            endpoints: Vec::new(),
            origins: Vec::new(),
            certificates: Arc::new(certificates),
            reset_secret,
            log,
            warnings,
            limiters,
            stopping,
        };
        for mut listen in server.config.listen.clone() {
            // One port for all addresses, also where the system chooses it.
            if let (0, Some(first)) = (listen.port(), server.ready.addresses.first()) {
                listen.set_port(first.port());
            }
            let at = server.listen(&runtime, listen, &stop).await?;
            server.ready.addresses.push(at);
        }
        server.listen_for_operators(&runtime, &stop).await?;
        let history = keep_history(server.site.clone(), runtime.clone());
        runtime.spawn("session history", until_stopped(stop.clone(), history));
        let look = watch_certificates(
            server.certificates.clone(),
            runtime.clone(),
            server.config.certificate_look,
        );
        runtime.spawn("certificates", until_stopped(stop, look));
        Ok(server)
    }

    /// Report of the start: the server's addresses, and the titles that it serves.
    pub fn ready(&self) -> &Ready {
        &self.ready
    }

    /// Problems found in titles.
    pub fn complaints(&self) -> Vec<String> {
        self.site.catalogue().titles.complaints.clone()
    }

    /// Reads certificates and titles again, and goes on in a new access log. Sessions go on.
    ///
    /// # Errors
    /// If something cannot be read; it then stays as it was.
    pub async fn reload(&self) -> Result<(), DaemonError> {
        let catalogue = read_titles(&self.config).await?;
        let certificates = self.certificates.clone();
        off_thread(move || certificates.reload(date::now_s())).await??;
        if let Some(log) = &self.log {
            log.reopen()?;
        }
        *self.site.catalogue.write() = Arc::new(catalogue);
        Ok(())
    }

    /// Stops: takes no connection and no request any more, lets answers end that are on their way,
    /// for as long as it was told, and closes. Its ports are free when this returns.
    pub async fn stop(self) {
        self.stopping.send_replace(true);
        let drained = async {
            let tcp = self.limiters[1].drained();
            let quic = async {
                for origin in &self.origins {
                    origin.go_away().await;
                }
                // Who has acknowledged that asks for nothing more: what it asked for has come.
                self.flushed().await;
                for origin in &self.origins {
                    origin.drained().await;
                }
                self.flushed().await;
            };
            let _ = tokio::join!(tcp, quic);
        };
        let _ = tokio::time::timeout(self.config.drain, drained).await;
        for endpoint in &self.endpoints {
            endpoint.close(H3_NO_ERROR, "the server stops");
        }
        for endpoint in &self.endpoints {
            let _ = tokio::time::timeout(Duration::from_secs(1), endpoint.wait_idle()).await;
        }
        let released: Vec<_> = self.endpoints.iter().map(|e| e.released()).collect();
        drop((self.endpoints, self.origins));
        let released = async {
            for endpoint in released {
                endpoint.await;
            }
            self.stopping.closed().await;
        };
        let _ = tokio::time::timeout(Duration::from_secs(1), released).await;
        if let Some(log) = self.log {
            // What waits is written also where the runtime ends next.
            let _ = tokio::task::spawn_blocking(move || log.close()).await;
        }
    }

    /// Listens for operators.
    async fn listen_for_operators(
        &mut self,
        runtime: &RuntimeHandle,
        stop: &signal::Receiver<bool>,
    ) -> Result<(), DaemonError> {
        let Some(&public) = self.ready.addresses.first() else { return Ok(()) };
        *self.site.public.lock() = Some(public);
        let wanted_port = self.config.listen.first().map_or(0, SocketAddr::port);
        let (listeners, note) = admin::listen(&self.config.admin, public, wanted_port).await?;
        self.ready.admin = listeners.iter().filter_map(|l| l.local_addr().ok()).collect();
        self.ready.notes.extend(note);
        let names = match &self.config.admin {
            Admin::At { names, .. } => names.as_slice(),
            _ => &[],
        };
        admin::serve(runtime, listeners, &self.site, names, stop);
        Ok(())
    }

    /// Waits until clients over QUIC have acknowledged everything.
    async fn flushed(&self) {
        for endpoint in &self.endpoints {
            endpoint.flushed().await;
        }
    }

    /// Listens at an address, over UDP and TCP on one port.
    async fn listen(
        &mut self,
        runtime: &RuntimeHandle,
        at: SocketAddr,
        stop: &signal::Receiver<bool>,
    ) -> Result<SocketAddr, DaemonError> {
        let refused = |e: &dyn std::fmt::Display| {
            InputError::new(format!("cannot listen there: {e}"), "choose another address or port")
                .at_key(at.to_string())
        };
        // With port 0 the system's choice for UDP may be taken for TCP: it chooses again.
        let mut tries = if at.port() == 0 { 16 } else { 1 };
        let (transport, sockets) = (self.transport(), self.config.sockets);
        let (at, endpoints, listeners) = loop {
            let endpoints = Endpoint::servers(runtime, at, &transport, sockets);
            let endpoints = endpoints.map_err(|e| refused(&e))?;
            let bound = endpoints.first().map_or(at, Endpoint::local_addr);
            match tcp::listen(bound, endpoints.len()) {
                Ok(listeners) => break (bound, endpoints, listeners),
                Err(e) if tries == 1 => return Err(refused(&e).into()),
                Err(_) => tries -= 1,
            }
        };
        let origin = self.origin(at.port());
        self.origins.push(origin.clone());
        let tcp = TcpContext {
            origin: origin.clone(),
            runtime: runtime.clone(),
            tls: TlsAcceptor::from(Arc::new(self.tls()?)),
            limiter: self.limiters[1].clone(),
            rate: self.config.rate(),
            stopping: stop.clone(),
            timeouts: self.config.timeouts,
            warnings: self.warnings.clone(),
        };
        for endpoint in endpoints.into_iter().map(Arc::new) {
            runtime.spawn("http/3", origin.clone().serve(endpoint.clone()));
            self.site.endpoints.lock().push(Arc::downgrade(&endpoint));
            self.endpoints.push(endpoint);
        }
        let tcp = Arc::new(tcp);
        for listener in listeners {
            runtime.spawn("http over tcp", tcp.clone().serve(listener));
        }
        Ok(at)
    }

    fn origin(&self, port: u16) -> Origin {
        let policy = match self.config.sharing {
            Sharing::Plain => Policy::Plain,
            _ => Policy::Minerva(Arc::new(CurrentCatalogue(self.site.clone()))),
        };
        let clock = Some(date::now_s as fn() -> u64);
        let mut options =
            AnswerOptions { cors: true, cmsd: true, clock, ..AnswerOptions::default() };
        let field = |text: String| HeaderValue::try_from(text).ok();
        let alt_svc = field(format!("h3=\":{port}\"; ma={ALT_SVC_S}"));
        options.fields.extend(alt_svc.map(|v| (header::ALT_SVC, v)));
        let server = HeaderValue::from_static(concat!("airlane/", env!("CARGO_PKG_VERSION")));
        options.fields.insert(header::SERVER, server);
        let nosniff = HeaderValue::from_static("nosniff");
        options.fields.insert(HeaderName::from_static("x-content-type-options"), nosniff);
        let events = Events::new(self.site.clone(), self.log.clone(), self.warnings.clone());
        let Timeouts { head, stalled, idle, .. } = self.config.timeouts;
        let mut limits = Limits { stalled: Some(stalled), idle: Some(idle), ..Limits::default() };
        // One that is begun in time may take its own.
        limits.first_request = Some(2 * head);
        limits.reclaim_timeout = Some(RECLAIM_TIMEOUT);
        limits.piece_bytes = PIECE_BYTES as u64;
        limits.request.head_bytes = HEAD_BYTES.into();
        limits.request.head_timeout = Some(head);
        limits.rate = Some(self.config.rate());
        Origin::new(self.site.clone(), policy, Arc::new(events))
            .with_sessions(self.site.sessions.clone())
            .with_options(options)
            .with_limits(limits)
    }

    fn transport(&self) -> TransportConfig {
        let config = &self.config;
        let controller = match config.takes_reports {
            true => ControllerConfig::Cupid { fallback: Fallback::Cubic, weight: config.baseline },
            false => ControllerConfig::cubic(config.baseline),
        };
        let tls = Tls {
            identity: Some(self.certificates.shown().clone()),
            trust: Trust::Roots(Vec::new()),
        };
        TransportConfig {
            packets: PacketConfig::probing(),
            alpn: vec![ALPN_H3.to_vec()],
            accept: AcceptConfig {
                admission: Admission {
                    validate_from: VALIDATE_FROM,
                    handshakes: HANDSHAKES,
                    // Those that were evicted are there until their ends have been told.
                    connections: config.connections.saturating_mul(2),
                    handshake_timeout: Some(config.timeouts.handshake),
                },
                connection_limiter: Some(self.limiters[0].clone()),
                reset_secret: Some(self.reset_secret),
            },
            timers: Timers { idle_timeout: Some(config.timeouts.idle), ..Timers::default() },
            flow: FlowControl {
                send_window_bytes: 16 << 20,
                min_send_window_bytes: MIN_AHEAD_BYTES,
                // Requests are short: what a client may send ahead is bounded accordingly.
                stream_receive_window_bytes: 64 << 10,
                receive_window_bytes: 256 << 10,
                ..FlowControl::default()
            },
            reports: Reports {
                source: None,
                sink: config.takes_reports.then(airlane_cupid_agent::report_sink),
            },
            debug_files: DebugFiles {
                qlog_dir: config.qlog.clone(),
                keylog: config.keylog.clone(),
            },
            ..TransportConfig::network(tls, controller)
        }
    }

    /// TLS over TCP, with the certificates that HTTP/3 shows too.
    fn tls(&self) -> Result<rustls::ServerConfig, DaemonError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| QuicError::Tls(e.to_string()))?;
        let mut config =
            builder.with_no_client_auth().with_cert_resolver(self.certificates.shown().clone());
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}

/// Connections over TCP for which there are descriptors, of the `wanted` ones at most. The process
/// gets as many as the system lets it have.
fn over_tcp(wanted: usize) -> usize {
    /// Of eight descriptors, those for connections. The others are for files, logs and listening.
    const SHARE: usize = 7;
    let Some(descriptors) = host_id::raise_descriptors() else { return wanted };
    let room = (descriptors / 8).saturating_mul(SHARE).max(1);
    if room < wanted {
        tracing::warn!(
            "the system lets this process open {descriptors} files: of {wanted} connections over \
             TCP there may be {room}"
        );
    }
    room.min(wanted)
}

/// Weight policy of the catalogue as it is at the moment.
#[derive(Debug)]
struct CurrentCatalogue(Arc<Site>);

impl airlane_origin::WeightPolicy for CurrentCatalogue {
    fn terms(&self, title: &str, session: &str, cmcd: &Cmcd) -> SessionPolicy {
        self.0.catalogue().groups.terms(title, session, cmcd)
    }

    fn rule(&self, title: &str, cohort: Cohort, cmcd: &Cmcd) -> Option<WeightRule> {
        self.0.catalogue().groups.rule(title, cohort, cmcd)
    }

    fn payload_bytes(&self) -> u64 {
        PAYLOAD_BYTES.into()
    }

    fn suggestion_bps(&self, title: &str, rate_bps: f64) -> Option<u64> {
        self.0.catalogue().groups.suggestion_bps(title, rate_bps)
    }
}
