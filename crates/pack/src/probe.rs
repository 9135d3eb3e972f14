//! What a source is, by what ffmpeg finds in it.
//!
//! Three runs of ffmpeg, and no ffprobe, which static builds lack: the streams are listed; the first
//! frames are decoded for size, shape, interlacing and colours; all packets are listed, undecoded,
//! for their times.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use airlane_base::{InputError, Rate};
use airlane_media::dash::FrameRate;

use crate::containers;
use crate::error::PackError;
use crate::ffmpeg::{Ffmpeg, Heard, Job, input, last_words, push};
use crate::pace::Pace;
use crate::streams::{self, Streams};

/// Frames that are decoded to see what they are like.
const FRAMES: &str = "12";

/// Sound is encoded in frames of its own, with some to prime decoders: so much more of it than of
/// pictures, seconds, is not worth a word or a picture.
const SOUND_SLACK_S: f64 = 0.1;

/// No video is longer.
const MAX_VIDEO_DURATION: Duration = Duration::from_secs(240 * 3600);

/// A video to be encoded or measured against.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Source {
    pub(crate) file: PathBuf,
    /// Even, in square pixels, as it is shown (rotated).
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// The constant rate at which it is encoded.
    pub(crate) fps: FrameRate,
    /// True if its own frames come at another pace.
    pub(crate) uneven: bool,
    pub(crate) interlaced: bool,
    /// Width and height of the first pictures before they are made square.
    pub(crate) coded: (u32, u32),
    pub(crate) rgb: bool,
    /// Streams that are packed; there is sound only if it has packets.
    pub(crate) streams: Streams,
    /// Channels of the sound.
    pub(crate) channels: u32,
    /// Time at which its pictures end, from the beginning on.
    pub(crate) duration: Duration,
    /// Time for which the last picture stands after that, as the sound goes on.
    pub(crate) hold: Duration,
    /// Rate of its pictures.
    pub(crate) rate: Rate,
    /// Notes for people on what is not as one would expect.
    pub(crate) notes: Vec<String>,
    /// The same of its sound.
    pub(crate) sound_notes: Vec<String>,
}

impl Source {
    /// About how many frames it has at its constant rate.
    pub(crate) fn frames(&self) -> u64 {
        ((self.duration + self.hold).as_secs_f64() * self.fps.as_f64()).round() as u64
    }

