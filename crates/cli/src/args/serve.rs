//! The options of `airlane serve`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use airlane_abr::AbrKind;
use airlane_base::InputError;
use airlane_media::Metric;
use airlane_origin_daemon::serve::{Admin, CertificateFiles, ServerConfig, Sharing};
use clap::{Args, ValueEnum};

use super::addresses::listen_addresses;
use super::{metric, number, positive_number, share_of_one};

/// Policy by which a link is shared among its viewers.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PolicyName {
    /// Equal experience: the worst viewer is as well off as can be
    MaxMin,
    /// The sum of the logarithms of QoE is the largest
    Proportional,
    /// Equal experience, with weights within --mu of an equal share
    Bounded,
    /// No weights: every session has an equal share
    Plain,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// A folder of titles: DASH or HLS, with the quality tables of `airlane pack`
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Address to listen on, over UDP and TCP; a name stands for all its addresses, none for all of
    /// this machine's; may be repeated
    #[arg(long, value_name = "ADDR:PORT", default_value = "localhost:4433")]
    listen: Vec<String>,
    /// The server's certificates in PEM, its own first; repeated with --key, one for each name that
    /// clients ask for, the first for all others [default: one for development]
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Vec<PathBuf>,
    /// Its private key in PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Vec<PathBuf>,
    /// Policy by which links are shared
    #[arg(long, value_enum, value_name = "NAME", default_value = "max-min")]
    policy: PolicyName,
    /// The bound of --policy bounded: weights from 1/MU to MU of an equal share
    #[arg(long, value_name = "MU", default_value = "1.5", value_parser = mu)]
    mu: f64,
    /// File of `airlane corpus normalise`, which puts the quality of titles on one scale, for titles
    /// whose names begin with PREFIX, the longest that fits; may be repeated [default: computed at
    /// the start for all other titles]
    #[arg(long, value_name = "[PREFIX=]FILE")]
    normalise: Vec<String>,
    /// Share of the sessions that are weighted; the others get an equal share, for comparison
    #[arg(long = "experiment-share", alias = "ab", value_name = "SHARE", value_parser = share_of_one)]
    ab: Option<f64>,
    /// Mean weight of a viewer against other traffic, in flows of Cubic (RFC 9438): 2 makes it as
    /// strong as two downloads
    #[arg(long, value_name = "N", default_value = "1", value_parser = baseline)]
    baseline: f64,
    /// Obey the rates that viewers on a WiFi measure and report (Cupid), times their weights; others
    /// are served as without it
    #[arg(long)]
    cupid: bool,
    /// Factor on every weight [default: 1.065 per connection of --baseline, or the file's]
    #[arg(long, value_name = "ALPHA", value_parser = positive_number)]
    alpha: Option<f64>,
    /// The bitrate algorithm of players that name none
    #[arg(long, value_name = "NAME", default_value = "bola")]
    abr: AbrKind,
    /// Quality metric of players that name none: vmaf, vmaf_phone, vmaf_4k, psnr_db or ssim
    /// [default: VMAF where it was measured]
    #[arg(long, value_name = "METRIC", value_parser = metric)]
    metric: Option<Metric>,
    /// Seconds of video that players hold at most
    #[arg(long, value_name = "S", default_value = "30", value_parser = positive_number)]
    player_buffer: f64,
    /// Append a line of JSON per answer to this file
    #[arg(long, value_name = "FILE")]
    access_log: Option<PathBuf>,
    /// Address at which operators see all sessions, titles and /metrics, over plain HTTP; a
    /// port alone is this machine's; none: nowhere [default: 127.0.0.1, the port after that of
    /// --listen]
    #[arg(long, value_name = "ADDR:PORT")]
    admin: Option<String>,
    /// Publish the list of titles without authentication; the player's page then shows it
    #[arg(long)]
    list_titles: bool,
    /// Serve only URLs that `airlane sign` has signed with this key
    #[arg(long, value_name = "FILE", conflicts_with = "list_titles")]
    sign_key: Option<PathBuf>,
    /// Let pages of this origin have the player in a frame; may be repeated
    #[arg(long, value_name = "ORIGIN", value_parser = origin)]
    frame: Vec<String>,
    /// Let the player's page play manifests and media of other servers (?mpd=, ?media=)
    #[arg(long)]
    foreign_manifests: bool,
    /// Seconds that a stop waits for answers on their way
    #[arg(long, value_name = "S", default_value = "10", value_parser = positive_number)]
    drain: f64,
    /// Connections at most, over QUIC and over TCP each
    #[arg(long, value_name = "N", default_value = "10000", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    connections: u32,
    /// Connections of one IPv4 address or IPv6 /64 at most, over QUIC and over TCP each
    #[arg(long, value_name = "N", default_value = "1000", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    connections_per_address: u32,
    /// Requests per second of one connection, which may make five times as many at once
    #[arg(long, value_name = "N", default_value = "1000", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    request_rate: u32,
    /// Write connection events into this folder, a qlog file per connection
    #[arg(long, value_name = "DIR")]
    qlog: Option<PathBuf>,
    /// Append TLS secrets to this file, for Wireshark
    #[arg(long, value_name = "FILE")]
    keylog: Option<PathBuf>,
    /// Print nothing but the line that says where it serves, and errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SignArgs {
    /// Paths of URLs: a folder, which ends in a slash, or a file, whose folder is then allowed
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<String>,
    /// File of the secret that `airlane serve --sign-key` has: 32 bytes or more, readable by its
    /// owner alone (openssl rand 32)
    #[arg(long, value_name = "FILE")]
    pub(crate) sign_key: PathBuf,
    /// Time for which the addresses are good
    #[arg(long = "for", value_name = "TIME", default_value = "6h", value_parser = humantime::parse_duration)]
    pub(crate) good_for: Duration,
}

