//! From a request to a title: what is there already, what is to be made, and where it goes.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use airlane_base::InputError;
use airlane_media::{dash, table};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::encode::Settings;
use crate::error::PackError;
use crate::ffmpeg::Ffmpeg;
use crate::ladder::{Ladder, Size, rungs};
use crate::make::Maker;
use crate::manifest;
use crate::probe::{Source, probe};
use crate::progress::Observer;
use crate::request::{Codec, PackReport, PackRequest, Speed};
use crate::resume::{Found, Job, Stage};
use crate::work::{Fingerprint, Work};

/// The names that a title has besides its media playlists, in the order of publishing.
pub(crate) const NAMES: [&str; 6] =
    ["video", "audio", "poster.jpg", "quality.json", "master.m3u8", "manifest.mpd"];

/// The part of a request that decides what comes out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) name: String,
    pub(crate) title: String,
    codec: Codec,
    speed: Speed,
    chunk_ms: u64,
    ladder: Ladder,
    audio_bps: u64,
    vmaf_every: u32,
    /// Names of the title's files once they are known.
    pub(crate) files: Vec<String>,
}

impl Order {
    fn has_audio(&self) -> bool {
        self.files.iter().any(|f| f == "audio")
    }
}

/// Makes a title: see the crate's head and `docs/guide/pack.md`.
///
/// `observer` hears how far it is and what the user should know. Raising `stop` ends ffmpeg within
/// a tenth of a second and leaves what is whole, as does killing the process: the same request
/// again goes on there. A request whose title is there already changes nothing.
///
/// # Errors
/// [`PackError`]: a request or a video that cannot be used, no ffmpeg or one that lacks the encoder,
/// a folder that cannot be written or holds something else, ffmpeg's own reason if it fails.
pub fn pack(
    request: &PackRequest,
    observer: Observer<'_>,
    stop: &AtomicBool,
) -> Result<PackReport, PackError> {
    let order = order(request)?;
    let source = Fingerprint::of(&request.video)?;
    // A title that is there needs no ffmpeg; a source that is broken leaves no folder.
    let noted = request.dir.join(".pack/job.json").exists();
    let work = if noted { Some(Work::open(&request.dir)?) } else { None };
    let found = Found::in_folder(work.as_ref(), &request.dir, &order, &source);
    match &found {
        Found::Done(job) => {
            let work = Work::open_again(work, &request.dir)?;
            return report(work.dir(), job.order.has_audio(), true);
        }
        Found::Moving(job) => {
            let work = Work::open_again(work, &request.dir)?;
            return publish(&work, job.clone());
        }
        Found::Other(job) if !request.restart => {
            return Err(PackError::Occupied {
                dir: request.dir.clone(),
                holds: differences(job, &order, &source),
                advice: "give another folder, or start over with --overwrite",
            });
        }
        Found::Nothing | Found::Making(_) | Found::Damaged(_) | Found::Other(_) => {}
    }
    let ffmpeg = Ffmpeg::open(request.ffmpeg.as_deref(), stop)?;
    let video = probe(&ffmpeg, &request.video, stop)?;
    let settings = settings(request, &video);
    let chunks = video.frames() / settings.frames;
    if chunks >= dash::MAX_CHUNKS as u64 {
        let expected = format!("expected at most {}: give a longer chunk", dash::MAX_CHUNKS);
        return Err(InputError::new(format!("{chunks} chunks"), expected).at_key("chunk").into());
    }
    ffmpeg.needs_encoder(settings.encoder())?;
    let size = Size {
        width: video.width,
        height: video.height,
        fps: video.fps.as_f64(),
        rate: Some(video.rate),
    };
    let ladder = rungs(&request.ladder, &size, request.codec)?;
    let work = Work::open_again(work, &request.dir)?;
    let mut job = match found {
        Found::Making(job) => job,
        found => {
            let before = match &found {
                Found::Damaged(job) | Found::Other(job) => Some(job),
                _ => None,
            };
            begin(&work, before)?;
            Job::new(order, source)
        }
    };
    job.enter(Stage::Making, &work)?;
    let maker = Maker { request, ffmpeg, video, settings, ladder, work, observer, stop };
    let job = maker.make(job)?;
    publish(&maker.work, job)
}

