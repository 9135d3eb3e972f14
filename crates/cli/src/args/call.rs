//! The options of `airlane call`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use airlane_base::InputError;
use airlane_call_daemon::{CallLimits, CallServerConfig, CertificateFiles, VideoCodec};
use clap::{Args, Subcommand, ValueEnum};

use super::addresses::listen_addresses;

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    #[command(subcommand)]
    pub(crate) verb: CallVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CallVerb {
    /// Serve calls: browsers join a room by its link, other programs by WHIP and WHEP
    Serve(CallServeArgs),
}

/// Codec of video.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum CodecName {
    /// AV1 in layers
    Av1,
    /// VP9 in layers
    Vp9,
    /// VP8 in two encodings
    Vp8,
}

/// Switch of a part.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Switch {
    /// It is done
    On,
    /// It is not done
    Off,
}

impl CodecName {
    fn codec(self) -> VideoCodec {
        match self {
            Self::Av1 => VideoCodec::Av1,
            Self::Vp9 => VideoCodec::Vp9,
            Self::Vp8 => VideoCodec::Vp8,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct CallServeArgs {
    /// Address to listen on: over TCP for pages and signalling (HTTPS), over UDP, with the same
    /// number, for all media of all calls; a name stands for all its addresses, none for all of this
    /// machine's; may be repeated, and media is at the first
    #[arg(long, value_name = "ADDR:PORT", default_value = "localhost:4460")]
    listen: Vec<String>,
    /// Address to listen on without TLS, for this machine's own browsers or behind a proxy that has
    /// the certificate: cameras work on pages of http://localhost and of https alone; may be repeated
    #[arg(long, value_name = "ADDR:PORT")]
    http: Vec<String>,
    /// Address, and port if it is another, at which clients reach the UDP port of --listen, such as
    /// that of a router in front of this machine; may be repeated [default: those of this machine]
    #[arg(long, value_name = "ADDR[:PORT]", value_parser = announced)]
    announce: Vec<SocketAddr>,
    /// The server's certificates in PEM, its own first [default: one for development]
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// Its private key in PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// Codec of video that browsers are asked to send; one that cannot sends the next one it has
    #[arg(long, value_enum, value_name = "CODEC", default_value = "av1")]
    codec: CodecName,
    /// Participants of a room at most
    #[arg(long, value_name = "N", default_value = "12", value_parser = clap::value_parser!(u32).range(2..=50))]
    max_participants: u32,
    /// Participants of all rooms together at most
    #[arg(long, value_name = "N", default_value = "400", value_parser = clap::value_parser!(u32).range(2..=10_000))]
    max_total_participants: u32,
    /// Rooms at most; a room is there while somebody is in it
    #[arg(long, value_name = "N", default_value = "200", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    max_rooms: u32,
    /// Bitrate that a participant sends at most, and receives at most, in kbit/s
    #[arg(long, value_name = "KBPS", default_value = "6000", value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    max_bitrate: u32,
    /// Coordinate what participants send and receive on channels whose two directions share the air,
    /// as Plum does; off: each direction takes what its congestion control finds
    #[arg(long, value_enum, value_name = "SWITCH", default_value = "on")]
    plum: Switch,
    /// Offers to join that one IPv4 address or IPv6 /64 may make in a minute
    #[arg(long, value_name = "N", default_value = "60", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    max_offers: u32,
    /// Print nothing but the line that says where it serves, and errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl CallServeArgs {
    /// Configuration of the server.
    ///
    /// # Errors
    /// If a name has no address.
    pub(crate) fn request(&self) -> Result<CallServerConfig, InputError> {
        let certificate = match (&self.cert, &self.key) {
            (Some(chain), Some(key)) => {
                Some(CertificateFiles { chain: chain.clone(), key: key.clone() })
            }
            _ => None,
        };
        Ok(CallServerConfig {
            http: all_addresses(&self.http, "--http")?,
            announce: self.announce.clone(),
            certificate,
            codec: self.codec.codec(),
            limits: CallLimits {
                max_participants: self.max_participants as usize,
                max_total_participants: self.max_total_participants as usize,
                max_rooms: self.max_rooms as usize,
                max_offers_per_minute: self.max_offers,
                max_bitrate_bps: u64::from(self.max_bitrate) * 1000,
                is_coordinated: matches!(self.plum, Switch::On),
                ..CallLimits::default()
            },
            ..CallServerConfig::new(all_addresses(&self.listen, "--listen")?)
        })
    }
}

fn all_addresses(texts: &[String], key: &str) -> Result<Vec<SocketAddr>, InputError> {
    let mut all = Vec::new();
    for text in texts {
        for address in listen_addresses(text, key)? {
            if !all.contains(&address) {
                all.push(address);
            }
        }
    }
    Ok(all)
}

/// An address, with port 0 if it has none.
fn announced(text: &str) -> Result<SocketAddr, String> {
    let address = text.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, 0));
    let address = address.or_else(|_| text.parse::<SocketAddr>());
    let is_usable = |at: &SocketAddr| !at.ip().is_unspecified() && !at.ip().is_multicast();
    address.ok().filter(is_usable).ok_or_else(|| {
        "expected an address that clients reach, such as 203.0.113.5 or 203.0.113.5:4460".to_owned()
    })
}
