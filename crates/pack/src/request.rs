//! Requests to pack or measure, and their reports.

use std::path::PathBuf;
use std::time::Duration;

use airlane_base::Rate;
use airlane_media::Metric;

use crate::codec::{Codec, Speed};
use crate::ladder::Ladder;

/// A title to be made. [`PackRequest::new`] has the defaults.
#[derive(Clone, Debug)]
pub struct PackRequest {
    /// The video, any file that ffmpeg reads.
    pub video: PathBuf,
    /// The folder that the title is made in; created if need be.
    pub dir: PathBuf,
    /// Name of the title in its quality table, letters, digits, `.`, `_` and `-`; `None`: from the
    /// name of the file.
    pub name: Option<String>,
    /// Title, for people; `None`: the name of the file.
    pub title: Option<String>,
    /// Codec of the pictures. Default: H.264.
    pub codec: Codec,
    /// Time that the encoder takes. Default: normal.
    pub speed: Speed,
    /// Length of a chunk, rounded to whole frames; 0.5 to 20 s. Default: 4 s; 2 s for quicker
    /// decisions at a cost of some bits.
    pub chunk: Duration,
    /// The rungs. Default: by the source's size, frame rate and rate.
    pub ladder: Ladder,
    /// Rate of stereo audio (AAC); mono gets half of it. Default: 128 kbit/s.
    pub audio_rate: Rate,
    /// VMAF is measured on every so many-th frame, 1 to 100. Default: 1, all of them.
    pub vmaf_every: u32,
    /// The ffmpeg to use; `None`: the one on the path.
    pub ffmpeg: Option<PathBuf>,
    /// Throw away what an earlier run of another request left in the folder. Default: no.
    pub restart: bool,
}

impl PackRequest {
    /// The default request for a video and a folder.
    pub fn new(video: impl Into<PathBuf>, dir: impl Into<PathBuf>) -> Self {
        Self {
            video: video.into(),
            dir: dir.into(),
            name: None,
            title: None,
            codec: Codec::default(),
            speed: Speed::default(),
            chunk: Duration::from_secs(4),
            ladder: Ladder::BySource,
            audio_rate: Rate::from_bps(128_000),
            vmaf_every: 1,
            ffmpeg: None,
            restart: false,
        }
    }
}

/// Report on a title that was made.
#[derive(Clone, Debug, PartialEq)]
pub struct PackReport {
    /// The manifest of the title.
    pub manifest: PathBuf,
    /// True if a run before had made all of it, so that nothing was done.
    pub was_done: bool,
    /// Exact length of the chunks but the last.
    pub chunk: Duration,
    /// Chunks per rung.
    pub chunks: usize,
    /// Length of the title.
    pub duration: Duration,
    /// The rungs, rising.
    pub rungs: Vec<RungReport>,
    /// True if there is audio.
    pub audio: bool,
}

/// One rung of what was made or measured.
#[derive(Clone, Debug, PartialEq)]
pub struct RungReport {
    /// Its name.
    pub name: String,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// The rate asked for.
    pub nominal: Rate,
    /// The rate it has.
    pub mean: Rate,
    /// Mean quality by metric.
    pub quality: Vec<(Metric, f64)>,
}

/// A title to be measured. [`MeasureRequest::new`] has the defaults.
#[derive(Clone, Debug)]
pub struct MeasureRequest {
    /// The DASH manifest; `quality.json` is written beside it.
    pub manifest: PathBuf,
    /// Video from which the title was made.
    pub source: PathBuf,
    /// Name of the title in its quality table; `None`: that of the manifest's folder.
    pub name: Option<String>,
    /// VMAF is measured on every so many-th frame, 1 to 100. Default: 1.
    pub vmaf_every: u32,
    /// The ffmpeg to use; `None`: the one on the path.
    pub ffmpeg: Option<PathBuf>,
}

impl MeasureRequest {
    /// The default request for a manifest and its source.
    pub fn new(manifest: impl Into<PathBuf>, source: impl Into<PathBuf>) -> Self {
        Self {
            manifest: manifest.into(),
            source: source.into(),
            name: None,
            vmaf_every: 1,
            ffmpeg: None,
        }
    }
}

/// Report on a title that was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasureReport {
    /// The quality table.
    pub table: PathBuf,
    /// Chunks per rung.
    pub chunks: usize,
    /// The rungs, rising.
    pub rungs: Vec<RungReport>,
}
