//! Making the pieces of a title in its work folder.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use airlane_media::dash::{self, Presentation};
use airlane_media::{hls, table};
use serde_json::json;

use crate::audio::{self, Sound};
use crate::codec::{Codec, Speed};
use crate::encode::{self, Encoded, PEAK, Settings};
use crate::error::PackError;
use crate::ffmpeg::{Ffmpeg, Job as Run, Piece, push};
use crate::ladder::Rung;
use crate::manifest::{self, Listed};
use crate::order::{NAMES, Order};
use crate::probe::Source;
use crate::progress::{Event, Observer, Progress};
use crate::request::PackRequest;
use crate::resume::{AudioStage, Job, RungStage, Stage, audio_folder};
use crate::score::{NO_VMAF, Scores, Subject, Vmaf, metrics, score};
use crate::work::{Work, remove, write_whole};

/// Chunks that a player is to hold before it begins.
const BUFFERED_CHUNKS: u32 = 2;

/// All that making a title needs.
pub(crate) struct Maker<'a> {
    pub(crate) request: &'a PackRequest,
    pub(crate) ffmpeg: Ffmpeg,
    pub(crate) video: Source,
    pub(crate) settings: Settings,
    pub(crate) ladder: Vec<Rung>,
    pub(crate) work: Work,
    pub(crate) observer: Observer<'a>,
    pub(crate) stop: &'a AtomicBool,
}

