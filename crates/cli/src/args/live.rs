//! The options of `airlane send`, `airlane recv` and `airlane relay`.

use std::io::Read;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{InputError, Rate, Seed};
use airlane_certificate::CertificateFiles;
use airlane_host::dirs;
use airlane_link::{LinkConfig, LinkError, LinkSpec, Mode, UdpSpec};
use airlane_live::{LayerMarks, Source, Video};
use airlane_live_daemon::DaemonError;
use airlane_live_daemon::{
    ReadFrom, ReceiverConfig, SenderConfig, SentVideo, VideoInput, VpxEncoders, WriteTo,
};
use airlane_media::layers::{LayerContent, Packed};
use airlane_media::y4m;
use airlane_vpx::Library;
use clap::{Args, ValueEnum};

use super::link::{Addresses, addresses};
use super::{number, positive_number};

/// Viewers at a time unless others are asked for; an encoder takes a good part of a core for each.
const VIEWERS: u16 = 16;
const LIVE_VIEWERS: u16 = 4;
/// The ending of raw video in a file.
const Y4M: &str = ".y4m";

/// Encodings of a clip, one of which is sent.
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
    /// FILE.layers, raw video (FILE.y4m, a named pipe, -), or a clip of ours or of --content
    #[arg(value_name = "FILE|-|CLIP", default_value = "plaza")]
    clip: String,
    /// Address to listen on
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:4435")]
    listen: SocketAddr,
    /// Take clips from the tables of layers in this folder (docs/reference/layer-tables.md)
    #[arg(long, value_name = "DIR")]
    content: Option<PathBuf>,
    /// Encoding of the clip
    #[arg(long, value_enum, value_name = "LAYERS", default_value = "quality")]
    video: Encodings,
    /// Send without marks: no queue drops a message on purpose, nor does this end
    #[arg(long)]
    no_marks: bool,
    /// A certificate chain in PEM [default: one for development]
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// Its key in PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// Viewers at a time at most [default: 16; of raw video 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    viewers: Option<u16>,
    /// The libvpx that encodes raw video [default: the system's]
    #[arg(long, value_name = "FILE")]
    libvpx: Option<PathBuf>,
    /// Print the line `ready` and errors alone
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl SendArgs {
    /// Configuration of the sender, once the header of raw video has come.
    ///
    /// # Errors
    /// If there is no such clip, a file or folder cannot be read, or there is no libvpx for raw video.
    pub(crate) async fn request(&self) -> Result<SenderConfig, DaemonError> {
        let (video, viewers) = match self.raw()? {
            Some(from) => (self.live(&from).await?, LIVE_VIEWERS),
            None => (self.clip()?, VIEWERS),
        };
        Ok(SenderConfig {
            listen: self.listen,
            video,
            marks: if self.no_marks { LayerMarks::NONE } else { LayerMarks::PAPER },
            identity: self
                .cert
                .clone()
                .zip(self.key.clone())
                .map(|(chain, key)| CertificateFiles { chain, key }),
            data_folder: dirs::data(),
            viewers: usize::from(self.viewers.unwrap_or(viewers)),
        })
    }

    /// Source of raw video, if that is what is sent.
    fn raw(&self) -> Result<Option<ReadFrom>, InputError> {
        if self.clip == "-" {
            return Ok(Some(ReadFrom::Stdin));
        }
        let is_raw = match std::fs::metadata(&self.clip) {
            // A clip may have the name of a folder that happens to be there.
            Ok(data) if data.is_dir() => false,
            // What cannot be read twice is no packed video.
            Ok(data) if !data.is_file() => true,
            Ok(_) => self.clip.ends_with(Y4M) || (self.names_a_file() && is_y4m(&self.clip)?),
            Err(_) => self.clip.ends_with(Y4M),
        };
        Ok(is_raw.then(|| ReadFrom::File(self.clip.clone().into())))
    }

    async fn live(&self, from: &ReadFrom) -> Result<SentVideo, DaemonError> {
        if !matches!(self.video, Encodings::Quality) {
            let found = "raw video is encoded in layers of quality alone";
            return Err(InputError::new(found, "expected quality").at_key("video").into());
        }
        // Without it there is no use in waiting for the header.
        let library = Arc::new(Library::open(self.libvpx.as_deref())?);
        let input = VideoInput::open(from).await?;
        Ok(SentVideo::Live { input, encoders: Arc::new(VpxEncoders::new(library)) })
    }

    fn names_a_file(&self) -> bool {
        self.clip.ends_with(".layers") || self.clip.contains('/')
    }

    /// Clip to send: a file by its ending or its folder, else a clip by its name.
    fn clip(&self) -> Result<SentVideo, InputError> {
        let video = match self.video {
            Encodings::Quality => Video::Quality,
            Encodings::FrameRate => Video::FrameRate,
            Encodings::Volumetric => Video::Volumetric,
        };
        if self.names_a_file() {
            let packed = Packed::open(&self.clip)?;
            let clip = Arc::new(packed.video().clone());
            return Ok(SentVideo::Clip { clip, source: Source::Packed(Arc::new(packed)), video });
        }
        let clips = match &self.content {
            Some(folder) => LayerContent::load_dir(folder)?,
            None => LayerContent::embedded()?,
        };
        let names: Vec<&str> = clips.videos.iter().map(|clip| clip.name.as_str()).collect();
        let found = clips.find(&self.clip).ok_or_else(|| {
            let found = format!("no clip \"{}\" in {}", self.clip, clips.name);
            let names = names.join(", ");
            InputError::new(found, format!("expected one of {names}, FILE.layers, FILE.y4m or -"))
        })?;
        let clip = Arc::clone(&clips.videos[found]);
        Ok(SentVideo::Clip { clip, source: Source::Pattern, video })
    }
}

