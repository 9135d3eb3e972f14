//! One rung, encoded chunk by chunk.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use airlane_base::InputError;
use airlane_media::dash::FrameRate;
use airlane_media::mp4::Init;
use serde::{Deserialize, Serialize};

use crate::chunks::{Cutter, Part, Shape};
use crate::codec::{Codec, Speed};
use crate::error::PackError;
use crate::ffmpeg::{Ffmpeg, Heard, Job, LEVELS, input, last_words, push};
use crate::filters;
use crate::ladder::Rung;
use crate::probe::Source;
use crate::work::{remove, sync_folder, write_whole};

/// The peak rate over the mean one that the encoder is held to.
pub(crate) const PEAK: f64 = 1.5;
/// Seconds at the peak rate that the decoder's buffer holds.
const BUFFER_S: f64 = 1.0;

/// Warning of ffmpeg on pictures that are not as those before.
const CHANGING: &str = "Changing video frame properties on the fly";

/// Settings for the encoding of a title.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) codec: Codec,
    pub(crate) speed: Speed,
    pub(crate) fps: FrameRate,
    /// Frames of every chunk but the last.
    pub(crate) frames: u64,
}

impl Settings {
    /// Ticks per second and per frame: whole ones, and at least 10 000 of them a second.
    pub(crate) fn ticks(&self) -> (u32, u32) {
        let factor = 10_000_u32.div_ceil(self.fps.frames);
        (self.fps.frames.saturating_mul(factor), self.fps.seconds.saturating_mul(factor))
    }

    /// The name of the encoder in ffmpeg.
    pub(crate) fn encoder(&self) -> &'static str {
        match self.codec {
            Codec::H264 => "libx264",
            Codec::Vp9 => "libvpx-vp9",
            Codec::Av1 => "libsvtav1",
        }
    }

    fn arguments(&self, rung: &Rung) -> Vec<OsString> {
        let mut out: Vec<OsString> = Vec::new();
        let rate = rung.rate.bps();
        let peak = rung.rate.scale(PEAK);
        push(&mut out, ["-c:v", self.encoder(), "-b:v", &rate.to_string()]);
        // Key frames where chunks begin and nowhere else.
        push(&mut out, ["-g", &self.frames.to_string()]);
        let fixed = format!("expr:not(mod(n,{}))", self.frames);
        let speed = |values: [&'static str; 3]| values[self.speed as usize];
        if self.codec != Codec::Av1 {
            let buffer = peak.scale(BUFFER_S).bps().to_string();
            push(&mut out, ["-maxrate", &peak.bps().to_string(), "-bufsize", &buffer]);
            push(&mut out, ["-keyint_min", &self.frames.to_string(), "-force_key_frames", &fixed]);
        }
        match self.codec {
            Codec::H264 => {
                push(&mut out, ["-preset", speed(["veryfast", "medium", "slow"])]);
                push(&mut out, ["-profile:v", "high", "-sc_threshold", "0", "-forced-idr", "1"]);
                push(&mut out, ["-x264-params", "open-gop=0"]);
            }
            Codec::Vp9 => {
                push(&mut out, ["-deadline", "good", "-cpu-used", speed(["6", "4", "2"])]);
                push(&mut out, ["-row-mt", "1"]);
            }
            Codec::Av1 => {
                // SVT-AV1 knows no peak beside a mean rate; its own key frames close the group.
                push(&mut out, ["-preset", speed(["10", "8", "5"]), "-svtav1-params", "scd=0"]);
            }
        }
        out
    }
}

/// A rung that is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Encoded {
    /// Frames of all chunks.
    pub(crate) frames: u64,
    /// Chunks, in files named from 1 on.
    pub(crate) chunks: u64,
}

/// Messages about the encoding of a rung.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Words {
    /// Complaints of ffmpeg.
    pub(crate) complaints: String,
    /// True if the pictures change their size or format on the way.
    pub(crate) is_changing: bool,
}

/// Encodes a rung into a folder: `init.mp4`, `1.m4s` and so on. Goes on after the chunks that are
/// there.
pub(crate) fn encode(
    ffmpeg: &Ffmpeg,
    source: &Source,
    settings: &Settings,
    rung: &Rung,
    dir: &Path,
    stop: &AtomicBool,
    tell: &dyn Fn(u64),
) -> Result<(Encoded, Words), PackError> {
    let mut words = Words::default();
    let mut writer = Writer::open(settings, dir)?;
    let job = job(source, settings, rung, dir, writer.next);
    let before = writer.next * settings.frames;
    let mut far = before;
    tell(far);
    let mut cutter = Cutter::default();
    let unexpected = |chunk: u64, e: InputError| PackError::Unexpected {
        what: format!("chunk {} of {}", chunk + 1, rung.name),
        found: e.found,
        expected: e.expected,
    };
    let ran = ffmpeg.run(&job, stop, &mut |heard| {
        match heard {
            Heard::Bytes(bytes) => {
                for part in cutter.take(&bytes).map_err(|e| unexpected(writer.next, e))? {
                    writer.write(part, &unexpected)?;
                }
                far = far.max(writer.frames);
            }
            Heard::Frames(frames) => far = far.max(before + frames),
            Heard::Warning(text) => {
                words.is_changing |= text.contains(CHANGING);
                return Ok(());
            }
            Heard::Line(_) => return Ok(()),
        }
        tell(far);
        Ok(())
    });
    if writer.foreign {
        remove(dir)?;
        return encode(ffmpeg, source, settings, rung, dir, stop, tell);
    }
    words.complaints = last_words(&ran?);
    if cutter.rest() > 0 || writer.next == 0 {
        let found = InputError::new("the stream ends within it", "expected whole chunks");
        return Err(unexpected(writer.next, found));
    }
    let encoded = Encoded { frames: writer.frames, chunks: writer.next };
    sync_folder(dir)?;
    Ok((encoded, words))
}

