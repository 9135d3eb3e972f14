//! The options of `airlane play`.

use std::path::PathBuf;
use std::time::Duration;

use airlane_abr::AbrKind;
use airlane_cupid_agent::AirInterface;
use airlane_http_client::Speak;
use airlane_media::Metric;
use airlane_origin_daemon::play::PlayRequest;
use clap::{Args, ValueEnum};

use super::{metric, number, positive_number};

/// The version of HTTP to speak.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum HttpVersion {
    /// HTTP/3 where the server has it, else what it offers over TCP
    Best,
    /// HTTP/3 alone
    #[value(name = "3")]
    Three,
    /// HTTP/2 or 1.1 over TCP
    #[value(name = "2")]
    Two,
    /// HTTP/1.1 alone
    #[value(name = "1")]
    One,
}

#[derive(Debug, Args)]
pub(crate) struct PlayArgs {
    /// DASH manifests; sessions take them in turn
    #[arg(value_name = "URL", required = true)]
    urls: Vec<String>,
    /// Number of sessions to play [default: one per URL]
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    sessions: Option<u32>,
    /// Seconds between the beginnings of sessions
    #[arg(long, value_name = "S", default_value = "0", value_parser = seconds)]
    stagger: f64,
    /// The bitrate algorithm
    #[arg(long, value_name = "NAME", default_value = "robust-mpc")]
    abr: AbrKind,
    /// Seconds of video to hold at most
    #[arg(long, value_name = "S", default_value = "30", value_parser = positive_number)]
    buffer: f64,
    /// Seconds between a response and the next request
    #[arg(long, value_name = "S", default_value = "0", value_parser = seconds)]
    pause: f64,
    /// Stop after so many seconds [default: at the end of the titles]
    #[arg(long, value_name = "S", value_parser = positive_number)]
    duration: Option<f64>,
    /// The version of HTTP
    #[arg(long, value_enum, value_name = "VERSION", default_value = "best")]
    http: HttpVersion,
    /// Accept certificates that no trusted authority signed, such as those for development: anybody
    /// on the path can then pose as the server
    #[arg(long)]
    insecure: bool,
    /// Quality metric: vmaf, vmaf_phone, vmaf_4k, psnr_db or ssim [default: VMAF where the title
    /// has it]
    #[arg(long, value_name = "METRIC", value_parser = metric)]
    metric: Option<Metric>,
    /// Do not send CMCD (CTA-5004)
    #[arg(long)]
    no_cmcd: bool,
    /// Estimate the airtime-fair rate of this station from the frames that the monitor interface IFACE
    /// captures, and report it to the server (Cupid). MAC is the station's address in its BSS
    /// [default: that of IFACE]
    #[arg(long = "monitor", alias = "air", value_name = "IFACE[,MAC]")]
    air: Option<AirInterface>,
    /// Write every segment of every session into this file, as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) dump: Option<PathBuf>,
    /// Print nothing but the sessions' lines and errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl PlayArgs {
    /// Request to the players.
    pub(crate) fn request(&self) -> PlayRequest {
        PlayRequest {
            urls: self.urls.clone(),
            sessions: self.sessions.map_or(self.urls.len(), |n| n as usize),
            stagger: Duration::from_secs_f64(self.stagger),
            abr: self.abr,
            buffer: Duration::from_secs_f64(self.buffer),
            pause: Duration::from_secs_f64(self.pause),
            duration: self.duration.map(Duration::from_secs_f64),
            speak: match self.http {
                HttpVersion::Best => Speak::Best,
                HttpVersion::Three => Speak::Http3,
                HttpVersion::Two => Speak::Tcp,
                HttpVersion::One => Speak::Http1,
            },
            insecure: self.insecure,
            metric: self.metric,
            silent: self.no_cmcd,
            air: self.air.clone(),
        }
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    number(text, 0.0, 1e6)
}
