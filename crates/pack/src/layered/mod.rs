//! From a video to a packed layered video: VP9 in layers of quality at several rates, with the SSIM of
//! every layer of every frame.
//!
//! ffmpeg decodes the source once; an encoder per rate, each on a thread of its own, takes its pictures
//! as they come, so that nothing but what is made is on the disk.

mod encoding;
mod ssim;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use airlane_base::{InputError, Rate};
use airlane_media::layers::{self, GOP, LAYERS, MAX_ENCODINGS, MAX_FRAMES, MAX_TABLE_BYTES};
use airlane_vpx::Library;
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use crate::codec::Speed;
use crate::error::PackError;
use crate::ffmpeg::{Ffmpeg, Heard, Job, input, push};
use crate::filters;
use crate::manifest::plain_name;
use crate::probe::{Source, probe};
use crate::progress::{Event, Observer, Progress};
use encoding::{Encoding, encode};

/// Rates at least and at most, bits/s.
const RATES_BPS: std::ops::RangeInclusive<f64> = 50e3..=200e6;
/// Size of a frame's entry in the table at one rate, about: three sizes and three SSIM.
const TABLE_BYTES: u64 = 60;
/// By how much an encoding must have a higher rate than the one below it.
const MIN_RISE: f64 = 1.02;
/// Pictures that may wait for an encoder.
const WAITING: usize = 8;

/// A video to be packed in layers. [`LayeredRequest::new`] has the defaults.
#[derive(Clone, Debug)]
pub struct LayeredRequest {
    /// The video, any file that ffmpeg reads.
    pub video: PathBuf,
    /// The file that is made; `None`: the video's name with `.layers`, in the current folder.
    pub file: Option<PathBuf>,
    /// Name of the clip, letters, digits, `.`, `_` and `-`; `None`: from the name of the video.
    pub name: Option<String>,
    /// Title, for people; `None`: the name of the video.
    pub title: Option<String>,
    /// The rates of all layers together, rising; empty: by the size and frame rate of the video.
    pub rates: Vec<Rate>,
    /// Time that the encoder takes. Default: normal, which is what the embedded tables have.
    pub speed: Speed,
    /// The ffmpeg to use; `None`: the one on the path.
    pub ffmpeg: Option<PathBuf>,
    /// The libvpx to use; `None`: the system's.
    pub libvpx: Option<PathBuf>,
    /// Replace a file that is there. Default: no.
    pub replace: bool,
}

impl LayeredRequest {
    /// The default request for a video.
    pub fn new(video: impl Into<PathBuf>) -> Self {
        Self {
            video: video.into(),
            file: None,
            name: None,
            title: None,
            rates: Vec::new(),
            speed: Speed::default(),
            ffmpeg: None,
            libvpx: None,
            replace: false,
        }
    }
}

/// Report on a layered video that was made.
#[derive(Clone, Debug, PartialEq)]
pub struct LayeredReport {
    /// The file.
    pub file: PathBuf,
    /// Frames of the clip.
    pub frames: usize,
    /// Its length.
    pub duration: Duration,
    /// Width and height.
    pub size: (u32, u32),
    /// The encodings, their rates rising.
    pub encodings: Vec<EncodingReport>,
}

/// One encoding of what was made.
#[derive(Clone, Debug, PartialEq)]
pub struct EncodingReport {
    /// The rate that the encoder was told.
    pub target: Rate,
    /// The rate of each layer with those below it.
    pub rates: [Rate; LAYERS],
    /// Mean SSIM in dB up to each layer.
    pub ssim_db: [f64; LAYERS],
}

