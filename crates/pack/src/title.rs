//! The quality table of a title that exists.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use airlane_base::InputError;
use airlane_media::dash::{self, FrameRate, Object, Presentation, Representation};
use airlane_media::mp4::{Init, Track, fragments};
use airlane_media::{table, url};
use serde_json::json;

use crate::error::PackError;
use crate::ffmpeg::{Ffmpeg, Piece};
use crate::manifest::{self, Listed};
use crate::pack::vmaf_every;
use crate::probe::probe;
use crate::progress::{Event, Observer, Progress};
use crate::request::{MeasureReport, MeasureRequest};
use crate::score::{NO_VMAF, Subject, Vmaf, metrics, score};
use crate::work::write_whole;

/// A chunk or an index of more bytes than this is refused.
const MAX_PIECE_BYTES: u64 = 1 << 30;
/// How far chunks and frames of a title may differ in length and still count as equal.
const EQUAL: f64 = 0.1;

/// Measures a DASH title beside the source that it was made from, and writes its quality table
/// beside its manifest. Of several codecs the one with the most rungs counts.
///
/// The title must be in fragmented MP4 files within the manifest's folder, its chunks (but the
/// last) and its frames of equal length; frame n of each rung is compared with frame n of the
/// source at the rung's frame rate.
///
/// # Errors
/// [`PackError`]: a manifest or a source that cannot be used, files that are missing or elsewhere,
/// no ffmpeg, ffmpeg's own reason if it fails.
pub fn measure(
    request: &MeasureRequest,
    observer: Observer<'_>,
    stop: &AtomicBool,
) -> Result<MeasureReport, PackError> {
    vmaf_every(request.vmaf_every)?;
    let manifest = &request.manifest;
    let title = read_manifest(manifest)?;
    let folder = std::path::absolute(manifest).map_err(PackError::io("find", manifest))?;
    let folder = folder.parent().unwrap_or(Path::new("/")).to_owned();
    let at_manifest = |e: InputError| PackError::from(e.at_file(manifest));
    let target = title.chunk_table.as_deref().unwrap_or(dash::CHUNK_TABLE);
    let target = local(target, &folder).map_err(at_manifest)?;
    let ladder = ladder(&title, observer).map_err(at_manifest)?;
    let mut rungs = Vec::new();
    for representation in ladder {
        rungs.push(Rung::read(representation.clone(), &folder, manifest)?);
    }
    let (chunk, fps) = same_shape(&rungs).map_err(at_manifest)?;

    let ffmpeg = Ffmpeg::open(request.ffmpeg.as_deref(), stop)?;
    let source = probe(&ffmpeg, &request.source, stop)?;
    let total = rungs[0].listed.representation.total();
    if source.duration.abs_diff(total) > chunk {
        observer(Event::Warning(format!(
            "the source is {:.2} s long and the title {:.2} s: is it the right one?",
            source.duration.as_secs_f64(),
            total.as_secs_f64()
        )));
    }
    let vmaf = Vmaf::of(&ffmpeg, request.vmaf_every, stop)?;
    if vmaf.is_none() {
        observer(Event::Warning(NO_VMAF.to_owned()));
    }
    let frames: u64 = rungs.iter().flat_map(|r| &r.frames).sum();
    let progress = Progress::new(observer, frames as f64);
    let scratch =
        tempfile::tempdir().map_err(PackError::io("create a folder in", std::env::temp_dir()))?;
    let mut rows = Vec::new();
    for rung in rungs {
        let name = rung.listed.representation.id.clone();
        let doing = format!("measuring {name}");
        let units = rung.frames.iter().sum::<u64>() as f64;
        let tell = |frames: u64| progress.tell((frames as f64).min(units), &doing);
        let Rung { listed, pieces, frames, fps, .. } = rung;
        let subject = Subject { name: &name, pieces, fps, frames };
        let scores = score(&ffmpeg, &source, subject, vmaf, scratch.path(), stop, &tell)?;
        progress.finish(units);
        let nominal = listed.representation.bandwidth;
        rows.push(manifest::table_rung(&listed, nominal, scores));
    }
    let stem = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name = request.name.clone().unwrap_or_else(|| manifest::plain_name(&stem));
    let file = request.source.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let video = manifest::table(name, stem, file, fps, chunk, rows).map_err(at_manifest)?;
    let made = json!({
        "by": concat!("airlane pack --measure ", env!("CARGO_PKG_VERSION")),
        "ffmpeg": ffmpeg.version,
        "measured_at": format!("{}x{}", source.width, source.height),
        "metrics": metrics(vmaf),
        "vmaf_every_frames": vmaf.map(|_| request.vmaf_every),
    });
    write_whole(&target, table::to_json_with(&video, &made).as_bytes())?;
    Ok(MeasureReport {
        table: target,
        chunks: video.chunks(),
        rungs: manifest::reports(&video, total),
    })
}

