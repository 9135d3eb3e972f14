//! The quality table of a title that exists.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use airlane_base::InputError;
use airlane_media::dash::{self, FrameRate, Kind};
use airlane_media::table;
use serde_json::json;

use crate::error::PackError;
use crate::ffmpeg::Ffmpeg;
use crate::manifest;
use crate::order::vmaf_every;
use crate::probe::probe;
use crate::progress::{Event, Observer, Progress};
use crate::request::{MeasureReport, MeasureRequest};
use crate::rung::{EQUAL, Rung};
use crate::score::{NO_VMAF, Subject, Vmaf, metrics, score};
use crate::title_files::{list_chunks, local, read_manifest};
use crate::work::write_whole;

/// Measures a DASH title beside the source that it was made from, and writes its quality table
/// beside its manifest. Of several codecs the one with the most rungs counts.
///
/// The title must be in fragmented MP4 files within the manifest's folder that are not encrypted,
/// its chunks (but the last) and its frames of equal length; frame n of each rung is compared with
/// frame n of the source at the rung's frame rate, where its timeline has holes with the later one
/// of the same time.
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
    let mut title = read_manifest(manifest)?;
    let folder = std::path::absolute(manifest).map_err(PackError::io("find", manifest))?;
    let folder = folder.parent().unwrap_or(Path::new("/")).to_owned();
    let at_manifest = |e: InputError| PackError::from(e.at_file(manifest));
    let target = title.chunk_table.as_deref().unwrap_or(dash::CHUNK_TABLE);
    let target = local(target, &folder).map_err(at_manifest)?;
    title.choose(Kind::Video);
    if title.video.is_empty() {
        let e = InputError::new("no pictures", "expected an AdaptationSet of video");
        return Err(at_manifest(e.at_key("Period")));
    }
    for r in &mut title.video {
        let key = format!("Representation {}", r.id);
        list_chunks(r, &folder).map_err(|e| e.at_key(key).at_file(manifest))?;
    }
    title.align(Kind::Video);
    let mut warnings = title.notes.clone();
    let mut rungs = Vec::new();
    for representation in title.video {
        rungs.push(Rung::read(representation, &folder, manifest, &mut warnings)?);
    }
    warnings.into_iter().for_each(|text| observer(Event::Warning(text)));
    let (chunk, fps) = same_shape(&rungs).map_err(at_manifest)?;

    let ffmpeg = Ffmpeg::open(request.ffmpeg.as_deref(), stop)?;
    let source = probe(&ffmpeg, &request.source, stop)?;
    let total = rungs[0].listed.representation.end();
    // A title may or may not go on with the sound.
    let lengths = [source.duration, source.duration + source.hold];
    if lengths.iter().all(|length| length.abs_diff(total) > chunk) {
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
        let Rung { listed, pieces, frames, fps, runs } = rung;
        let subject = Subject { name: &name, pieces, fps, frames, runs };
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

/// The length of chunks, which a table has one of, and the frame rate of the best rung.
fn same_shape(rungs: &[Rung]) -> Result<(Duration, FrameRate), InputError> {
    let first = &rungs[0].listed.representation;
    let chunk = first.duration(0).unwrap_or_default();
    for rung in rungs {
        let r = &rung.listed.representation;
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