impl ServeArgs {
    /// Configuration of the daemon.
    ///
    /// # Errors
    /// If a name has no address.
    pub(crate) fn request(&self) -> Result<ServerConfig, InputError> {
        let mut listen = Vec::new();
        for text in &self.listen {
            for address in listen_addresses(text, "--listen")? {
                if !listen.contains(&address) {
                    listen.push(address);
                }
            }
        }
        let normalisation = |text: &String| match text.split_once('=') {
            Some((prefix, file)) => (prefix.to_owned(), PathBuf::from(file)),
            None => (String::new(), PathBuf::from(text)),
        };
        Ok(ServerConfig {
            certificates: self.certificates()?,
            sharing: match self.policy {
                PolicyName::MaxMin => Sharing::MaxMin,
                PolicyName::Proportional => Sharing::Proportional,
                PolicyName::Bounded => Sharing::Bounded(self.mu),
                PolicyName::Plain => Sharing::Plain,
            },
            normalisations: self.normalise.iter().map(normalisation).collect(),
            split: self.ab,
            baseline: self.baseline,
            takes_reports: self.cupid,
            alpha: self.alpha,
            abr: self.abr,
            metric: self.metric,
            player_buffer: Duration::from_secs_f64(self.player_buffer),
            admin: self.admin()?,
            list_titles: self.list_titles,
            sign_key: self.sign_key.clone(),
            frames: self.frame.clone(),
            foreign_manifests: self.foreign_manifests,
            access_log: self.access_log.clone(),
            drain: Duration::from_secs_f64(self.drain),
            connections: self.connections as usize,
            connections_per_address: self.connections_per_address as usize,
            requests_per_s: self.request_rate,
            qlog: self.qlog.clone(),
            keylog: self.keylog.clone(),
            ..ServerConfig::new(&self.folder, listen)
        })
    }
}

impl ServeArgs {
    /// Addresses at which operators are answered.
    fn admin(&self) -> Result<Admin, InputError> {
        let Some(text) = self.admin.as_deref() else { return Ok(Admin::Loopback) };
        if text == "none" {
            return Ok(Admin::Off);
        }
        if let Ok(port) = text.parse::<u16>() {
            let addresses = vec![SocketAddr::from((Ipv4Addr::LOCALHOST, port))];
            return Ok(Admin::At { addresses, names: Vec::new() });
        }
        let addresses = listen_addresses(text, "--admin")?;
        let host = text.rsplit_once(':').map_or("", |(host, _)| host);
        let names = Some(host.to_owned()).filter(|h| !h.is_empty()).into_iter().collect();
        Ok(Admin::At { addresses, names })
    }

    /// The certificates, each with its key.
    fn certificates(&self) -> Result<Vec<CertificateFiles>, InputError> {
        let (chains, keys) = (self.cert.len(), self.key.len());
        if chains != keys {
            let found = format!("{chains} --cert and {keys} --key");
            return Err(InputError::new(found, "expected a --key FILE for each --cert FILE"));
        }
        let pairs = self.cert.iter().cloned().zip(self.key.iter().cloned());
        Ok(pairs.map(|(chain, key)| CertificateFiles { chain, key }).collect())
    }
}

/// The origin of pages (RFC 6454).
fn origin(text: &str) -> Result<String, String> {
    let expected = || "expected an origin, such as https://example.org:8443".to_owned();
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let host = host.ok_or_else(expected)?;
    let is_part = |b: u8| b.is_ascii_alphanumeric() || b"-.:[]*".contains(&b);
    if host.is_empty() || !host.bytes().all(is_part) { Err(expected()) } else { Ok(text.into()) }
}

fn mu(text: &str) -> Result<f64, String> {
    number(text, 1.0, 10.0)
}

fn baseline(text: &str) -> Result<f64, String> {
    number(text, 0.25, 100.0)
}
