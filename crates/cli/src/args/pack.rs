//! The options of `airlane pack`.

use std::path::PathBuf;
use std::time::Duration;

use airlane_base::Rate;
use airlane_pack::{Codec, Ladder, LayeredRequest, MeasureRequest, PackRequest, Speed, parse_rate};
use clap::Args;

use super::{number, one_of};

#[derive(Debug, Args)]
pub(crate) struct PackArgs {
    /// The video, any file that ffmpeg reads
    #[arg(value_name = "VIDEO", required_unless_present = "measure")]
    video: Option<PathBuf>,
    /// The folder that the title is made in; of --layered the file [default: NAME.layers]
    #[arg(value_name = "DIR", required_unless_present_any = ["measure", "layered"])]
    dir: Option<PathBuf>,
    /// Make a packed layered video for airlane send instead of a title
    #[arg(long, conflicts_with_all = TITLE)]
    layered: bool,
    /// Its rates, all layers together, such as 1M,2.5M,6M [default: ten, by the source]
    #[arg(long, value_name = "RATES", requires = "layered", value_delimiter = ',', value_parser = parse_rate)]
    rates: Vec<Rate>,
    /// The libvpx to use for it [default: the system's]
    #[arg(long, value_name = "FILE", requires = "layered")]
    libvpx: Option<PathBuf>,
    /// Measure the DASH title of this manifest, which exists already, instead of making one
    #[arg(long, value_name = "MPD", requires = "source", conflicts_with_all = MAKING)]
    measure: Option<PathBuf>,
    /// Video that the title of --measure was made from
    #[arg(long, value_name = "VIDEO", requires = "measure")]
    source: Option<PathBuf>,
    /// Video codec: h264, vp9 or av1
    #[arg(long, value_name = "NAME", default_value = "h264", value_parser = codec)]
    codec: Codec,
    /// Rungs by height and rate, such as 360p:800k,720p:2.5M [default: by the source]
    #[arg(long, value_name = "RUNGS", value_parser = rungs)]
    rungs: Option<Ladder>,
    /// Seconds per segment, rounded to whole frames
    #[arg(long = "segment", alias = "chunk", value_name = "S", default_value = "4", value_parser = chunk)]
    chunk: f64,
    /// Speed of encoding: fast, normal or slow
    #[arg(long, value_name = "SPEED", default_value = "normal", value_parser = speed)]
    speed: Speed,
    /// Bitrate of stereo audio in bits/s; mono gets half of it
    #[arg(long, value_name = "BPS", default_value = "128000", value_parser = audio_rate)]
    audio_rate: f64,
    /// Measure VMAF on every N-th frame
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=100))]
    vmaf_every: u32,
    /// Short name of the title, for players and tables [default: that of the file without its
    /// ending; with --measure that of the manifest's folder]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Title for people [default: the name of the file]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// The ffmpeg to use [default: the one on the path]
    #[arg(long, value_name = "FILE")]
    ffmpeg: Option<PathBuf>,
    /// Throw away what an earlier run of another request left in the folder; replace the file
    #[arg(long = "overwrite", alias = "restart")]
    restart: bool,
    /// Print nothing but the final line and errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Options that have no meaning for a title that exists.
const MAKING: [&str; 10] = [
    "video",
    "dir",
    "layered",
    "codec",
    "rungs",
    "chunk",
    "speed",
    "audio_rate",
    "title",
    "restart",
];

/// Options that have a meaning for titles alone.
const TITLE: [&str; 7] =
    ["measure", "source", "codec", "rungs", "chunk", "audio_rate", "vmaf_every"];

/// The request to the crate.
pub(crate) enum Work {
    Pack(PackRequest),
    Measure(MeasureRequest),
    Layered(LayeredRequest),
}

impl PackArgs {
    /// Work that is to be done. The parser holds that a manifest comes with a source, and a video
    /// with a folder.
    pub(crate) fn work(self) -> Work {
        if let Some((manifest, source)) = self.measure.zip(self.source) {
            return Work::Measure(MeasureRequest {
                name: self.name,
                vmaf_every: self.vmaf_every,
                ffmpeg: self.ffmpeg,
                ..MeasureRequest::new(manifest, source)
            });
        }
        if self.layered {
            return Work::Layered(LayeredRequest {
                file: self.dir,
                name: self.name,
                title: self.title,
                rates: self.rates,
                speed: self.speed,
                ffmpeg: self.ffmpeg,
                libvpx: self.libvpx,
                replace: self.restart,
                ..LayeredRequest::new(self.video.unwrap_or_default())
            });
        }
        Work::Pack(PackRequest {
            name: self.name,
            title: self.title,
            codec: self.codec,
            speed: self.speed,
            chunk: Duration::from_secs_f64(self.chunk),
            ladder: self.rungs.unwrap_or_default(),
            audio_rate: Rate::from_bps_f64(self.audio_rate),
            vmaf_every: self.vmaf_every,
            ffmpeg: self.ffmpeg,
            restart: self.restart,
            ..PackRequest::new(self.video.unwrap_or_default(), self.dir.unwrap_or_default())
        })
    }
}

fn codec(name: &str) -> Result<Codec, String> {
    one_of(name, Codec::ALL.into_iter().map(|c| (c.name(), c)))
}

fn speed(name: &str) -> Result<Speed, String> {
    one_of(name, Speed::ALL.into_iter().map(|s| (s.name(), s)))
}

fn rungs(text: &str) -> Result<Ladder, String> {
    Ladder::parse(text).map_err(|e| e.to_string())
}

fn chunk(text: &str) -> Result<f64, String> {
    number(text, 0.5, 20.0)
}

fn audio_rate(text: &str) -> Result<f64, String> {
    number(text, 16_000.0, 512_000.0)
}
