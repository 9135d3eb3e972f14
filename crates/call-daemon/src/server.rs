//! Conference server: its sockets, its certificate, and what runs on them.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use airlane_base::{InputError, Seed};
use airlane_certificate::{CertificateFiles, Development, ServedCertificates};
use airlane_host::{HmacKey, RateLimitedLog, date, dirs, plain_http};
use airlane_quic::ConnectionLimiter;
use airlane_runtime::real_time::TokioRuntime;
use airlane_runtime::{RuntimeExt, RuntimeHandle, UdpSocket};
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use crate::addresses;
use crate::conference::CallLimits;
use crate::error::CallError;
use crate::handle::ConferenceHandle;
use crate::http::connections::{Connections, Security};
use crate::http::offer_limiter::OfferLimiter;
use crate::http::signalling::{PageSettings, Signalling};
use crate::status::StatusAnswers;
use crate::turn::{TurnConfig, TurnCredentials};

/// Connections over TCP, in all and of one address.
const MAX_CONNECTIONS: usize = 1024;
const MAX_CONNECTIONS_PER_ADDRESS: usize = 128;
/// Connections that wait to be taken.
const BACKLOG: u32 = 256;
/// Times that the system chooses a port before UDP and TCP have the same one.
const MAX_PORT_CHOICES: u32 = 16;

/// Codec of video that pages are asked to prefer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VideoCodec {
    /// AV1, in two spatial and three temporal layers.
    #[default]
    Av1,
    /// VP9, in two spatial and three temporal layers.
    Vp9,
    /// VP8, in two encodings (simulcast).
    Vp8,
}

impl VideoCodec {
    /// Name in SDP.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Av1 => "AV1",
            Self::Vp9 => "VP9",
            Self::Vp8 => "VP8",
        }
    }
}

/// Configuration of a conference server.
#[derive(Clone, Debug)]
pub struct CallServerConfig {
    /// Addresses to listen at: over TCP all of them, with TLS; for media, over UDP and TCP, the first.
    pub listen: Vec<SocketAddr>,
    /// Addresses to listen at without TLS.
    pub http: Vec<SocketAddr>,
    /// Address at which it shows its status over HTTP, to this machine and its private networks.
    pub status: Option<SocketAddr>,
    /// Addresses of the port of media as clients reach it; empty: those of this machine.
    pub announce: Vec<SocketAddr>,
    /// Certificate and key; `None`: one for development.
    pub certificate: Option<CertificateFiles>,
    /// Folder in which a certificate for development is kept; `None`: it is kept nowhere.
    pub data_folder: Option<PathBuf>,
    /// File of the key that signs invitations; `None`: whoever knows a room's name may join.
    pub room_key: Option<PathBuf>,
    /// TURN server that clients may use.
    pub turn: Option<TurnConfig>,
    /// Codec that pages are asked to prefer.
    pub codec: VideoCodec,
    /// Limits on what clients make it hold and do.
    pub limits: CallLimits,
}

impl CallServerConfig {
    /// Configuration of a server that listens at these addresses, with defaults for the rest.
    pub fn new(listen: Vec<SocketAddr>) -> Self {
        Self {
            listen,
            http: Vec::new(),
            status: None,
            announce: Vec::new(),
            certificate: None,
            data_folder: dirs::data(),
            room_key: None,
            turn: None,
            codec: VideoCodec::default(),
            limits: CallLimits::default(),
        }
    }
}

/// Report of a server that has started.
#[derive(Clone, Debug)]
pub struct Ready {
    /// Addresses at which pages and signalling are, over TLS.
    pub addresses: Vec<SocketAddr>,
    /// Addresses at which pages and signalling are, without TLS.
    pub http: Vec<SocketAddr>,
    /// Address of its status.
    pub status: Option<SocketAddr>,
    /// Address of the UDP socket.
    pub media: SocketAddr,
    /// Addresses of the port of media as clients are told, over UDP and TCP.
    pub announced: Vec<SocketAddr>,
    /// The development certificate, if it shows one.
    pub development: Option<Development>,
}

/// A conference server that runs.
pub struct CallServer {
    ready: Ready,
    conference: ConferenceHandle,
    stopping: watch::Sender<bool>,
}

impl std::fmt::Debug for CallServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallServer").field("ready", &self.ready).finish_non_exhaustive()
    }
}

