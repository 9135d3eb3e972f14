//! What a source is, by what ffmpeg finds in it.
//!
//! Two runs of ffmpeg, and no ffprobe, which static builds lack: the first frames are decoded for
//! size, shape, interlacing and colours; all packets are listed, undecoded, for their times.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use airlane_base::{InputError, Rate};
use airlane_media::dash::FrameRate;

use crate::error::PackError;
use crate::ffmpeg::{Ffmpeg, Heard, Job, input, last_words, push};
use crate::pace::Pace;

/// Frames that are decoded to see what they are like.
const FRAMES: &str = "12";

/// No video is longer.
const LONGEST: Duration = Duration::from_secs(240 * 3600);

/// A video to be encoded or measured against.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Source {
    pub(crate) file: PathBuf,
    /// Even, in square pixels, as it is shown (rotated).
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// The constant rate at which it is encoded.
    pub(crate) fps: FrameRate,
    /// Whether its own frames come at another pace.
    pub(crate) uneven: bool,
    pub(crate) interlaced: bool,
    pub(crate) rgb: bool,
    /// Whether there is sound, and of how many channels.
    pub(crate) channels: Option<u32>,
    /// How long its pictures are.
    pub(crate) duration: Duration,
    /// Rate of its pictures.
    pub(crate) rate: Rate,
}

impl Source {
    /// About how many frames it has at its constant rate.
    pub(crate) fn frames(&self) -> u64 {
        (self.duration.as_secs_f64() * self.fps.as_f64()).round() as u64
    }
}

/// Looks at a source.
pub(crate) fn probe(ffmpeg: &Ffmpeg, file: &Path, stop: &AtomicBool) -> Result<Source, PackError> {
    let file = std::path::absolute(file).map_err(PackError::io("find", file))?;
    std::fs::File::open(&file).map_err(|e| InputError::io(&file, "read the video", &e))?;
    let unusable = |error| match error {
        PackError::Ffmpeg { reason, .. } => {
            InputError::new(format!("ffmpeg cannot read it: {reason}"), "expected a video")
                .at_file(&file)
                .into()
        }
        other => other,
    };
    let look = look(ffmpeg, &file, stop).map_err(unusable)?;
    let (packets, complaints) = packets(ffmpeg, &file, stop).map_err(unusable)?;
    understand(&file, &look, &packets, &complaints).map_err(|e| e.at_file(&file).into())
}

/// What the first frames are like.
#[derive(Clone, Debug, Default, PartialEq)]
struct Look {
    size: Option<(u32, u32)>,
    /// Width of a pixel over its height.
    pixel: f64,
    fps: Option<FrameRate>,
    interlaced: bool,
    rgb: bool,
    transfer: String,
    /// Whether there is no stream of pictures.
    nothing: bool,
    /// What the container says of its length.
    promised: Option<Duration>,
}

fn job<'a>(doing: &str, file: &Path) -> Job<'a> {
    let mut arguments: Vec<OsString> = Vec::new();
    push(&mut arguments, ["-nostdin", "-hide_banner", "-nostats", "-i"]);
    push(&mut arguments, [input(file)]);
    Job { doing: doing.to_owned(), dir: Path::new("."), arguments, feed: Vec::new() }
}

fn look(ffmpeg: &Ffmpeg, file: &Path, stop: &AtomicBool) -> Result<Look, PackError> {
    let mut job = job("looking at the video", file);
    // Of what is said at the level of information only the log holds the frames.
    push(&mut job.arguments, ["-map", "0:V:0", "-frames:v", FRAMES]);
    push(&mut job.arguments, ["-vf", "showinfo=checksum=0", "-f", "null", "-"]);
    let mut seen = Look { pixel: 1.0, ..Look::default() };
    let ran = ffmpeg.run(&job, stop, &mut |heard| {
        if let Heard::Line(line) = heard {
            seen.read(&line);
        }
        Ok(())
    });
    if seen.nothing {
        let found = "there are no moving pictures in it";
        return Err(InputError::new(found, "expected a video").at_file(file).into());
    }
    ran.map(|_| seen)
}