impl Maker<'_> {
    fn warn(&self, text: impl Into<String>) {
        (self.observer)(Event::Warning(text.into()));
    }

    /// Makes every piece in the work folder and returns the job, ready to be published.
    pub(crate) fn make(&self, mut job: Job) -> Result<Job, PackError> {
        self.warn_about_source();
        let vmaf = Vmaf::of(&self.ffmpeg, self.request.vmaf_every, self.stop)?;
        if vmaf.is_none() {
            self.warn(NO_VMAF);
        }
        let frames = self.video.frames().max(1) as f64;
        let costs: Vec<(f64, f64)> =
            self.ladder.iter().map(|r| self.costs(r, vmaf.is_some())).collect();
        let total: f64 = costs.iter().map(|(encode, score)| (encode + score) * frames).sum();
        let progress = Progress::new(self.observer, total);
        let mut stages = Vec::new();
        for (rung, (cost, _)) in self.ladder.iter().zip(&costs) {
            let stage = RungStage::read(&self.work, rung, vmaf.is_some());
            stages.push(self.encode(rung, stage, cost * frames, *cost, &progress)?);
        }
        let encoded: Vec<Encoded> = stages.iter().map(|(encoded, _)| *encoded).collect();
        self.check_frames(&encoded)?;
        let audio = self.audio(encoded[0])?;
        let mut listed = Vec::new();
        for (rung, encoded) in self.ladder.iter().zip(&encoded) {
            listed.push(manifest::video(rung, &self.settings, *encoded, &self.folder(rung))?);
        }
        let mut scores = Vec::new();
        for (((rung, stage), listed), (_, cost)) in
            self.ladder.iter().zip(stages).zip(&listed).zip(&costs)
        {
            let units = cost * frames;
            scores.push(match stage {
                (_, Some(scores)) => {
                    progress.skip(units);
                    scores
                }
                (encoded, None) => {
                    self.score(rung, encoded, listed, vmaf, units, *cost, &progress)?
                }
            });
        }
        self.poster(&listed)?;
        let files = self.write(&job.order, listed, audio, scores, encoded[0], vmaf)?;
        job.order.files = files;
        job.enter(Stage::Moving, &self.work)?;
        Ok(job)
    }

    fn warn_about_source(&self) {
        let fps = self.video.fps;
        let Source { notes, sound_notes, .. } = &self.video;
        notes.iter().chain(sound_notes).for_each(|note| self.warn(note));
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

    /// Costs of encoding and of measuring a frame: millions of pixels, times roughly how much
    /// longer each of them takes than with x264; only ratios count, and only for the time left.
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

    /// Folder of a rung's chunks.
    fn folder(&self, rung: &Rung) -> std::path::PathBuf {
        self.work.path("video").join(&rung.name)
    }

    /// Encodes a rung unless it is whole. Returns its scores too, if it has been measured.
    fn encode(
        &self,
        rung: &Rung,
        stage: RungStage,
        units: f64,
        cost: f64,
        progress: &Progress<'_>,
    ) -> Result<(Encoded, Option<Scores>), PackError> {
        match stage {
            RungStage::Encoding => {}
            RungStage::Encoded(encoded) => {
                progress.skip(units);
                return Ok((encoded, None));
            }
            RungStage::Measured(encoded, scores) => {
                progress.skip(units);
                return Ok((encoded, Some(scores)));
            }
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
        if !words.complaints.is_empty() {
            self.warn(format!("ffmpeg on {doing}: {}", words.complaints));
        }
        // Of all rungs the first one tells it.
        if words.is_changing && self.ladder.first() == Some(rung) {
            let (width, height) = (self.video.width, self.video.height);
            self.warn(format!(
                "the pictures change their size or format on the way: all are scaled to what they \
                 are at the beginning, {width}x{height}"
            ));
        }
        RungStage::enter_encoded(&self.work, rung, encoded)?;
        progress.finish(units);
        Ok((encoded, None))
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
        if self.video.streams.audio.is_none() {
            return Ok(None);
        }
        let channels = self.video.channels.min(2);
        let rate = self.request.audio_rate.scale(f64::from(channels) / 2.0);
        let dir = audio_folder(&self.work);
        if AudioStage::read(&self.work) == AudioStage::Encoding {
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
        let whole = |file| Piece { file, offset: 0, length: None };
        let dir = self.folder(rung);
        let names = (1..=listed.bytes.len()).map(|n| format!("{n}.m4s"));
        let names = std::iter::once("init.mp4".to_owned()).chain(names);
        let subject = Subject {
            name: &rung.name,
            pieces: names.map(|n| whole(dir.join(n))).collect(),
            fps: self.settings.fps,
            frames: manifest::chunk_frames(encoded, self.settings.frames),
            runs: Vec::new(),
        };
        let doing = format!("measuring {}", rung.name);
        let tell = |frames: u64| progress.tell((frames as f64 * cost).min(units), &doing);
        let dir = self.work.path("");
        let scores = score(&self.ffmpeg, &self.video, subject, vmaf, &dir, self.stop, &tell)?;
        RungStage::enter_measured(&self.work, rung, vmaf.is_some(), scores.clone())?;
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
        order: &Order,
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
        let rungs = listed.iter().zip(&self.ladder).zip(scores);
        let rungs = rungs.map(|((l, rung), s)| manifest::table_rung(l, rung.rate, s)).collect();
        let file = self.request.video.file_name().unwrap_or_default().to_string_lossy();
        let table = manifest::table(
            order.name.clone(),
            order.title.clone(),
            file.into_owned(),
            fps,
            chunk,
            rungs,
        )?;
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

        let rates: BTreeMap<String, hls::Rates> =
            listed.iter().chain(&audio).map(|l| (l.representation.id.clone(), l.rates())).collect();
        let length = |l: &Listed| l.representation.total();
        let longest = listed.iter().chain(&audio).map(length).max();
        let min_buffer = chunk * BUFFERED_CHUNKS;
        let mut presentation = Presentation {
            duration: longest,
            min_buffer: Some(min_buffer),
            chunk_table: Some("quality.json".to_owned()),
            video: listed.into_iter().map(|l| l.represented(min_buffer)).collect(),
            audio: audio.into_iter().map(|l| l.represented(min_buffer)).collect(),
            ..Presentation::default()
        };
        presentation.video.sort_by_key(|r| r.bandwidth);
        let playlists = hls::write(&presentation, &|r| rates.get(&r.id).copied());
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
            remove(&audio_folder(&self.work))?;
        }
        files.splice(2..2, playlists.media.into_iter().map(|(name, _)| name));
        Ok(files)
    }
}
