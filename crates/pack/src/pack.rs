//! The whole of it: from a request to a title.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use airlane_base::{InputError, Rate};
use airlane_media::dash::{self, Presentation};
use airlane_media::{hls, table};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::audio::{self, Sound};
use crate::encode::{self, Encoded, PEAK, Settings};
use crate::error::PackError;
use crate::ffmpeg::{Ffmpeg, Job as Run, Piece, push};
use crate::ladder::{Ladder, Rung, Size, rungs};
use crate::manifest::{self, Listed};
use crate::probe::{Source, probe};
use crate::progress::{Event, Observer, Progress};
use crate::request::{Codec, PackReport, PackRequest, Speed};
use crate::score::{Scores, Subject, Vmaf, score};
use crate::work::{Fingerprint, Job, Stage, Work, read_json, remove, write_json, write_whole};

/// The names that a title has besides its media playlists, in the order of publishing.
const NAMES: [&str; 6] =
    ["video", "audio", "poster.jpg", "quality.json", "master.m3u8", "manifest.mpd"];
/// Of the job file.
const VERSION: u32 = 1;
/// Chunks that a player is to hold before it begins.
const BUFFERED_CHUNKS: u32 = 2;
/// How to get VMAF.
pub(crate) const NO_VMAF: &str = "this ffmpeg has no libvmaf: PSNR and SSIM are measured, VMAF is \
     not; pip install imageio-ffmpeg brings an ffmpeg that has it, to be named with --ffmpeg PATH";

/// The part of a request that decides what comes out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Order {
    name: String,
    title: String,
    codec: Codec,
    speed: Speed,
    chunk_ms: u64,
    ladder: Ladder,
    audio_bps: u64,
    vmaf_every: u32,
    /// Names of the title's files once they are known.
    files: Vec<String>,
}

/// Makes a title: see the crate's head and `docs/pack.md`.
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
    let found = work.as_ref().and_then(Work::job::<Order>);
    let same = found.as_ref().filter(|job| is_same(job, &order, &source));
    match (same, &found) {
        (Some(job), _) if job.stage == Stage::Done => {
            let work = Work::open_again(work, &request.dir)?;
            return report(work.dir(), job.request.files.contains(&"audio".to_owned()), true);
        }
        (Some(job), _) if job.stage == Stage::Moving => {
            let work = Work::open_again(work, &request.dir)?;
            return publish(&work, job.clone());
        }
        (None, Some(job)) if !request.restart => {
            return Err(PackError::Occupied {
                dir: request.dir.clone(),
                holds: differences(job, &order, &source),
                advice: "give another folder, or start over with --restart",
            });
        }
        _ => {}
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
    let job = match same {
        Some(job) => job.clone(),
        None => {
            begin(&work, found.as_ref())?;
            Job { version: VERSION, request: order, source, stage: Stage::Making }
        }
    };
    work.note(&job)?;
    let maker = Maker { request, ffmpeg, video, settings, ladder, work, observer, stop };
    let job = maker.make(job)?;
    publish(&maker.work, job)
}

