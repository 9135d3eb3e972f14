//! The streams of a video, and which of them are packed.

use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use airlane_base::InputError;

use crate::error::PackError;
use crate::ffmpeg::{Ffmpeg, Heard, Job, input, push};

/// Streams of a file; more are not looked at.
const MAX_STREAMS: usize = 1_000;

/// The streams that are packed, by their numbers in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Streams {
    pub(crate) video: usize,
    pub(crate) audio: Option<usize>,
    /// Streams that are left out besides sound, for people.
    pub(crate) left_out: Vec<String>,
    /// Streams of sound that are left out, for people.
    pub(crate) sound_left_out: Vec<String>,
}

impl Streams {
    /// As ffmpeg's options name the pictures of its input `number`.
    pub(crate) fn video_of(&self, number: usize) -> String {
        format!("{number}:{}", self.video)
    }

    /// As ffmpeg's options name the sound of its input `number`.
    pub(crate) fn audio_of(&self, number: usize) -> Option<String> {
        Some(format!("{number}:{}", self.audio?))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamKind {
    Video,
    Audio,
    Subtitle,
}

/// A stream as ffmpeg's log describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stream {
    number: usize,
    kind: StreamKind,
    language: String,
    /// Width and height; 0 of what has none.
    size: (u32, u32),
    is_default: bool,
    /// A cover or a thumbnail.
    is_still: bool,
}

/// Lists the streams of a file and chooses of them: of pictures that move the stream that the
/// container marks as the default one, of several or none the largest, of equals the first; of sound
/// the default one or the first.
///
/// # Errors
/// If ffmpeg cannot read it, or there are no pictures in it.
pub(crate) fn choose(
    ffmpeg: &Ffmpeg,
    file: &Path,
    stop: &AtomicBool,
) -> Result<Streams, PackError> {
    let mut arguments: Vec<OsString> = Vec::new();
    push(&mut arguments, ["-nostdin", "-hide_banner", "-i"]);
    push(&mut arguments, [input(file)]);
    let doing = "looking at the video".to_owned();
    let job = Job { doing, dir: Path::new("."), arguments, feed: Vec::new() };
    let mut streams = Vec::new();
    let mut is_open = false;
    let ran = ffmpeg.run(&job, stop, &mut |heard| {
        if let Heard::Line(line) = heard {
            is_open |= line.starts_with("Input #0");
            streams.extend(described(&line).filter(|_| streams.len() < MAX_STREAMS));
        }
        Ok(())
    });
    match ran {
        // Without an output it always ends with an error.
        Err(PackError::Ffmpeg { .. }) if is_open => {}
        Err(other) => return Err(other),
        Ok(_) => {}
    }
    chosen(&streams).map_err(|e| e.at_file(file).into())
}

/// Reads a line such as `Stream #0:1[0x2](eng): Video: h264 (High), yuv420p, 320x180 (default)`.
fn described(line: &str) -> Option<Stream> {
    let rest = line.strip_prefix("Stream #0:")?;
    let (head, rest) = rest.split_once(": ")?;
    let digits = head.find(|c: char| !c.is_ascii_digit()).unwrap_or(head.len());
    let (kind, rest) = rest.split_once(": ")?;
    let kind = match kind {
        "Video" => StreamKind::Video,
        "Audio" => StreamKind::Audio,
        "Subtitle" => StreamKind::Subtitle,
        _ => return None,
    };
    let language = head.split_once('(').and_then(|(_, l)| l.split_once(')')).map(|(l, _)| l);
    let size = rest.split([' ', ',']).find_map(|word| {
        let (width, height) = word.split_once('x')?;
        width.parse().ok().zip(height.parse().ok())
    });
    let has = |disposition: &str| rest.contains(&format!("({disposition})"));
    Some(Stream {
        number: head[..digits].parse().ok()?,
        kind,
        language: language.filter(|l| *l != "und").unwrap_or_default().to_owned(),
        size: size.unwrap_or_default(),
        is_default: has("default"),
        is_still: has("attached pic") || has("timed thumbnails") || has("still image"),
    })
}

fn chosen(streams: &[Stream]) -> Result<Streams, InputError> {
    let of = |kind: StreamKind| -> Vec<&Stream> {
        streams.iter().filter(|s| s.kind == kind && !s.is_still).collect()
    };
    let (videos, audios) = (of(StreamKind::Video), of(StreamKind::Audio));
    let best = |of: &[&Stream]| -> Option<Stream> {
        let pixels = |s: &Stream| u64::from(s.size.0) * u64::from(s.size.1);
        // Of equals the first.
        let best = of.iter().rev().max_by_key(|s| (s.is_default, pixels(s)));
        best.map(|s| (*s).clone())
    };
    let video = best(&videos)
        .ok_or_else(|| InputError::new("there are no moving pictures in it", "expected a video"))?;
    let audio = best(&audios);
    let others = |what: &str, of: &[&Stream], taken: Option<&Stream>| -> Vec<String> {
        let others: Vec<String> =
            of.iter().filter(|s| Some(**s) != taken).map(|s| s.in_words()).collect();
        let taken = taken.filter(|_| !others.is_empty()).map(|taken| {
            format!(
                "there are {} {what} tracks in it: {} is packed, left out: {}",
                of.len(),
                taken.in_words(),
                others.join(", ")
            )
        });
        taken.into_iter().collect()
    };
    let mut left_out = others("video", &videos, Some(&video));
    let sound_left_out = others("audio", &audios, audio.as_ref());
    let subtitles: Vec<String> =
        of(StreamKind::Subtitle).into_iter().map(Stream::in_words).collect();
    if !subtitles.is_empty() {
        left_out.push(format!("left out: subtitles: {}", subtitles.join(", ")));
    }
    let audio = audio.map(|a| a.number);
    Ok(Streams { video: video.number, audio, left_out, sound_left_out })
}

impl Stream {
    /// Such as `track 1 (640x360)`.
    fn in_words(&self) -> String {
        let (width, height) = self.size;
        let size = (width > 0).then(|| format!("{width}x{height}"));
        let language = Some(self.language.clone()).filter(|l| !l.is_empty());
        let about: Vec<String> = size.into_iter().chain(language).collect();
        match about.is_empty() {
            true => format!("track {}", self.number),
            false => format!("track {} ({})", self.number, about.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(lines: &[&str]) -> Result<Streams, String> {
        let streams: Vec<Stream> = lines.iter().filter_map(|l| described(l)).collect();
        chosen(&streams).map_err(|e| e.found)
    }

    #[test]
    fn the_default_or_the_largest_is_packed() {
        let small = "Stream #0:0[0x1](und): Video: h264 (High) (avc1 / 0x31637661), yuv420p(tv), \
                     160x90 [SAR 1:1 DAR 16:9], 114 kb/s, 25 fps, 25 tbr, 16k tbn";
        let large = "Stream #0:1: Video: h264 (High), yuv420p, 320x180 [SAR 1:1 DAR 16:9], 25 fps";
        let cover = "Stream #0:2[0x0]: Video: mjpeg (Baseline), yuvj420p(pc), 600x600, 90k tbr \
                     (attached pic)";
        let sound = "Stream #0:3(eng): Audio: aac (LC), 44100 Hz, mono, fltp";
        let french = "Stream #0:4(fre): Audio: aac (LC), 44100 Hz, mono, fltp (default)";
        let words = "Stream #0:5(ger): Subtitle: subrip (default)";
        let time = "Stream #0:6(eng): Data: none (tmcd / 0x64636D74) (default)";
        let found = of(&[small, large, cover, sound, french, words, time, "Stream mapping:"]);
        let found = found.unwrap();
        assert_eq!((found.video_of(0), found.audio_of(1)), ("0:1".into(), Some("1:4".into())));
        assert_eq!(
            found.left_out,
            [
                "there are 2 video tracks in it: track 1 (320x180) is packed, left out: track 0 \
                 (160x90)",
                "left out: subtitles: track 5 (ger)"
            ]
        );
        assert_eq!(
            found.sound_left_out,
            ["there are 2 audio tracks in it: track 4 (fre) is packed, left out: track 3 (eng)"]
        );
        // The default one is packed however small it is.
        let marked = format!("{small} (default)");
        assert_eq!(of(&[&marked, large]).unwrap().video, 0);
        assert_eq!(of(&[&marked, &format!("{large} (default)")]).unwrap().video, 1);
        assert_eq!(of(&[cover, sound]), Err("there are no moving pictures in it".to_owned()));
        assert_eq!(of(&[large]).unwrap(), Streams { video: 1, ..Streams::default() });
    }

    proptest! {
        #[test]
        fn any_line_is_survived(line in "Stream #0:\\PC{0,40}|\\PC{0,40}") {
            let _ = described(&line);
        }
    }
}