fn read_manifest(path: &Path) -> Result<Presentation, InputError> {
    let failed = |e: std::io::Error| InputError::io(path, "read the manifest", &e);
    let mut text = String::new();
    let file = File::open(path).map_err(failed)?;
    // One byte more than the parser takes, so that it can say that it is too much.
    file.take(dash::MAX_BYTES as u64 + 1).read_to_string(&mut text).map_err(failed)?;
    dash::parse(&text).map_err(|e| e.at_file(path))
}

/// The rungs that are measured: those of the codec with the most of them. Adaptation sets do not
/// count, as some packagers put every rung into one of its own.
fn ladder<'a>(
    title: &'a Presentation,
    observer: Observer<'_>,
) -> Result<Vec<&'a Representation>, InputError> {
    let codec = |r: &'a Representation| r.codecs.split('.').next().unwrap_or_default();
    let of = |name: &str| title.video.iter().filter(|r| codec(r) == name).count();
    // Of equals the first.
    let best = title.video.iter().map(codec).rev().max_by_key(|name| of(name));
    let best = best.ok_or_else(|| {
        InputError::new("no pictures", "expected an AdaptationSet of video").at_key("Period")
    })?;
    if of(best) < title.video.len() {
        observer(Event::Warning(format!(
            "the title has pictures in several codecs: only {best} is measured"
        )));
    }
    Ok(title.video.iter().filter(|r| codec(r) == best).collect())
}

/// A rung with its files found.
struct Rung {
    listed: Listed,
    pieces: Vec<Piece>,
    /// Frames of each chunk.
    frames: Vec<u64>,
    fps: FrameRate,
}

