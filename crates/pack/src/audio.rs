//! The sound of a title.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use airlane_base::Rate;

use crate::error::PackError;
use crate::ffmpeg::{Ffmpeg, Job, input, last_words, push};
use crate::filters;
use crate::probe::Source;
use crate::work::{remove, sync_folder};

/// Samples per second.
pub(crate) const SAMPLING_HZ: u32 = 48_000;

/// Format of the sound, and the lengths that it follows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sound {
    pub(crate) channels: u32,
    pub(crate) rate: Rate,
    /// Length of the pictures, which it gets too, in seconds.
    pub(crate) length_s: f64,
    /// Length of a chunk of pictures in seconds; sound is cut at the samples nearest to it.
    pub(crate) chunk_s: f64,
}

/// Encodes the sound into a folder: `init.mp4`, `1.m4s` and so on. It begins with the pictures and
/// ends with them: silence fills what lacks at either end and in gaps. Returns what ffmpeg
/// complained of.
pub(crate) fn encode(
    ffmpeg: &Ffmpeg,
    source: &Source,
    sound: Sound,
    dir: &Path,
    stop: &AtomicBool,
) -> Result<String, PackError> {
    let part = dir.with_extension("part");
    remove(&part)?;
    fs::create_dir_all(&part).map_err(PackError::io("create", &part))?;
    let mut arguments: Vec<OsString> = Vec::new();
    push(&mut arguments, ["-nostdin", "-hide_banner", "-v", "error", "-nostats", "-i"]);
    push(&mut arguments, [input(&source.file)]);
    let chain = format!("aresample={SAMPLING_HZ}:async=1:first_pts=0,apad");
    let stream = source.streams.audio_of(0).unwrap_or_default();
    push(&mut arguments, ["-map", &stream, "-af", &chain]);
    push(&mut arguments, ["-t", &format!("{:.6}", sound.length_s)]);
    push(&mut arguments, ["-c:a", "aac", "-b:a", &sound.rate.bps().to_string()]);
    push(&mut arguments, ["-ac", &sound.channels.to_string()]);
    push(&mut arguments, ["-fflags", "+bitexact", "-flags:a", "+bitexact"]);
    push(&mut arguments, ["-map_metadata", "-1", "-map_chapters", "-1"]);
    // This muxer cuts at multiples of the length; the plain one counts from the last cut.
    push(&mut arguments, ["-f", "dash", "-dash_segment_type", "mp4"]);
    push(&mut arguments, ["-seg_duration", &format!("{:.6}", sound.chunk_s)]);
    push(&mut arguments, ["-init_seg_name", "init.mp4", "-media_seg_name", "$Number$.m4s"]);
    push(&mut arguments, ["manifest.mpd"]);
    push(&mut arguments, filters::also(&source.streams.video_of(0)));
    let job =
        Job { doing: "encoding the audio".to_owned(), dir: &part, arguments, feed: Vec::new() };
    let words = ffmpeg.run(&job, stop, &mut |_| Ok(()))?;
    remove(&part.join("manifest.mpd"))?;
    let entries = fs::read_dir(&part).map_err(PackError::io("read", &part))?;
    for entry in entries {
        let path = entry.map_err(PackError::io("read", &part))?.path();
        let synced = fs::File::open(&path).and_then(|f| f.sync_data());
        synced.map_err(PackError::io("write", &path))?;
    }
    sync_folder(&part)?;
    remove(dir)?;
    fs::rename(&part, dir).map_err(PackError::io("rename to", dir))?;
    Ok(last_words(&words))
}