fn order(request: &PackRequest) -> Result<Order, InputError> {
    let stem = request.video.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = request.name.clone().unwrap_or_else(|| manifest::plain_name(&stem));
    let wrong = |key: &str, found: String, expected: &str| {
        Err(InputError::new(found, format!("expected {expected}")).at_key(key))
    };
    if name != manifest::plain_name(&name) {
        return wrong("name", format!("{name:?}"), "letters, digits, '.', '_' and '-'");
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

/// How qualities are measured, for people.
pub(crate) fn metrics(vmaf: Option<Vmaf>) -> &'static str {
    match vmaf {
        Some(_) => "ffmpeg psnr (Y, mean of dB) and ssim (Y), libvmaf vmaf_v0.6.1",
        None => "ffmpeg psnr (Y, mean of dB) and ssim (Y)",
    }
}

fn is_same(job: &Job<Order>, order: &Order, source: &Fingerprint) -> bool {
    let mut request = job.request.clone();
    request.files.clear();
    job.version == VERSION && request == *order && job.source == *source
}

/// What of a job is not what is asked for now, in words.
fn differences(job: &Job<Order>, order: &Order, source: &Fingerprint) -> String {
    if job.source != *source {
        return "a title made from another video, or from another version of this one".to_owned();
    }
    let (there, asked) = (json!(job.request), json!(order));
    let members = asked.as_object().into_iter().flatten();
    let differs = members.filter(|(key, value)| *key != "files" && there[*key] != **value);
    let list: Vec<String> =
        differs.map(|(key, value)| format!("{key} {} instead of {value}", there[key])).collect();
    format!("a title of another request: {}", list.join(", "))
}

/// Makes room for a title.
fn begin(work: &Work, before: Option<&Job<Order>>) -> Result<(), PackError> {
    let mut names = NAMES.map(str::to_owned).to_vec();
    if let Some(job) = before {
        names.extend(job.request.files.iter().filter(|f| f.ends_with(".m3u8")).cloned());
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
fn publish(work: &Work, mut job: Job<Order>) -> Result<PackReport, PackError> {
    let files = job.request.files.clone();
    work.publish(&files)?;
    job.stage = Stage::Done;
    work.note(&job)?;
    work.tidy()?;
    report(work.dir(), files.contains(&"audio".to_owned()), false)
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

/// All that making a title needs.
struct Maker<'a> {
    request: &'a PackRequest,
    ffmpeg: Ffmpeg,
    video: Source,
    settings: Settings,
    ladder: Vec<Rung>,
    work: Work,
    observer: Observer<'a>,
    stop: &'a AtomicBool,
}

/// What a rung's scores are kept as until the table is written.
#[derive(Serialize, Deserialize)]
struct Measured {
    vmaf: bool,
    scores: Scores,
}

impl Maker<'_> {
    fn warn(&self, text: impl Into<String>) {
        (self.observer)(Event::Warning(text.into()));
    }

    /// Makes every piece in the work folder and returns the job, ready to be published.
    fn make(&self, mut job: Job<Order>) -> Result<Job<Order>, PackError> {
        self.speak_of_the_source();
        let vmaf = Vmaf::of(&self.ffmpeg, self.request.vmaf_every, self.stop)?;
        if vmaf.is_none() {
            self.warn(NO_VMAF);
        }
        let frames = self.video.frames().max(1) as f64;
        let costs: Vec<(f64, f64)> =
            self.ladder.iter().map(|r| self.costs(r, vmaf.is_some())).collect();
        let total: f64 = costs.iter().map(|(encode, score)| (encode + score) * frames).sum();
        let progress = Progress::new(self.observer, total);
        let mut encoded = Vec::new();
        for (rung, (cost, _)) in self.ladder.iter().zip(&costs) {
            encoded.push(self.encode(rung, cost * frames, *cost, &progress)?);
        }
        self.check_frames(&encoded)?;
        let audio = self.audio(encoded[0])?;
        let mut listed = Vec::new();
        for (rung, encoded) in self.ladder.iter().zip(&encoded) {
            listed.push(manifest::video(rung, &self.settings, *encoded, &self.folder(rung))?);
        }
        let mut scores = Vec::new();
        for (((rung, encoded), listed), (_, cost)) in
            self.ladder.iter().zip(&encoded).zip(&listed).zip(&costs)
        {
            let units = cost * frames;
            scores.push(self.score(rung, *encoded, listed, vmaf, units, *cost, &progress)?);
        }
        self.poster(&listed)?;
        job.request.files = self.write(listed, audio, scores, encoded[0], vmaf)?;
        job.stage = Stage::Moving;
        self.work.note(&job)?;
        Ok(job)
    }

    fn speak_of_the_source(&self) {
        let fps = self.video.fps;
        if self.video.uneven {
            self.warn(format!(
                "the video's frames come at an uneven pace: it is encoded at {fps} frames/s, \
                 repeating and dropping frames"
            ));
        }
        if self.video.interlaced {
            self.warn("the video is interlaced: it is encoded with a frame per pair of fields");
        }
    }

    /// What encoding and measuring a frame cost: millions of pixels, times roughly how much longer
    /// each of them takes than with x264; only ratios count, and only for the time left.
    fn costs(&self, rung: &Rung, vmaf: bool) -> (f64, f64) {
        let pixels = |w: u32, h: u32| f64::from(w) * f64::from(h) / 1e6;
        let source = pixels(self.video.width, self.video.height);
        let codec = match self.settings.codec {
            Codec::H264 => 1.0,
            Codec::Vp9 => 4.0,
            Codec::Av1 => 3.0,
        };
        let speed = match self.settings.speed {
            Speed::Fast => 0.4,
            Speed::Normal => 1.0,
            Speed::Slow => 2.5,
        };
        let encode = pixels(rung.width, rung.height) * codec * speed + source * 0.2;
        let vmaf = if vmaf { 1.2 / f64::from(self.request.vmaf_every) } else { 0.0 };
        (encode, source * (0.4 + vmaf))
    }

    /// Where a rung's chunks are.
    fn folder(&self, rung: &Rung) -> std::path::PathBuf {
        self.work.path("video").join(&rung.name)
    }

    fn encode(
        &self,
        rung: &Rung,
        units: f64,
        cost: f64,
        progress: &Progress<'_>,
    ) -> Result<Encoded, PackError> {
        let mark = self.work.path(format!("encoded-{}.json", rung.name));
        if let Some(encoded) = read_json(&mark) {
            progress.skip(units);
            return Ok(encoded);
        }
        let doing = format!("encoding {}", rung.name);
        let tell = |frames: u64| progress.tell((frames as f64 * cost).min(units), &doing);
        let (encoded, words) = encode::encode(
            &self.ffmpeg,
            &self.video,
            &self.settings,
            rung,
            &self.folder(rung),
            self.stop,
            &tell,
        )?;
        if !words.is_empty() {
            self.warn(format!("ffmpeg on {doing}: {words}"));
        }
        write_json(&mark, &encoded)?;
        progress.finish(units);
        Ok(encoded)
    }

    /// All rungs come from one chain of filters: they have the same frames, or something is wrong.
    fn check_frames(&self, encoded: &[Encoded]) -> Result<(), PackError> {
        for (rung, found) in self.ladder.iter().zip(encoded) {
            let first = encoded[0];
            if *found != first {
                return Err(PackError::Unexpected {
                    what: rung.name.clone(),
                    found: format!("{} frames", found.frames),
                    expected: format!("{} has {}", self.ladder[0].name, first.frames),
                });
            }
        }
        Ok(())
    }

    /// The sound, if the source has any.
    fn audio(&self, encoded: Encoded) -> Result<Option<Listed>, PackError> {
        let Some(channels) = self.video.channels else { return Ok(None) };
        let channels = channels.min(2);
        let rate = self.request.audio_rate.scale(f64::from(channels) / 2.0);
        let dir = self.work.path("audio");
        if !dir.exists() {
            let fps = self.settings.fps.as_f64();
            let sound = Sound {
                channels,
                rate,
                length_s: encoded.frames as f64 / fps,
                chunk_s: self.settings.frames as f64 / fps,
            };
            let words = audio::encode(&self.ffmpeg, &self.video, sound, &dir, self.stop)?;
            if !words.is_empty() {
                self.warn(format!("ffmpeg on the audio: {words}"));
            }
        }
        let id = format!("aac-{}k", rate.bps() / 1000);
        manifest::audio(&id, &dir).map(Some)
    }

    #[expect(clippy::too_many_arguments, reason = "what belongs to one rung")]
    fn score(
        &self,
        rung: &Rung,
        encoded: Encoded,
        listed: &Listed,
        vmaf: Option<Vmaf>,
        units: f64,
        cost: f64,
        progress: &Progress<'_>,
    ) -> Result<Scores, PackError> {
        let mark = self.work.path(format!("measured-{}.json", rung.name));
        // Scores without VMAF serve no table with it: another ffmpeg measures again.
        let before = read_json::<Measured>(&mark).filter(|m| m.vmaf == vmaf.is_some());
        if let Some(measured) = before {
            progress.skip(units);
            return Ok(measured.scores);
        }
        let whole = |file| Piece { file, offset: 0, length: None };
        let dir = self.folder(rung);
        let names = (1..=listed.bytes.len()).map(|n| format!("{n}.m4s"));
        let names = std::iter::once("init.mp4".to_owned()).chain(names);
        let subject = Subject {
            name: &rung.name,
            pieces: names.map(|n| whole(dir.join(n))).collect(),
            fps: self.settings.fps,
            frames: manifest::chunk_frames(encoded, self.settings.frames),
        };
        let doing = format!("measuring {}", rung.name);
        let tell = |frames: u64| progress.tell((frames as f64 * cost).min(units), &doing);
        let dir = self.work.path("");
        let scores = score(&self.ffmpeg, &self.video, subject, vmaf, &dir, self.stop, &tell)?;
        write_json(&mark, &Measured { vmaf: vmaf.is_some(), scores: scores.clone() })?;
        progress.finish(units);
        Ok(scores)
    }

    /// A picture from a third into the title, out of the chunk there of the best rung.
    fn poster(&self, listed: &[Listed]) -> Result<(), PackError> {
        let (Some(rung), Some(listed)) = (self.ladder.last(), listed.last()) else { return Ok(()) };
        let dir = self.folder(rung);
        let chunk = listed.bytes.len() / 3 + 1;
        let whole = |name: String| Piece { file: dir.join(name), offset: 0, length: None };
        let feed = vec![whole("init.mp4".to_owned()), whole(format!("{chunk}.m4s"))];
        let mut arguments = Vec::new();
        push(&mut arguments, ["-hide_banner", "-v", "error", "-f", "mp4", "-i", "pipe:0"]);
        push(&mut arguments, ["-frames:v", "1", "-vf", "scale='min(640,iw)':-2", "-q:v", "3"]);
        push(&mut arguments, ["-f", "image2", "-update", "1", "-y", "poster.jpg"]);
        let dir = self.work.path("");
        let doing = "making the poster".to_owned();
        let run = Run { doing, dir: &dir, arguments, feed };
        self.ffmpeg.run(&run, self.stop, &mut |_| Ok(()))?;
        let path = self.work.path("poster.jpg");
        let synced = std::fs::File::open(&path).and_then(|f| f.sync_data());
        synced.map_err(PackError::io("write", &path))
    }

    /// Writes manifest, playlists and table, and returns the names of what the title consists of.
    fn write(
        &self,
        listed: Vec<Listed>,
        audio: Option<Listed>,
        scores: Vec<Scores>,
        encoded: Encoded,
        vmaf: Option<Vmaf>,
    ) -> Result<Vec<String>, PackError> {
        let fps = self.settings.fps;
        let time = |frames: u64| {
            let nanos = u128::from(frames) * u128::from(fps.seconds) * 1_000_000_000;
            let nanos = nanos / u128::from(fps.frames);
            Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
        };
        let chunk = time(self.settings.frames);
        let order = order(self.request)?;
        let rungs = listed.iter().zip(&self.ladder).zip(scores);
        let rungs = rungs.map(|((l, rung), s)| manifest::table_rung(l, rung.rate, s)).collect();
        let file = self.request.video.file_name().unwrap_or_default().to_string_lossy();
        let table = manifest::table(order.name, order.title, file.into_owned(), fps, chunk, rungs)?;
        let last = encoded.frames - (encoded.chunks - 1) * self.settings.frames;
        let made = json!({
            "by": concat!("airlane pack ", env!("CARGO_PKG_VERSION")),
            "ffmpeg": self.ffmpeg.version,
            "codec": self.settings.codec,
            "speed": self.settings.speed,
            "peak_over_nominal": PEAK,
            "gop_frames": self.settings.frames,
            "last_chunk_s": time(last).as_secs_f64(),
            "measured_at": format!("{}x{}", self.video.width, self.video.height),
            "metrics": metrics(vmaf),
            "vmaf_every_frames": vmaf.map(|_| self.request.vmaf_every),
        });
        let text = table::to_json_with(&table, &made);
        write_whole(&self.work.path("quality.json"), text.as_bytes())?;

        let means: BTreeMap<String, Rate> =
            listed.iter().chain(&audio).map(|l| (l.representation.id.clone(), l.mean())).collect();
        let length = |l: &Listed| l.representation.total();
        let longest = listed.iter().chain(&audio).map(length).max();
        let mut presentation = Presentation {
            duration: longest,
            min_buffer: Some(chunk * BUFFERED_CHUNKS),
            chunk_table: Some("quality.json".to_owned()),
            video: listed.into_iter().map(|l| l.representation).collect(),
            audio: audio.into_iter().map(|l| l.representation).collect(),
            text: Vec::new(),
        };
        presentation.video.sort_by_key(|r| r.bandwidth);
        let playlists = hls::write(&presentation, &|r| means.get(&r.id).copied());
        for (name, text) in &playlists.media {
            write_whole(&self.work.path(name), text.as_bytes())?;
        }
        write_whole(&self.work.path("master.m3u8"), playlists.master.as_bytes())?;
        let manifest = dash::write(&presentation);
        write_whole(&self.work.path("manifest.mpd"), manifest.as_bytes())?;

        let mut files: Vec<String> = NAMES.map(str::to_owned).to_vec();
        if presentation.audio.is_empty() {
            files.retain(|f| f != "audio");
            // A run before may have had another source.
            remove(&self.work.path("audio"))?;
        }
        files.splice(2..2, playlists.media.into_iter().map(|(name, _)| name));
        Ok(files)
    }
}