impl Look {
    /// Takes what a line of the log says.
    fn read(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("Duration: ") {
            self.promised = rest.split(',').next().and_then(clock);
        }
        self.nothing |= line.contains("matches no streams");
        let Some((_, said)) = line.split_once("] ").filter(|(by, _)| by.contains("_showinfo_"))
        else {
            return;
        };
        if let Some((_, rate)) =
            said.split_once("frame_rate: ").filter(|_| said.contains("in time_base"))
        {
            self.fps = fraction(rate.trim());
        }
        // `s:320x180`, `sar:1/1`, `i:P`, `fmt:yuv420p`, `color_trc:bt709`
        let value = |key: &str| said.split_whitespace().find_map(|w| w.strip_prefix(key));
        if let Some((width, height)) = value("s:").and_then(|s| s.split_once('x')) {
            self.size = width.parse().ok().zip(height.parse().ok());
        }
        if let Some(pixel) = value("sar:").and_then(fraction) {
            self.pixel = pixel.as_f64();
        }
        self.interlaced |= matches!(value("i:"), Some("T" | "B"));
        if let Some(format) = value("fmt:") {
            self.rgb = ["rgb", "bgr", "gbr", "argb", "abgr", "0rgb", "0bgr", "pal8", "x2rgb"]
                .iter()
                .any(|p| format.starts_with(p));
        }
        if let Some(transfer) = value("color_trc:") {
            self.transfer = transfer.to_owned();
        }
    }
}

fn fraction(text: &str) -> Option<FrameRate> {
    let (frames, seconds) = text.split_once('/')?;
    let (frames, seconds) = (frames.parse().ok()?, seconds.parse().ok()?);
    (frames > 0 && seconds > 0).then_some(FrameRate { frames, seconds })
}

/// A time such as `00:01:02.50`.
fn clock(text: &str) -> Option<Duration> {
    let mut seconds = 0.0;
    for part in text.trim().split(':') {
        seconds = seconds * 60.0 + part.parse::<f64>().ok()?;
    }
    Duration::try_from_secs_f64(seconds).ok()
}

/// What the packets of pictures and sound say.
#[derive(Clone, Debug, Default, PartialEq)]
struct Packets {
    /// Seconds per tick of the pictures.
    tick_s: f64,
    /// Times of presentation of the pictures, ticks.
    times: Vec<i64>,
    /// How long the last of them is, ticks.
    last: i64,
    bytes: u64,
    /// Seconds at which the sound ends.
    audio_end_s: f64,
    audio_tick_s: f64,
    /// Whether there is any sound in the track of it.
    audible: bool,
    channels: Option<u32>,
}

/// Lists the packets, and what ffmpeg complains of on the way.
fn packets(
    ffmpeg: &Ffmpeg,
    file: &Path,
    stop: &AtomicBool,
) -> Result<(Packets, Vec<String>), PackError> {
    let mut job = job("reading the video", file);
    job.arguments.splice(0..0, ["-v", "error"].map(OsString::from));
    push(&mut job.arguments, ["-map", "0:V:0", "-map", "0:a:0?", "-c", "copy"]);
    push(&mut job.arguments, ["-f", "framecrc", "pipe:1"]);
    let mut found = Packets::default();
    let mut partial = Vec::new();
    let complaints = ffmpeg.run(&job, stop, &mut |heard| {
        if let Heard::Bytes(bytes) = heard {
            partial.extend(bytes);
            let whole = partial.iter().rposition(|&b| b == b'\n').map_or(0, |end| end + 1);
            String::from_utf8_lossy(&partial[..whole]).lines().for_each(|l| found.read(l));
            partial.drain(..whole);
        }
        Ok(())
    })?;
    Ok((found, complaints))
}

impl Packets {
    /// Takes what a line of the list says: `#tb 0: 1/24000` or `0, dts, pts, duration, bytes, ...`.
    fn read(&mut self, line: &str) {
        if let Some(head) = line.strip_prefix('#') {
            let Some((key, value)) = head.split_once(": ") else { return };
            let value = value.trim();
            let seconds = || fraction(value).map(|f| f.as_f64());
            match key {
                "tb 0" => self.tick_s = seconds().unwrap_or_default(),
                "tb 1" => self.audio_tick_s = seconds().unwrap_or_default(),
                "media_type 1" if value == "audio" => self.channels = self.channels.or(Some(2)),
                "channel_layout_name 1" if value == "mono" => self.channels = Some(1),
                // Older releases write the mask of the layout, and 4 is the one in front.
                "channel_layout 1" if value == "4" || value == "0x4" => self.channels = Some(1),
                _ => {}
            }
            return;
        }
        let mut fields = line.split(',').map(|f| f.trim().parse::<i64>());
        let mut next = || fields.next().and_then(Result::ok);
        let Some(stream) = next() else { return };
        let (dts, pts, duration, bytes) = (next(), next(), next(), next());
        // Some containers know the time of decoding only.
        let Some(time) = pts.filter(|t| *t > i64::MIN / 2).or(dts) else { return };
        let duration = duration.unwrap_or(0).max(0);
        if stream == 0 {
            self.times.push(time);
            self.last = duration;
            self.bytes += bytes.and_then(|b| u64::try_from(b).ok()).unwrap_or(0);
        } else {
            let end = (time.saturating_add(duration)) as f64 * self.audio_tick_s;
            self.audio_end_s = self.audio_end_s.max(end);
            self.audible = true;
        }
    }
}