/// True if a file begins as raw video does, whatever its name.
fn is_y4m(file: &str) -> Result<bool, InputError> {
    let mut first = [0; y4m::MAGIC.len()];
    let read = std::fs::File::open(file).and_then(|mut file| file.read_exact(&mut first));
    match read {
        Ok(()) => Ok(first == y4m::MAGIC),
        // It is too short for either: the reader of packed videos says so.
        Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
        Err(e) => Err(InputError::io(file, "read the video", &e)),
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
    /// Accept certificates that no trusted authority signed, such as those for development: anybody
    /// on the path can then pose as the server
    #[arg(long)]
    insecure: bool,
    /// Write what could be shown, as IVF for players; - for the standard output
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Write when which frame could be decoded up to which layer, as CSV
    #[arg(long, value_name = "FILE")]
    times: Option<PathBuf>,
    /// Print every second and the report as lines of JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print nothing but the report and errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl RecvArgs {
    /// Whom to watch.
    pub(crate) fn request(&self) -> ReceiverConfig {
        ReceiverConfig {
            server: self.server.clone(),
            insecure: self.insecure,
            duration: self.duration.map(Duration::from_secs_f64),
            write: self.write.clone().map(|to| match to.as_os_str() == "-" {
                true => WriteTo::Stdout,
                false => WriteTo::File(to),
            }),
            times: self.times.clone(),
        }
    }

    /// True if pictures go to the standard output, so that figures cannot.
    pub(crate) fn writes_to_stdout(&self) -> bool {
        self.write.as_ref().is_some_and(|to| to.as_os_str() == "-")
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
    /// First in, first out, but messages that matter less make room when it is full
    PriorityDrop,
}

#[derive(Debug, Args)]
pub(crate) struct RelayArgs {
    /// Address that viewers send to; port 0 for any that is free
    #[arg(value_name = "LISTEN", value_parser = addresses)]
    listen: Addresses,
    /// The sender that it stands in front of
    #[arg(value_name = "TARGET", value_parser = addresses)]
    target: Addresses,
    /// Rate of the path to the viewers, bits per second
    #[arg(long, value_name = "BPS", value_parser = rate, required_unless_present_any = ["trace", "generator"])]
    rate: Option<f64>,
    /// Rate over time: a recorded trace (docs/guide/link.md)
    #[arg(long, value_name = "FILE", conflicts_with = "rate")]
    trace: Option<PathBuf>,
    /// Rate over time: a generated trace of this kind (docs/reference/traces.md)
    #[arg(long, value_name = "NAME", conflicts_with_all = ["rate", "trace"])]
    generator: Option<String>,
    /// Seconds into the trace at which it begins
    #[arg(long, value_name = "S", default_value = "0", value_parser = seconds, requires = "trace")]
    trace_offset: f64,
    /// Round-trip propagation delay in seconds, half of it each way, beside the time in the queue
    #[arg(long, value_name = "S", default_value = "0.06", value_parser = seconds)]
    rtt: f64,
    /// The queue in front of it
    #[arg(long, value_enum, value_name = "QUEUE", default_value = "octopus")]
    queue: Discipline,
    /// Packets that it holds at most
    #[arg(long, value_name = "N", default_value = "250", value_parser = clap::value_parser!(u32).range(1..))]
    packets: u32,
    /// Let Octopus's queue also drop frames of calls, which are marked as PDU Sets (3GPP TS 26.522)
    /// by the RTP header extension of this identifier: the one that the conference server takes
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(u8).range(1..))]
    pdu_set_id: Option<u8>,
    /// Seconds that such a frame waits before it is dropped for a newer one
    #[arg(long, value_name = "S", default_value = "0", value_parser = slack)]
    pdu_set_slack: f64,
    /// Seed of generated traces, losses and jitter
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// Ask for real-time priority for the relay's thread
    #[arg(long, value_name = "PRIORITY", value_parser = clap::value_parser!(u8).range(1..=99))]
    realtime: Option<u8>,
    /// Seconds between lines of metrics
    #[arg(long = "interval", alias = "every", value_name = "S", default_value = "1", value_parser = positive_number)]
    every: f64,
    /// Print the line `ready`, the final line and errors alone
    #[arg(long, short)]
    quiet: bool,
}

