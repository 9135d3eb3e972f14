//! From a request to a title: what is there already, what is to be made, and where it goes.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use airlane_base::InputError;
use airlane_media::{dash, table};
use serde_json::json;

use crate::encode::Settings;
use crate::error::PackError;
use crate::ffmpeg::Ffmpeg;
use crate::ladder::{Size, rungs};
use crate::make::Maker;
use crate::manifest;
use crate::order::{NAMES, Order};
use crate::probe::{Source, probe};
use crate::progress::Observer;
use crate::request::{PackReport, PackRequest};
use crate::resume::{Found, Job, Stage};
use crate::work::{Fingerprint, Work};

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
    let order = Order::of(request)?;
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

/// Differences between a job and what is asked for now, in words.
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