fn understand(
    file: &Path,
    look: &Look,
    packets: &Packets,
    complaints: &[String],
) -> Result<Source, InputError> {
    let (width, height) = look
        .size
        .filter(|_| !packets.times.is_empty())
        .ok_or_else(|| InputError::new("ffmpeg decodes no picture of it", "expected a video"))?;
    if ["smpte2084", "arib-std-b67"].contains(&look.transfer.as_str()) {
        return Err(InputError::new(
            format!("pictures of high dynamic range ({})", look.transfer),
            "expected SDR: map the tones first, for example with ffmpeg's zscale and tonemap",
        ));
    }
    let pace =
        Pace::of(packets.tick_s, &packets.times, packets.last, look.fps).ok_or_else(|| {
            InputError::new(
                "its pictures have no times",
                "expected a video in a container with times",
            )
        })?;
    let end = packets.audio_end_s.max(pace.end_s);
    if let Some(promised) = look.promised.map(|p| p.as_secs_f64())
        && promised - end > (promised * 0.02).max(1.0)
    {
        let reason = last_words(complaints);
        let reason = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
        return Err(InputError::new(
            format!("it ends after {end:.1} s of {promised:.1} s{reason}"),
            "expected a whole file",
        ));
    }
    let even = |n: f64| ((n as u32) & !1).max(2);
    let (wide, high) = (f64::from(width), f64::from(height));
    // Pixels that are not square: the short side of them grows.
    let (width, height) = match look.pixel {
        p if p > 1.0 => (even((wide * p).round()), even(high)),
        p => (even(wide), even((high / p).round())),
    };
    if width > 16_384 || height > 16_384 {
        return Err(InputError::new(
            format!("{width}x{height} pixels"),
            "expected at most 16384 either way",
        ));
    }
    let duration = Duration::try_from_secs_f64(pace.end_s - pace.start_s);
    let duration = duration
        .ok()
        .filter(|d| *d <= LONGEST)
        .ok_or_else(|| InputError::new("times that no video has", "expected at most 240 hours"))?;
    Ok(Source {
        file: file.to_owned(),
        width,
        height,
        fps: pace.fps,
        uneven: pace.uneven,
        interlaced: look.interlaced,
        rgb: look.rgb,
        channels: packets.channels.filter(|_| packets.audible),
        duration,
        rate: Rate::of(packets.bytes, duration),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_log_is_understood() {
        let mut look = Look { pixel: 1.0, ..Look::default() };
        for line in [
            "Duration: 00:01:07.50, start: 0.000000, bitrate: 305 kb/s",
            "[Parsed_showinfo_0 @ 0x7f] config in time_base: 1/24000, frame_rate: 24000/1001",
            "[Parsed_showinfo_0 @ 0x7f] config out time_base: 0/0, frame_rate: 0/0",
            "[Parsed_showinfo_0 @ 0x7f] n: 0 pts: 0 fmt:yuv420p sar:4/3 s:320x180 i:T iskey:1",
            "[Parsed_showinfo_0 @ 0x7f] color_range:tv color_trc:smpte2084",
            "s:1x1",
        ] {
            look.read(line);
        }
        assert_eq!(look.size, Some((320, 180)));
        assert_eq!(look.promised, Some(Duration::from_millis(67_500)));
        assert_eq!(look.fps, Some(FrameRate { frames: 24_000, seconds: 1001 }));
        assert!(look.interlaced && !look.rgb && look.transfer == "smpte2084");
        assert!((look.pixel - 4.0 / 3.0).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn any_words_are_survived(
            lines in prop::collection::vec(
                "\\PC{0,30}|#tb 0: [0-9]/[0-9]|[01], *-?[0-9]{1,20}, *-?[0-9]{1,20}, *[0-9]{1,20}",
                0..20,
            ),
        ) {
            let mut packets = Packets::default();
            let mut look = Look { pixel: 1.0, ..Look::default() };
            for line in &lines {
                packets.read(line);
                look.read(&format!("[Parsed_showinfo_0 @ 0x1] {line}"));
                look.read(line);
            }
            look.size = Some((16, 16));
            let _ = understand(Path::new("a"), &look, &packets, &lines);
        }
    }
}
