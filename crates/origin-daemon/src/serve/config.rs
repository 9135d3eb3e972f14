//! The settings of a server.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use airlane_abr::AbrKind;
use airlane_media::Metric;
use airlane_origin::http::RequestRate;

use airlane_certificate::CertificateFiles;

/// Burst of requests that a connection may make at once, in seconds of its rate: a player that
/// opens a title asks for a few dozen, a cache that is filled for thousands.
const BURST_S: u32 = 5;

/// Policy by which a link is shared among its viewers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sharing {
    /// Equal experience: the lowest QoE is as high as can be (max-min fairness).
    MaxMin,
    /// The sum of the logarithms of QoE is the largest (appendix D).
    Proportional,
    /// Equal experience, with weights within this factor of a plain share (section 5.5).
    Bounded(f64),
    /// No weights: every connection has a plain share.
    Plain,
}

/// Addresses at which operators see all sessions, titles and metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admin {
    /// On this machine: 127.0.0.1, at the port after the first one of [`ServerConfig::listen`], or
    /// at any if that one is taken.
    Loopback,
    /// At these addresses, for whoever reaches them.
    At {
        /// The addresses.
        addresses: Vec<SocketAddr>,
        /// Names of hosts that requests may be for, beside addresses and `localhost`.
        names: Vec<String>,
    },
    /// Nowhere.
    Off,
}

/// The timeouts for clients.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// For the handshake of QUIC or TLS.
    pub handshake: Duration,
    /// For the head of a request, and over HTTP/1.1 from one answer to the next request.
    pub head: Duration,
    /// For accepting a piece of an answer (64 KiB), or for sending a whole post.
    pub stalled: Duration,
    /// For a connection without requests: it is closed when nothing was answered on it, or over
    /// QUIC received, for so long.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(15),
            head: Duration::from_secs(15),
            stalled: Duration::from_secs(60),
            idle: Duration::from_secs(60),
        }
    }
}

/// Configuration of a server.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The folder of titles.
    pub folder: PathBuf,
    /// Addresses to listen on, over UDP and TCP alike.
    pub listen: Vec<SocketAddr>,
    /// Sockets at each address, over UDP and TCP each, where the system can share an address among
    /// them: each has a task of its own, so that there is to be one per core.
    pub sockets: usize,
    /// Certificates with their keys, in PEM: each client is shown the first one that is for the
    /// server that it names, and the first of all if none is. Without any, a development
    /// certificate.
    pub certificates: Vec<CertificateFiles>,
    /// Interval of the checks whether the certificates' files have changed, or the
    /// development certificate is to be renewed.
    pub certificate_look: Duration,
    /// Folder in which the development certificate is kept; `None`: it is not kept.
    pub data_folder: Option<PathBuf>,
    /// Policy by which links are shared.
    pub sharing: Sharing,
    /// Normalisations from files, each for the titles whose name begins with its prefix.
    pub normalisations: Vec<(String, PathBuf)>,
    /// The share of sessions under Minerva, where the others are plain for comparison.
    pub split: Option<f64>,
    /// Plain connections that a viewer counts for on average.
    pub baseline: f64,
    /// Obey the rates that viewers on a WiFi measure and report (Cupid).
    pub takes_reports: bool,
    /// The factor on every weight; `None`: 1.065 per connection of the baseline, or the file's.
    pub alpha: Option<f64>,
    /// The algorithm of players that name none.
    pub abr: AbrKind,
    /// The quality metric for players that name none; `None`: VMAF where a title has it, else any
    /// that it has.
    pub metric: Option<Metric>,
    /// The largest buffer of players.
    pub player_buffer: Duration,
    /// Addresses at which operators see all sessions, titles and metrics.
    pub admin: Admin,
    /// Let everybody read the list of titles.
    pub list_titles: bool,
    /// A file with the secret that signs addresses: files are for those alone who have a signed one.
    pub sign_key: Option<PathBuf>,
    /// Origins whose pages may have the player in a frame, such as `https://example.org`.
    pub frames: Vec<String>,
    /// Let the player play what other servers have.
    pub foreign_manifests: bool,
    /// A file that gets a line of JSON per request.
    pub access_log: Option<PathBuf>,
    /// Time for which a stop waits for answers that are being sent.
    pub drain: Duration,
    /// Connections at most, over QUIC and over TCP each.
    pub connections: usize,
    /// Of one IPv4 address or network of 64 bits of IPv6, also over QUIC and over TCP each.
    pub connections_per_address: usize,
    /// Requests per second that a connection may make, at least 1; it may make five times as many at
    /// once.
    pub requests_per_s: u32,
    /// The timeouts for clients.
    pub timeouts: Timeouts,
    /// Folders and files for qlog and TLS secrets.
    pub qlog: Option<PathBuf>,
    /// See [`qlog`](Self::qlog).
    pub keylog: Option<PathBuf>,
}

impl ServerConfig {
    /// The rate of requests of a connection.
    pub(super) fn rate(&self) -> RequestRate {
        let per_s = self.requests_per_s;
        RequestRate { per_s, burst: per_s.saturating_mul(BURST_S) }
    }

    /// The defaults, for this folder.
    pub fn new(folder: impl Into<PathBuf>, listen: Vec<SocketAddr>) -> Self {
        Self {
            folder: folder.into(),
            listen,
            sockets: std::thread::available_parallelism().map_or(1, usize::from),
            certificates: Vec::new(),
            certificate_look: Duration::from_secs(5),
            data_folder: airlane_host::dirs::data(),
            sharing: Sharing::MaxMin,
            normalisations: Vec::new(),
            split: None,
            baseline: 1.0,
            takes_reports: false,
            alpha: None,
            abr: AbrKind::Bola(airlane_abr::Bola::default()),
            metric: None,
            player_buffer: Duration::from_secs(30),
            admin: Admin::Loopback,
            list_titles: false,
            sign_key: None,
            frames: Vec::new(),
            foreign_manifests: false,
            access_log: None,
            drain: Duration::from_secs(10),
            connections: 10_000,
            connections_per_address: 1_000,
            requests_per_s: 1_000,
            timeouts: Timeouts::default(),
            qlog: None,
            keylog: None,
        }
    }
}