impl CallServer {
    /// Starts a server on the tokio runtime of this thread. It serves when this returns.
    ///
    /// # Errors
    /// If an address or a certificate cannot be used.
    pub async fn start(config: CallServerConfig) -> Result<Self, CallError> {
        let runtime = TokioRuntime::new(Seed(date::now_ms()));
        let warnings = RateLimitedLog::new(runtime.clone());
        let first = *config.listen.first().ok_or_else(|| {
            InputError::new("no address to listen at", "expected ADDR:PORT").at_key("--listen")
        })?;
        let (socket, listener) = bind(&runtime, first)?;
        let media = socket.local_addr();
        let announced = addresses::announced(&config.announce, media)?;
        let ips: Vec<IpAddr> = config
            .listen
            .iter()
            .map(SocketAddr::ip)
            .chain(announced.iter().map(SocketAddr::ip))
            .collect();
        let certificates = ServedCertificates::new(
            config.certificate.into_iter().collect(),
            config.data_folder.clone(),
            &ips,
            ("call", date::now_s()),
        )?
        .0;
        let development = certificates.development();
        let conference =
            ConferenceHandle::start(&runtime, socket, announced.clone(), config.limits)?;
        let mut codecs = vec![config.codec.name().to_owned()];
        for codec in [VideoCodec::Av1, VideoCodec::Vp9, VideoCodec::Vp8] {
            if codec != config.codec {
                codecs.push(codec.name().to_owned());
            }
        }
        let signalling = Arc::new(Signalling {
            runtime: runtime.clone(),
            conference: conference.clone(),
            limiter: Mutex::new(OfferLimiter::new(config.limits.max_offers_per_minute)),
            settings: PageSettings {
                max_participants: config.limits.max_participants,
                codecs,
                max_bitrate_bps: config.limits.max_bitrate_bps,
            },
            room_key: config.room_key.as_deref().map(HmacKey::read).transpose()?,
            turn: config.turn.as_ref().map(TurnCredentials::read).transpose()?,
        });
        let (stopping, stops) = watch::channel(false);
        let connections = Connections {
            runtime: runtime.clone(),
            signalling,
            limiter: ConnectionLimiter::new(MAX_CONNECTIONS, MAX_CONNECTIONS_PER_ADDRESS),
            warnings: warnings.clone(),
            stopping: stops,
        };
        let acceptor = TlsAcceptor::from(Arc::new(tls(&certificates)?));
        let mut ready = Ready {
            addresses: Vec::new(),
            http: Vec::new(),
            status: None,
            media,
            announced,
            development,
        };
        let mut listener = Some(listener);
        for mut at in config.listen {
            if at.port() == 0 {
                at.set_port(media.port());
            }
            // Media is at the first address, over TCP as over UDP.
            let (listener, takes_media) = match listener.take() {
                Some(first) => (first, true),
                None => (listen(at).map_err(|e| refused(at, &e))?, false),
            };
            let security = Security::Tls { acceptor: acceptor.clone(), takes_media };
            ready.addresses.push(listener.local_addr().map_err(|e| refused(at, &e))?);
            runtime.spawn("call https", connections.clone().serve(listener, security));
        }
        for at in config.http {
            let listener = listen(at).map_err(|e| refused(at, &e))?;
            ready.http.push(listener.local_addr().map_err(|e| refused(at, &e))?);
            runtime.spawn("call http", connections.clone().serve(listener, Security::Plain));
        }
        if let Some(at) = config.status {
            let listener = listen(at).map_err(|e| refused(at, &e))?;
            ready.status = Some(listener.local_addr().map_err(|e| refused(at, &e))?);
            let answers = Arc::new(StatusAnswers(conference.clone()));
            let serving = plain_http::serve(runtime.clone(), listener, answers);
            let mut stops = stopping.subscribe();
            runtime.spawn("call status", async move {
                tokio::select! {
                    () = serving => {}
                    _ = stops.wait_for(|stops| *stops) => {}
                }
            });
        }
        Ok(Self { ready, conference, stopping })
    }

    /// Report of the start.
    pub fn ready(&self) -> &Ready {
        &self.ready
    }

    /// Ends all calls; clients are told so.
    pub async fn stop(self) {
        self.stopping.send_replace(true);
        self.conference.stop().await;
    }
}

/// Socket and listener at one address and port.
fn bind(
    runtime: &RuntimeHandle,
    at: SocketAddr,
) -> Result<(Box<dyn UdpSocket>, TcpListener), InputError> {
    // With port 0 the system's choice for UDP may be taken for TCP: it chooses again.
    let mut tries = if at.port() == 0 { MAX_PORT_CHOICES } else { 1 };
    loop {
        let socket = runtime.bind_udp(at).map_err(|e| refused(at, &e))?;
        match listen(SocketAddr::new(at.ip(), socket.local_addr().port())) {
            Ok(listener) => return Ok((socket, listener)),
            Err(e) if tries == 1 => return Err(refused(at, &e)),
            Err(_) => tries -= 1,
        }
    }
}

fn listen(at: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if at.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // Connections of a server before this one may still be ending.
    socket.set_reuseaddr(true)?;
    socket.bind(at)?;
    socket.listen(BACKLOG)
}

fn refused(at: SocketAddr, e: &dyn std::fmt::Display) -> InputError {
    InputError::new(format!("cannot listen there: {e}"), "choose another address or port")
        .at_key(at.to_string())
}

fn tls(certificates: &ServedCertificates) -> Result<rustls::ServerConfig, CallError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| InputError::new(format!("TLS cannot be used: {e}"), ""))?;
    let mut config = builder.with_no_client_auth().with_cert_resolver(certificates.shown().clone());
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