/// Packs a video in layers: see `docs/guide/pack.md`.
///
/// `observer` hears how far it is. Raising `stop` ends it and leaves nothing.
///
/// # Errors
/// [`PackError`]: a request or a video that cannot be used, no ffmpeg or libvpx, a file that is there or
/// cannot be written, what these say if they fail.
pub fn pack_layered(
    request: &LayeredRequest,
    observer: Observer<'_>,
    stop: &AtomicBool,
) -> Result<LayeredReport, PackError> {
    let stem = request.video.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = request.name.clone().unwrap_or_else(|| plain_name(&stem));
    if name != plain_name(&name) {
        let expected = format!("expected {}", airlane_media::name::EXPECTED);
        return Err(InputError::new(format!("{name:?}"), expected).at_key("name").into());
    }
    let file = request.file.clone().unwrap_or_else(|| format!("{name}.layers").into());
    if file.exists() && !request.replace {
        return Err(PackError::Occupied {
            dir: file,
            holds: "something already".to_owned(),
            advice: "give another file, or replace it with --overwrite",
        });
    }
    let library = Arc::new(Library::open(request.libvpx.as_deref())?);
    let ffmpeg = Ffmpeg::open(request.ffmpeg.as_deref(), stop)?;
    let source = probe(&ffmpeg, &request.video, stop)?.silent();
    source.notes.iter().for_each(|note| observer(Event::Warning(note.clone())));
    let rates = rates(request, &source)?;
    let folder = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(PackError::io("create", folder))?;
    let mut made = encode_all(&ffmpeg, &library, &source, request, &rates, folder, observer, stop)?;
    drop_repeated(&mut made, observer);
    let title = request.title.clone().unwrap_or(stem);
    let made_with = json!({ "libvpx": library.version(), "ffmpeg": ffmpeg.version });
    let table = table(&name, &title, &source, &made, made_with);
    write(&file, folder, &table, &mut made)?;
    let fps = source.fps.as_f64();
    let frames = made.first().map_or(0, |e| e.frames.len());
    Ok(LayeredReport {
        file,
        frames,
        duration: Duration::from_secs_f64(frames as f64 / fps),
        size: (source.width, source.height),
        encodings: made.iter().map(|encoding| encoding.report(fps)).collect(),
    })
}

/// The rates, checked.
fn rates(request: &LayeredRequest, source: &Source) -> Result<Vec<Rate>, InputError> {
    let rates = match &request.rates[..] {
        [] => layers::usual_rates(source.width, source.height, source.fps),
        given => given.to_vec(),
    };
    let wrong = |found: String, expected: &str| {
        Err(InputError::new(found, format!("expected {expected}")).at_key("rates"))
    };
    if rates.len() > MAX_ENCODINGS {
        return wrong(format!("{} rates", rates.len()), "64 at most");
    }
    if !rates.is_sorted_by(|a, b| a < b) || rates.iter().any(|r| !RATES_BPS.contains(&r.as_f64())) {
        return wrong(format!("{rates:?}"), "rates from 50k to 200M that rise");
    }
    let frames = source.frames();
    let most =
        (u64::from(MAX_TABLE_BYTES) / TABLE_BYTES / rates.len() as u64).min(MAX_FRAMES as u64);
    if !(u64::from(GOP)..=most).contains(&frames) {
        let expected = format!("expected {GOP} to {most} at {} rates: cut the video", rates.len());
        return Err(InputError::new(format!("{frames} frames"), expected).at_file(&source.file));
    }
    Ok(rates)
}