impl Rung {
    fn read(mut r: Representation, folder: &Path, manifest: &Path) -> Result<Self, PackError> {
        let key = format!("Representation {}", r.id);
        let fault = |e: InputError| PackError::from(e.at_key(&*key).at_file(manifest));
        if let Some(index) = r.index.clone() {
            let bytes = piece(&index, folder).map_err(fault)?;
            r.fill(&read(&bytes)?).map_err(fault)?;
            // What is before the index initialises, if nothing else is said to.
            let before =
                index.range.map(|range| dash::ByteRange { offset: 0, length: range.offset });
            r.init.get_or_insert(Object { url: index.url, range: before });
        }
        let missing = || {
            let expected = "expected fragmented MP4 with an initialisation segment";
            InputError::new("no initialisation segment", expected)
        };
        let object = r.init.as_ref().ok_or_else(|| fault(missing()))?;
        let init_piece = piece(object, folder).map_err(fault)?;
        let at = |file: &Path, e: InputError| PackError::from(e.at_file(file));
        let init = Init::read(&read(&init_piece)?).map_err(|e| at(&init_piece.file, e))?;
        if let Track::Video { width, height } = init.track {
            r.width.get_or_insert(u32::from(width));
            r.height.get_or_insert(u32::from(height));
        }
        let mut pieces = vec![init_piece];
        let (mut frames, mut bytes, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
        for chunk in &r.chunks {
            let piece = piece(&chunk.object, folder).map_err(fault)?;
            let data = read(&piece)?;
            let found = fragments(&data, &init).map_err(|e| at(&piece.file, e))?;
            let samples: Vec<u32> =
                found.iter().flat_map(|f| &f.samples).map(|s| s.duration).collect();
            if samples.is_empty() {
                let e = InputError::new("a chunk without frames", "expected fragmented MP4");
                return Err(at(&piece.file, e));
            }
            frames.push(samples.len() as u64);
            bytes.push(data.len() as u64);
            lengths.extend(samples);
            pieces.push(piece);
        }
        let fps = frame_rate(&lengths, init.timescale).map_err(fault)?;
        Ok(Self { listed: Listed { representation: r, bytes }, pieces, frames, fps })
    }
}

/// The rate of frames of equal length; the last one does not count.
fn frame_rate(lengths: &[u32], timescale: u32) -> Result<FrameRate, InputError> {
    let mut sorted = lengths.split_last().map_or(lengths, |(_, r)| r).to_vec();
    sorted.sort_unstable();
    let median = sorted.get(sorted.len() / 2).or(lengths.first()).copied().unwrap_or(0);
    let equal = |l: &u32| (f64::from(*l) / f64::from(median) - 1.0).abs() <= EQUAL;
    // A few may be off, as clocks in milliseconds make them.
    let odd = sorted.iter().filter(|l| !equal(l)).count();
    if median == 0 || odd * 50 > sorted.len() {
        return Err(InputError::new(
            "frames of different lengths",
            "expected a constant frame rate, by which frames are found in the source",
        ));
    }
    if equal(&sorted.first().copied().unwrap_or(median))
        && sorted.first().is_none_or(|f| *f == median)
        && sorted.last().is_none_or(|l| *l == median)
    {
        return Ok(FrameRate { frames: timescale, seconds: median });
    }
    // Of a coarse clock the mean says more.
    let sum: u64 = sorted.iter().map(|l| u64::from(*l)).sum();
    let rate = sorted.len() as f64 * f64::from(timescale) / sum as f64;
    Ok(FrameRate { frames: (rate * 1000.0).round() as u32, seconds: 1000 })
}

/// The length of chunks, which a table has one of, and the frame rate of the best rung.
fn same_shape(rungs: &[Rung]) -> Result<(Duration, FrameRate), InputError> {
    let first = &rungs[0].listed.representation;
    let chunk = first.duration(0).unwrap_or_default();
    for Rung { listed: Listed { representation: r, .. }, .. } in rungs {
        let all_but_last = r.chunks.len().saturating_sub(1);
        for i in 0..all_but_last {
            let length = r.duration(i).unwrap_or_default();
            if length.abs_diff(chunk).as_secs_f64() > chunk.as_secs_f64() * EQUAL {
                let (found, expected) = (length.as_secs_f64(), chunk.as_secs_f64());
                return Err(InputError::new(
                    format!("chunk {} is {found:.3} s long and the first {expected:.3} s", i + 1),
                    "expected chunks of one length, which a quality table has",
                )
                .at_key(format!("Representation {}", r.id)));
            }
        }
    }
    Ok((chunk, rungs[rungs.len() - 1].fps))
}

/// The file that a URL names within a folder.
fn local(reference: &str, folder: &Path) -> Result<PathBuf, InputError> {
    let outside = || {
        InputError::new(
            format!("the URL {reference:?}"),
            "expected files within the folder of the manifest",
        )
    };
    if url::is_absolute(reference) {
        return Err(outside());
    }
    let path = reference.split(['?', '#']).next().unwrap_or_default();
    let path = PathBuf::from(decoded(path).ok_or_else(outside)?);
    let within = path.components().all(|c| matches!(c, Component::Normal(_)));
    if !within || path.as_os_str().is_empty() {
        return Err(outside());
    }
    Ok(folder.join(path))
}

/// Without percent-encoding; `None` if that is no text for a path.
fn decoded(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let hex = bytes.get(at + 1..at + 3).filter(|_| byte == b'%');
        let hex = hex.and_then(|h| std::str::from_utf8(h).ok());
        match hex.and_then(|h| u8::from_str_radix(h, 16).ok()) {
            Some(decoded) => {
                out.push(decoded);
                at += 3;
            }
            None => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(out).ok().filter(|t| !t.contains('\0'))
}

fn piece(object: &Object, folder: &Path) -> Result<Piece, InputError> {
    let file = local(&object.url, folder)?;
    let offset = object.range.map_or(0, |r| r.offset);
    Ok(Piece { file, offset, length: object.range.map(|r| r.length) })
}

fn read(piece: &Piece) -> Result<Vec<u8>, PackError> {
    let failed = || PackError::io("read", &piece.file);
    let about = fs::metadata(&piece.file).map_err(failed())?;
    let length = piece.length.unwrap_or_else(|| about.len().saturating_sub(piece.offset));
    let beyond = piece.offset.checked_add(length).is_none_or(|end| end > about.len());
    if beyond || length > MAX_PIECE_BYTES {
        let found = format!("{length} bytes from {} on of {}", piece.offset, about.len());
        let expected = "expected a range within the file, and at most 1 GiB";
        return Err(InputError::new(found, expected).at_file(&piece.file).into());
    }
    let mut file = File::open(&piece.file).map_err(failed())?;
    file.seek(SeekFrom::Start(piece.offset)).map_err(failed())?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes).map_err(failed())?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_stay_within_the_folder() {
        let folder = Path::new("/title");
        let path = |url| local(url, folder).ok();
        assert_eq!(path("video/1.m4s?a=b"), Some("/title/video/1.m4s".into()));
        assert_eq!(path("a%20b.mp4"), Some("/title/a b.mp4".into()));
        for url in [
            "../1.m4s",
            "/etc/passwd",
            "http://a/b",
            "//a/b",
            "a/%2e%2e/%2e%2e/b",
            "",
            "%2Fa",
            "a%00b",
            "?x",
        ] {
            assert_eq!(path(url), None, "{url}");
        }
    }

    #[test]
    fn rates_come_from_the_lengths_of_frames() {
        let rate = |lengths: &[u32], timescale| {
            frame_rate(lengths, timescale).map(|r| r.to_string()).map_err(|e| e.found)
        };
        assert_eq!(rate(&[1001, 1001, 1001, 9], 24_000).as_deref(), Ok("24000/1001"));
        assert_eq!(rate(&[40], 1000).as_deref(), Ok("1000/40"));
        assert_eq!(rate(&[33, 33, 34, 33, 33, 34, 33], 1000).as_deref(), Ok("30000/1000"));
        assert!(rate(&[10, 20, 30, 40], 1000).is_err());
        assert!(rate(&[], 1000).is_err());
    }
}