impl RelayArgs {
    /// The link that it is.
    ///
    /// # Errors
    /// What is wrong with the trace or a value.
    pub(crate) fn request(&self) -> Result<LinkConfig, LinkError> {
        let queue = self.queue.to_possible_value();
        let queue = queue.as_ref().map_or("octopus", |value| value.get_name());
        let both = format!("rtt_s={}", self.rtt);
        let mut down = vec![
            both.clone(),
            format!("queue.kind={queue}"),
            format!("queue.limit_packets={}", self.packets),
        ];
        if let Some(id) = self.pdu_set_id {
            down.push(format!("queue.pdu_set_id={id}"));
            down.push(format!("queue.pdu_set_slack_s={}", self.pdu_set_slack));
        }
        match (&self.trace, &self.generator) {
            (None, Some(name)) => down.push(format!("generator={name}")),
            (Some(file), _) => down.extend([
                format!("trace={}", file.display()),
                format!("trace_offset_s={}", self.trace_offset),
            ]),
            (None, None) => {
                let rate = Rate::from_bps_f64(self.rate.unwrap_or_default());
                down.push(format!("rate_bps={}", rate.bps()));
            }
        }
        let up = [both, "rate_bps=1000000000".to_owned()];
        let link = LinkSpec::from_settings(&up, &down, Seed(self.seed))?;
        let mode = Mode::Udp(UdpSpec::new(self.listen.0.iter().copied(), self.target.0[0]));
        Ok(LinkConfig { link, mode, realtime: self.realtime })
    }

    /// Interval of the lines of figures; `None`: none are wanted.
    pub(crate) fn interval(&self) -> Option<Duration> {
        (!self.quiet).then(|| Duration::from_secs_f64(self.every))
    }
}

/// Bits per second.
fn rate(text: &str) -> Result<f64, String> {
    number(text, 1e3, 1e11)
}

/// A time that a frame waits in a queue: as long as Octopus counts.
fn slack(text: &str) -> Result<f64, String> {
    number(text, 0.0, 0.511)
}

/// A span that may be nothing.
fn seconds(text: &str) -> Result<f64, String> {
    number(text, 0.0, 1e6)
}