    /// It without its sound, for which no picture stands.
    pub(crate) fn silent(mut self) -> Self {
        if self.streams.audio.take().is_some() {
            self.notes.push("left out: the sound".to_owned());
        }
        Self { hold: Duration::ZERO, sound_notes: Vec::new(), ..self }
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
    if containers::is_encrypted(&file) {
        let expected = "expected one that is not: decrypt it first";
        return Err(InputError::new("its pictures are encrypted", expected).at_file(&file).into());
    }
    let streams = streams::choose(ffmpeg, &file, stop).map_err(unusable)?;
    let look = look(ffmpeg, &file, &streams, stop).map_err(unusable)?;
    let listed = |times| list_packets(ffmpeg, &file, &streams, times, stop).map_err(unusable);
    let (packets, complaints) = listed(Times::Corrected)?;
    if !complaints.is_empty()
        && let Some(fault) = containers::y4m_fault(&file, &last_words(&complaints))
    {
        return Err(fault.at_file(&file).into());
    }
    let mut found = Found { look, packets, own: None, complaints };
    if found.seems_cut() {
        // Times that begin late or jump are corrected by ffmpeg: what the container says of its
        // length is meant in its own.
        found.own = Some(listed(Times::AsTheyAre)?.0);
    }
    found.understand(&file, streams).map_err(|e| e.at_file(&file).into())
}

/// Properties of the first frames.
#[derive(Clone, Debug, Default, PartialEq)]
struct Look {
    size: Option<(u32, u32)>,
    /// Width of a pixel over its height.
    pixel: f64,
    fps: Option<FrameRate>,
    interlaced: bool,
    rgb: bool,
    transfer: String,
    /// Length that the container states.
    promised: Option<Duration>,
}

fn job<'a>(doing: &str, file: &Path) -> Job<'a> {
    let mut arguments: Vec<OsString> = Vec::new();
    push(&mut arguments, ["-nostdin", "-hide_banner", "-nostats", "-i"]);
    push(&mut arguments, [input(file)]);
    Job { doing: doing.to_owned(), dir: Path::new("."), arguments, feed: Vec::new() }
}

fn look(
    ffmpeg: &Ffmpeg,
    file: &Path,
    streams: &Streams,
    stop: &AtomicBool,
) -> Result<Look, PackError> {
    let mut job = job("looking at the video", file);
    // Of what is said at the level of information only the log holds the frames.
    push(&mut job.arguments, ["-map", &streams.video_of(0), "-frames:v", FRAMES]);
    push(&mut job.arguments, ["-vf", "showinfo=checksum=0", "-f", "null", "-"]);
    let mut seen = Look { pixel: 1.0, ..Look::default() };
    ffmpeg.run(&job, stop, &mut |heard| {
        if let Heard::Line(line) = heard {
            seen.read(&line);
        }
        Ok(())
    })?;
    Ok(seen)
}

impl Look {
    /// Takes what a line of the log says.
    fn read(&mut self, line: &str) {
        if let Some(rest) = line.strip_prefix("Duration: ") {
            self.promised = rest.split(',').next().and_then(clock);
        }
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

/// Times and sizes that the packets of pictures and sound give.
#[derive(Clone, Debug, Default, PartialEq)]
struct Packets {
    /// Seconds per tick of the pictures.
    tick_s: f64,
    /// Times of presentation of the pictures, ticks.
    times: Vec<i64>,
    /// Duration of the last picture, ticks.
    last: i64,
    bytes: u64,
    /// Seconds at which the sound ends.
    audio_end_s: f64,
    audio_tick_s: f64,
    /// True if there is any sound in the audio track.
    audible: bool,
    channels: Option<u32>,
}

/// Times with which packets are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Times {
    /// As ffmpeg encodes them: from zero on, and without the jumps of broadcasts.
    Corrected,
    /// As the file has them.
    AsTheyAre,
}

/// Lists the packets, and what ffmpeg complains of on the way.
fn list_packets(
    ffmpeg: &Ffmpeg,
    file: &Path,
    streams: &Streams,
    times: Times,
    stop: &AtomicBool,
) -> Result<(Packets, Vec<String>), PackError> {
    let mut job = job("reading the video", file);
    job.arguments.splice(0..0, ["-v", "error"].map(OsString::from));
    if times == Times::AsTheyAre {
        job.arguments.insert(0, "-copyts".into());
    }
    push(&mut job.arguments, ["-map", &streams.video_of(0)]);
    if let Some(audio) = streams.audio_of(0) {
        push(&mut job.arguments, ["-map", &audio]);
    }
    push(&mut job.arguments, ["-c", "copy"]);
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

/// All that is found out of a source.
#[derive(Clone, Debug, Default)]
struct Found {
    look: Look,
    packets: Packets,
    /// The packets with the times that the file has, if these were asked for.
    own: Option<Packets>,
    complaints: Vec<String>,
}

impl Found {
    /// True if the container says that there is more than has been found.
    fn seems_cut(&self) -> bool {
        let end = |p: &Packets| p.audio_end_s.max(p.end_s());
        let end_s = end(&self.packets).max(self.own.as_ref().map_or(0.0, end));
        let promised_s = self.look.promised.map_or(0.0, |p| p.as_secs_f64());
        promised_s - end_s > (promised_s * 0.02).max(1.0)
    }

    fn understand(self, file: &Path, mut streams: Streams) -> Result<Source, InputError> {
        let Self { look, packets, .. } = &self;
        let (width, height) = look.size.filter(|_| !packets.times.is_empty()).ok_or_else(|| {
            InputError::new("ffmpeg decodes no picture of it", "expected a video")
        })?;
        if ["smpte2084", "arib-std-b67"].contains(&look.transfer.as_str()) {
            return Err(InputError::new(
                format!("pictures of high dynamic range ({})", look.transfer),
                "expected SDR: map the tones first, for example with ffmpeg's zscale and tonemap",
            ));
        }
        let pace = Pace::of(packets.tick_s, &packets.times, packets.last, look.fps);
        let pace = pace.ok_or_else(|| {
            InputError::new(
                "its pictures have no times",
                "expected a video in a container with times",
            )
        })?;
        if self.seems_cut() {
            let end_s = packets.audio_end_s.max(pace.end_s);
            let promised_s = look.promised.unwrap_or_default().as_secs_f64();
            let reason = last_words(&self.complaints);
            let reason = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
            return Err(InputError::new(
                format!("it ends after {end_s:.1} s of {promised_s:.1} s{reason}"),
                "expected a whole file",
            ));
        }
        let even = |n: f64| ((n as u32) & !1).max(2);
        let (wide, high) = (f64::from(width), f64::from(height));
        let coded = (width, height);
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
        let length = |seconds: f64| {
            let length =
                Duration::try_from_secs_f64(seconds).ok().filter(|d| *d <= MAX_VIDEO_DURATION);
            length.ok_or_else(|| {
                InputError::new("times that no video has", "expected at most 240 hours")
            })
        };
        if !packets.audible {
            streams.audio = None;
        }
        let excess_s = packets.audio_end_s - pace.end_s;
        let hold_s = if packets.audible && excess_s > SOUND_SLACK_S { excess_s } else { 0.0 };
        let mut notes = streams.left_out.clone();
        notes.extend(self.oddities(&pace));
        let mut sound_notes = streams.sound_left_out.clone();
        sound_notes.extend(self.oddities_of_sound(&pace, hold_s));
        let duration = length(pace.end_s)?;
        Ok(Source {
            file: file.to_owned(),
            width,
            height,
            fps: pace.fps,
            uneven: pace.uneven,
            interlaced: look.interlaced,
            coded,
            rgb: look.rgb,
            streams,
            channels: packets.channels.unwrap_or(2),
            duration,
            hold: length(pace.end_s + hold_s)?.saturating_sub(duration),
            rate: Rate::of(packets.bytes, length(pace.end_s - pace.start_s)?),
            notes,
            sound_notes,
        })
    }

    /// Notes on the times of the pictures, where these are unusual.
    fn oddities(&self, pace: &Pace) -> Vec<String> {
        let pauses = pace.pauses.iter().map(|(at_s, length_s)| {
            format!(
                "no pictures come for {length_s:.1} s from {at_s:.1} s on: the one before stands"
            )
        });
        let mut notes: Vec<String> = pauses.collect();
        let span = |p: &Packets| p.end_s() - p.begin_s();
        let jumped_s = self.own.as_ref().map_or(0.0, |own| span(own) - span(&self.packets));
        if jumped_s.abs() > 1.0 {
            // Clocks that go back or wrap have no such length.
            let by = match jumped_s {
                forth if (0.0..86_400.0).contains(&forth) => format!(" by {forth:.1} s"),
                _ => String::new(),
            };
            notes.push(format!("its times jump{by} on the way: what comes after follows at once"));
        }
        notes
    }

    /// Notes on the times of the pictures beside those of the sound, where these differ.
    fn oddities_of_sound(&self, pace: &Pace, hold_s: f64) -> Vec<String> {
        let mut notes = Vec::new();
        if self.packets.audible && pace.start_s > SOUND_SLACK_S {
            let late_s = pace.start_s;
            notes.push(format!(
                "the pictures begin {late_s:.1} s after the sound: the first one stands until then"
            ));
        }
        if hold_s > 0.0 {
            notes.push(format!(
                "the sound is {hold_s:.1} s longer than the pictures: the last one stands until it \
                 ends"
            ));
        }
        notes
    }
}

impl Packets {
    /// Time at which the first picture begins, seconds.
    fn begin_s(&self) -> f64 {
        self.times.iter().min().map_or(0.0, |t| *t as f64 * self.tick_s)
    }

    /// Time at which the last picture ends, seconds.
    fn end_s(&self) -> f64 {
        let last = self.times.iter().max();
        last.map_or(0.0, |t| t.saturating_add(self.last) as f64 * self.tick_s)
    }
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
            let own = Some(packets.clone());
            let found = Found { look, packets, own, complaints: lines.clone() };
            let _ = found.understand(Path::new("a"), Streams::default());
        }
    }
}