pub(crate) fn order(request: &PackRequest) -> Result<Order, InputError> {
    let stem = request.video.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = request.name.clone().unwrap_or_else(|| manifest::plain_name(&stem));
    let wrong = |key: &str, found: String, expected: &str| {
        Err(InputError::new(found, format!("expected {expected}")).at_key(key))
    };
    if name != manifest::plain_name(&name) {
        return wrong("name", format!("{name:?}"), airlane_media::name::EXPECTED);
    }
    let chunk = request.chunk;
    if !(Duration::from_millis(500)..=Duration::from_secs(20)).contains(&chunk) {
        return wrong("chunk", format!("{} s", chunk.as_secs_f64()), "0.5 to 20 s");
    }
    if !(16_000..=512_000).contains(&request.audio_rate.bps()) {
        return wrong("audio_rate", request.audio_rate.to_string(), "16 to 512 kbit/s");
    }
    vmaf_every(request.vmaf_every)?;
    request.ladder.check()?;
    Ok(Order {
        name,
        title: request.title.clone().unwrap_or(stem),
        codec: request.codec,
        speed: request.speed,
        chunk_ms: u64::try_from(chunk.as_millis()).unwrap_or(u64::MAX),
        ladder: request.ladder.clone(),
        audio_bps: request.audio_rate.bps(),
        vmaf_every: request.vmaf_every,
        files: Vec::new(),
    })
}

/// Checks the step of VMAF's frames.
pub(crate) fn vmaf_every(every: u32) -> Result<(), InputError> {
    match (1..=100).contains(&every) {
        true => Ok(()),
        false => Err(InputError::new(every.to_string(), "expected 1 to 100").at_key("vmaf_every")),
    }
}

/// What of a job is not what is asked for now, in words.
fn differences(job: &Job, order: &Order, source: &Fingerprint) -> String {
    if job.source != *source {
        return "a title made from another video, or from another version of this one".to_owned();
    }
    let (there, asked) = (json!(job.order), json!(order));
    let members = asked.as_object().into_iter().flatten();
    let differs = members.filter(|(key, value)| *key != "files" && there[*key] != **value);
    let list: Vec<String> =
        differs.map(|(key, value)| format!("{key} {} instead of {value}", there[key])).collect();
    format!("a title of another request: {}", list.join(", "))
}

/// Clears the folder for a title: of the job `before`, or else only if nothing of such names is there.
fn begin(work: &Work, before: Option<&Job>) -> Result<(), PackError> {
    let mut names = NAMES.map(str::to_owned).to_vec();
    if let Some(job) = before {
        names.extend(job.order.files.iter().filter(|f| f.ends_with(".m3u8")).cloned());
        return work.clear(&names);
    }
    match work.present(&names)[..] {
        [] => work.clear(&[]),
        [name, ..] => Err(PackError::Occupied {
            dir: work.dir().to_owned(),
            holds: format!("{name}, which no run of pack has made"),
            advice: "give another folder",
        }),
    }
}

fn settings(request: &PackRequest, video: &Source) -> Settings {
    let frames = (request.chunk.as_secs_f64() * video.fps.as_f64()).round().max(1.0) as u64;
    Settings { codec: request.codec, speed: request.speed, fps: video.fps, frames }
}

/// Moves a title that is whole to its place.
fn publish(work: &Work, mut job: Job) -> Result<PackReport, PackError> {
    work.publish(&job.order.files)?;
    job.enter(Stage::Done, work)?;
    work.tidy()?;
    report(work.dir(), job.order.has_audio(), false)
}

/// The report of a title that is there.
fn report(dir: &Path, audio: bool, was_done: bool) -> Result<PackReport, PackError> {
    let manifest = dir.join("manifest.mpd");
    let text = std::fs::read_to_string(&manifest)
        .map_err(|e| InputError::io(&manifest, "read the manifest", &e))?;
    let title = dash::parse(&text).map_err(|e| e.at_file(&manifest))?;
    let video = table::load(dir.join("quality.json"))?.video;
    let duration = title.video.first().map(|r| r.total()).unwrap_or_default();
    Ok(PackReport {
        manifest,
        was_done,
        chunk: video.chunk,
        chunks: video.chunks(),
        duration,
        rungs: manifest::reports(&video, duration),
        audio,
    })
}