fn job<'a>(
    source: &Source,
    settings: &Settings,
    rung: &Rung,
    dir: &'a Path,
    chunk: u64,
) -> Job<'a> {
    let mut arguments: Vec<OsString> = Vec::new();
    push(&mut arguments, ["-nostdin", "-hide_banner", "-v", LEVELS, "-nostats"]);
    push(&mut arguments, ["-progress", "pipe:2"]);
    push(&mut arguments, filters::ONE_STREAM);
    push(&mut arguments, ["-i"]);
    push(&mut arguments, [input(&source.file)]);
    let mut chain = filters::steady(source, settings.fps);
    if chunk > 0 {
        // Counted from the very beginning: no seeking, so the cut is at the frame.
        let first = chunk * settings.frames;
        chain.push_str(&format!(",trim=start_frame={first},setpts=PTS-STARTPTS"));
    }
    chain.push(',');
    chain.push_str(&filters::sized(source, rung.width, rung.height));
    let stream = source.streams.video_of(0);
    push(&mut arguments, ["-map", &stream, "-vf", &chain, "-fps_mode", "passthrough"]);
    arguments.extend(settings.arguments(rung));
    let (timescale, _) = settings.ticks();
    push(&mut arguments, ["-video_track_timescale", &timescale.to_string()]);
    // Presentation begins at zero by an edit list. Negative offsets would do as well, but ffmpeg
    // and the players made of it then show the pictures late by as much.
    let flags = "+cmaf+delay_moov+skip_trailer+frag_keyframe+default_base_moof";
    push(&mut arguments, ["-use_editlist", "1", "-movflags", flags]);
    push(&mut arguments, ["-fflags", "+bitexact", "-flags:v", "+bitexact"]);
    push(&mut arguments, ["-map_metadata", "-1", "-map_chapters", "-1", "-f", "mp4", "pipe:1"]);
    if let Some(audio) = source.streams.audio_of(0) {
        push(&mut arguments, filters::also(&audio));
    }
    Job { doing: format!("encoding {}", rung.name), dir, arguments, feed: Vec::new() }
}

/// Puts parts of the stream into files.
struct Writer<'a> {
    dir: &'a Path,
    settings: &'a Settings,
    shape: Shape,
    init: Option<Init>,
    /// The chunk that is written next, from 0.
    next: u64,
    /// Frames so far.
    frames: u64,
    /// True if what is there was begun by another ffmpeg, whose chunks need another initialisation
    /// segment.
    foreign: bool,
}

impl<'a> Writer<'a> {
    /// Finds what is there. The last chunk may be a short one and may have frames after it, so it
    /// is made again.
    fn open(settings: &'a Settings, dir: &'a Path) -> Result<Self, PackError> {
        fs::create_dir_all(dir).map_err(PackError::io("create", dir))?;
        let (_, ticks) = settings.ticks();
        let shape = Shape { frames: settings.frames, ticks: u64::from(ticks) };
        let mut writer =
            Self { dir, settings, shape, init: None, next: 0, frames: 0, foreign: false };
        let there = (0..).take_while(|n| writer.path(*n).exists()).count() as u64;
        let init = fs::read(dir.join("init.mp4")).ok().and_then(|b| Init::read(&b).ok());
        let keep = match init {
            Some(init) => {
                writer.init = Some(init);
                there.saturating_sub(1)
            }
            None => 0,
        };
        for chunk in keep..there {
            remove(&writer.path(chunk))?;
        }
        for chunk in 0..keep {
            let path = writer.path(chunk);
            let bytes = fs::read(&path).map_err(PackError::io("read", &path))?;
            let init = writer.init.as_ref();
            let whole = init
                .is_some_and(|i| shape.check(&bytes, i, chunk).is_ok_and(|n| n == settings.frames));
            if !whole {
                // Not of this job, or damaged: from the beginning.
                remove(dir)?;
                return Self::open(settings, dir);
            }
        }
        (writer.next, writer.frames) = (keep, keep * settings.frames);
        Ok(writer)
    }

    fn path(&self, chunk: u64) -> std::path::PathBuf {
        self.dir.join(format!("{}.m4s", chunk + 1))
    }

    fn write(
        &mut self,
        part: Part,
        unexpected: &dyn Fn(u64, InputError) -> PackError,
    ) -> Result<(), PackError> {
        match part {
            Part::Init(bytes) => {
                let init = Init::read(&bytes).map_err(|e| unexpected(self.next, e))?;
                match &self.init {
                    None => {
                        write_whole(&self.dir.join("init.mp4"), &bytes)?;
                        self.init = Some(init);
                    }
                    Some(before) if before.description == init.description => {}
                    Some(_) => {
                        self.foreign = true;
                        let e = InputError::new("another initialisation segment", "expected one");
                        return Err(unexpected(self.next, e));
                    }
                }
            }
            Part::Chunk(mut bytes) => {
                let number = self.next;
                let fault = |e| unexpected(number, e);
                let init = self.init.as_ref().ok_or_else(|| {
                    fault(InputError::new("no initialisation segment before it", "expected one"))
                })?;
                if self.frames != number * self.settings.frames {
                    let e = InputError::new("the chunk before it is short", "expected a full one");
                    return Err(fault(e));
                }
                self.shape.place(&mut bytes, init, number).map_err(fault)?;
                self.frames += self.shape.check(&bytes, init, number).map_err(fault)?;
                write_whole(&self.path(number), &bytes)?;
                self.next += 1;
            }
        }
        Ok(())
    }
}