/// Encodes the source at each rate.
#[expect(clippy::too_many_arguments, reason = "all that the work is of, and used once")]
fn encode_all(
    ffmpeg: &Ffmpeg,
    library: &Arc<Library>,
    source: &Source,
    request: &LayeredRequest,
    rates: &[Rate],
    folder: &Path,
    observer: Observer<'_>,
    stop: &AtomicBool,
) -> Result<Vec<Encoding>, PackError> {
    let mut encodings = Vec::new();
    for &rate in rates {
        let file = NamedTempFile::new_in(folder).map_err(PackError::io("write in", folder))?;
        encodings.push(Encoding::begin(library, source, rate, request.speed, file)?);
    }
    let picture_bytes = source.width as usize * source.height as usize * 3 / 2;
    let progress = Progress::new(observer, source.frames() as f64);
    let ended = thread::scope(|scope| {
        let (mut to, mut threads) = (Vec::new(), Vec::new());
        for encoding in encodings {
            let (sender, pictures) = mpsc::sync_channel::<Arc<Vec<u8>>>(WAITING);
            to.push(sender);
            threads.push(scope.spawn(move || encode(encoding, &pictures)));
        }
        let (mut picture, mut count) = (Vec::with_capacity(picture_bytes), 0_u64);
        let ran = ffmpeg.run(&decoding(source, folder), stop, &mut |heard| {
            let Heard::Bytes(mut bytes) = heard else { return Ok(()) };
            while !bytes.is_empty() {
                let rest = bytes.split_off(bytes.len().min(picture_bytes - picture.len()));
                picture.append(&mut bytes);
                bytes = rest;
                if picture.len() < picture_bytes {
                    continue;
                }
                let whole =
                    Arc::new(std::mem::replace(&mut picture, Vec::with_capacity(picture_bytes)));
                count += 1;
                // An encoder that is gone says why when its thread is joined.
                if to.iter().any(|sender| sender.send(whole.clone()).is_err()) {
                    return Err(PackError::Stopped);
                }
                progress.tell(count as f64, "encoding in layers");
            }
            Ok(())
        });
        drop(to);
        // What an encoder says comes before what its end made of ffmpeg.
        let mut done = Vec::new();
        for thread in threads {
            match thread.join() {
                Ok(encoding) => done.push(encoding?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        ran.map(|_| done)
    });
    let done = ended?;
    if done.first().is_none_or(|e| e.frames.len() < GOP as usize) {
        let found = InputError::new("it ends within its first frames", "expected a whole video");
        return Err(found.at_file(&source.file).into());
    }
    Ok(done)
}

/// The pictures of a source, one after the other: planar 4:2:0, 8 bits.
fn decoding<'a>(source: &Source, dir: &'a Path) -> Job<'a> {
    let mut arguments = Vec::new();
    push(&mut arguments, ["-nostdin", "-hide_banner", "-v", "error", "-nostats"]);
    push(&mut arguments, filters::ONE_STREAM);
    push(&mut arguments, ["-i".into(), input(&source.file)]);
    let steady = filters::steady(source, source.fps);
    let chain = format!("{steady},{}", filters::sized(source, source.width, source.height));
    let stream = source.streams.video_of(0);
    push(&mut arguments, ["-map", &stream, "-vf", &chain, "-fps_mode", "passthrough"]);
    push(&mut arguments, ["-f", "rawvideo", "pipe:1"]);
    Job { doing: "decoding the video".to_owned(), dir, arguments, feed: Vec::new() }
}

/// Leaves out encodings that have hardly more than the one below: the finest quantiser needs no more.
fn drop_repeated(encodings: &mut Vec<Encoding>, observer: Observer<'_>) {
    let mut highest = 0.0;
    encodings.retain(|encoding| {
        let bytes = encoding.bytes() as f64;
        let rises = bytes >= highest * MIN_RISE;
        if rises {
            highest = bytes;
        } else {
            let mbps = encoding.target.as_f64() / 1e6;
            (observer)(Event::Warning(format!(
                "the encoding at {mbps} Mbit/s is left out: it has hardly more bytes than the one below it"
            )));
        }
        rises
    });
}

fn table(name: &str, title: &str, source: &Source, made: &[Encoding], with: Value) -> String {
    let fps = source.fps.as_f64();
    let encodings: Vec<Value> = made.iter().map(|encoding| encoding.table(fps)).collect();
    let source_name = source.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    json!({
        "format": layers::FORMAT,
        "version": layers::VERSION,
        "video": name,
        "title": title,
        "source": source_name,
        "fps": fps,
        "width": source.width,
        "height": source.height,
        "quality": { "codec": "vp9", "gop": GOP, "layers": LAYERS, "encodings": encodings },
        "made": with,
    })
    .to_string()
}

/// Writes the file under another name, and gives it its own when it is whole.
fn write(file: &Path, folder: &Path, table: &str, made: &mut [Encoding]) -> Result<(), PackError> {
    let whole = NamedTempFile::new_in(folder).map_err(PackError::io("write in", folder))?;
    let mut to = BufWriter::new(whole.as_file());
    let mut all = || -> io::Result<()> {
        layers::write_head(&mut to, table)?;
        for encoding in &mut *made {
            encoding.copy_to(&mut to)?;
        }
        to.flush()?;
        to.get_ref().sync_all()
    };
    all().map_err(PackError::io("write", file))?;
    drop(to);
    readable(whole.as_file()).map_err(PackError::io("write", file))?;
    whole.persist(file).map_err(|e| PackError::io("write", file)(e.error))?;
    Ok(())
}

/// Temporary files are their owner's alone; what is made is as other files are.
fn readable(file: &File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.set_permissions(fs::Permissions::from_mode(0o644))?;
    }
    Ok(())
}
