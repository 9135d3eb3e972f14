//! The options of `airlane send`, `airlane recv` and `airlane relay`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use airlane_apps::live::{LayerMarks, Video};
use airlane_base::{InputError, Rate, Seed};
use airlane_daemon::folders;
use airlane_daemon::live::{RecvRequest, SendRequest};
use airlane_link::{LinkError, LinkSpec, Mode, Request, UdpSpec};
use airlane_media::layers::LayerContent;
use clap::{Args, ValueEnum};

use super::link::{Addresses, addresses};
use super::{number, positive_number};

/// Which encodings of a clip are sent.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Encodings {
    /// Three layers of quality, at a rate that follows the path's
    Quality,
    /// Three temporal layers, at one quality
    FrameRate,
    /// Point clouds in cells of five layers each
    Volumetric,
}

#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    /// The clip, one of those that come with Airlane or of --content
    #[arg(value_name = "CLIP", default_value = "plaza")]
    clip: String,
    /// Where to listen
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:4435")]
    listen: SocketAddr,
    /// Take clips from the tables of layers in this folder (docs/layer-tables.md)
    #[arg(long, value_name = "DIR")]
    content: Option<PathBuf>,
    /// Which of its encodings
    #[arg(long, value_enum, value_name = "LAYERS", default_value = "quality")]
    video: Encodings,
    /// Mark nothing: no queue drops a message on purpose, nor does this end
    #[arg(long)]
    no_marks: bool,
    /// A certificate chain in PEM [default: one for development]
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// Its key in PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// Viewers at a time at most
    #[arg(long, value_name = "N", default_value = "16", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    viewers: u16,
    /// Print nothing but the ready line and errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl SendArgs {
    /// What to send.
    ///
    /// # Errors
    /// If there is no such clip, or a folder cannot be read.
    pub(crate) fn request(&self) -> Result<SendRequest, InputError> {
        let clips = match &self.content {
            Some(folder) => LayerContent::load_dir(folder)?,
            None => LayerContent::embedded()?,
        };
        let names: Vec<&str> = clips.videos.iter().map(|clip| clip.name.as_str()).collect();
        let found = clips.find(&self.clip).ok_or_else(|| {
            let found = format!("no clip \"{}\" in {}", self.clip, clips.name);
            InputError::new(found, format!("expected one of {}", names.join(", ")))
        })?;
        Ok(SendRequest {
            listen: self.listen,
            clip: Arc::clone(&clips.videos[found]),
            video: match self.video {
                Encodings::Quality => Video::Quality,
                Encodings::FrameRate => Video::FrameRate,
                Encodings::Volumetric => Video::Volumetric,
            },
            marks: if self.no_marks { LayerMarks::NONE } else { LayerMarks::PAPER },
            identity: self.cert.clone().zip(self.key.clone()),
            data_folder: folders::data(),
            viewers: usize::from(self.viewers),
        })
    }
}

#[derive(Debug, Args)]
pub(crate) struct RecvArgs {
    /// The sender, or a relay in front of it
    #[arg(value_name = "HOST:PORT", default_value = "127.0.0.1:4435")]
    server: String,
    /// Stop after so many seconds [default: when the sender does]
    #[arg(long, value_name = "S", value_parser = positive_number)]
    duration: Option<f64>,
    /// Accept certificates that no trusted authority signed, such as those for development
    #[arg(long)]
    insecure: bool,
    /// Print every second and the report as lines of JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print nothing but the report and errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl RecvArgs {
    /// Whom to watch.
    pub(crate) fn request(&self) -> RecvRequest {
        RecvRequest {
            server: self.server.clone(),
            insecure: self.insecure,
            duration: self.duration.map(Duration::from_secs_f64),
        }
    }
}

/// The queue of a relay.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Discipline {
    /// Messages are dropped as their application said
    Octopus,
    /// First in, first out
    Droptail,
    /// CoDel
    Codel,
    /// FQ-CoDel
    FqCodel,
    /// Where it is full, messages that matter less make room
    PriorityDrop,
}

#[derive(Debug, Args)]
pub(crate) struct RelayArgs {
    /// Where viewers send to; port 0 for any that is free
    #[arg(value_name = "LISTEN", value_parser = addresses)]
    listen: Addresses,
    /// The sender that it stands in front of
    #[arg(value_name = "TARGET", value_parser = addresses)]
    target: Addresses,
    /// What the way to the viewers carries, bits per second
    #[arg(long, value_name = "BPS", value_parser = rate, required_unless_present = "trace")]
    rate: Option<f64>,
    /// What it carries, over time: a recorded trace (docs/link.md)
    #[arg(long, value_name = "FILE", conflicts_with = "rate")]
    trace: Option<PathBuf>,
    /// Seconds that packets take there and back besides
    #[arg(long, value_name = "S", default_value = "0.06", value_parser = seconds)]
    rtt: f64,
    /// The queue in front of it
    #[arg(long, value_enum, value_name = "QUEUE", default_value = "octopus")]
    queue: Discipline,
    /// Packets that it holds at most
    #[arg(long, value_name = "N", default_value = "250", value_parser = clap::value_parser!(u32).range(1..))]
    packets: u32,
    /// What everything random is drawn from
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// Ask for real-time priority for the relay's thread
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(1..=99))]
    realtime: Option<u8>,
    /// Seconds between lines of figures
    #[arg(long, value_name = "S", default_value = "1", value_parser = positive_number)]
    every: f64,
    /// Print nothing but the ready line, the final line and errors
    #[arg(long, short)]
    quiet: bool,
}

impl RelayArgs {
    /// The link that it is.
    ///
    /// # Errors
    /// What is wrong with the trace or a value.
    pub(crate) fn request(&self) -> Result<Request, LinkError> {
        let queue = self.queue.to_possible_value();
        let queue = queue.as_ref().map_or("octopus", |value| value.get_name());
        let both = format!("rtt_s={}", self.rtt);
        let mut down = vec![
            both.clone(),
            format!("queue.kind={queue}"),
            format!("queue.limit_packets={}", self.packets),
        ];
        down.push(match (&self.trace, self.rate) {
            (Some(file), _) => format!("trace={}", file.display()),
            (None, rate) => {
                format!("rate_bps={}", Rate::from_bps_f64(rate.unwrap_or_default()).bps())
            }
        });
        let up = [both, "rate_bps=1000000000".to_owned()];
        let link = LinkSpec::from_settings(&up, &down, Seed(self.seed))?;
        let mode = Mode::Udp(UdpSpec::new(self.listen.0.iter().copied(), self.target.0[0]));
        Ok(Request { link, mode, realtime: self.realtime })
    }

    /// How long a line of figures counts for; `None`: none are wanted.
    pub(crate) fn interval(&self) -> Option<Duration> {
        (!self.quiet).then(|| Duration::from_secs_f64(self.every))
    }
}

/// Bits per second.
fn rate(text: &str) -> Result<f64, String> {
    number(text, 1e3, 1e11)
}

/// A span that may be nothing.
fn seconds(text: &str) -> Result<f64, String> {
    number(text, 0.0, 1e6)
}
