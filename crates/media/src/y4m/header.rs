//! The first line of a stream.

use airlane_base::InputError;

use super::{MAGIC, no_header};
use crate::dash::FrameRate;

/// Width and height at least, and at most.
pub const MIN_SIDE: u32 = 16;
/// The same, at most.
pub const MAX_SIDE: u32 = 4096;
/// Frames per second at most.
const MAX_FPS: u32 = 240;
/// Numbers of a frame rate are at most so large.
const MAX_TERM: u32 = 1_000_000;

/// Format of the pictures of a stream: progressive, 4:2:0 in 8 bits, luma first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Width, even, [`MIN_SIDE`] to [`MAX_SIDE`].
    pub width: u32,
    /// Height, likewise.
    pub height: u32,
    /// Frames per second, 1 to 240.
    pub fps: FrameRate,
    /// True if luma is 0 to 255 (`XCOLORRANGE=FULL`), false if it is 16 to 235.
    pub is_full_range: bool,
    /// Width and height of a pixel, if they are told (`A`): to 1000 each.
    pub pixel: Option<(u32, u32)>,
}

impl Header {
    /// Reads it, without the end of its line.
    ///
    /// Comments (`X`) but for the range are left alone.
    ///
    /// # Errors
    /// If it is none, or pictures are of another kind; the error says what to tell ffmpeg.
    pub fn parse(line: &[u8]) -> Result<Self, InputError> {
        let rest = line.strip_prefix(MAGIC).ok_or_else(|| no_header("no header"))?;
        let rest = std::str::from_utf8(rest).map_err(|_| no_header("no header"))?;
        if !rest.is_empty() && !rest.starts_with(' ') {
            return Err(no_header("another version"));
        }
        if rest.ends_with('\r') {
            return Err(text_mode("the header"));
        }
        let (mut width, mut height, mut fps) = (None, None, None);
        let (mut is_full_range, mut pixel) = (false, None);
        for word in rest.split(' ').filter(|word| !word.is_empty()) {
            let mut characters = word.chars();
            let key = characters.next();
            let value = characters.as_str();
            match key {
                Some('W') => width = Some(side("width", value)?),
                Some('H') => height = Some(side("height", value)?),
                Some('F') => fps = Some(frame_rate(value)?),
                Some('I') => progressive(value)?,
                Some('C') => plain(value)?,
                Some('A') => pixel = shape(value)?,
                Some('X') if value.eq_ignore_ascii_case("COLORRANGE=FULL") => is_full_range = true,
                _ => {}
            }
        }
        let lacks = |what: &str| InputError::new(format!("no {what} in the header"), WHOLE);
        Ok(Self {
            width: width.ok_or_else(|| lacks("width (W)"))?,
            height: height.ok_or_else(|| lacks("height (H)"))?,
            fps: fps.ok_or_else(|| lacks("frame rate (F)"))?,
            is_full_range,
            pixel,
        })
    }

    /// Width and height that pictures are shown in: those of their pixels, wider or higher where these are.
    pub fn shown_size(&self) -> (u32, u32) {
        let grown = |side: u32, by: u32, over: u32| {
            let side = (u64::from(side) * u64::from(by) + u64::from(over) / 2) / u64::from(over);
            u32::try_from(side).unwrap_or(MAX_SHOWN).clamp(1, MAX_SHOWN)
        };
        match self.pixel {
            Some((width, height)) if width > height => {
                (grown(self.width, width, height), self.height)
            }
            Some((width, height)) if width < height => {
                (self.width, grown(self.height, height, width))
            }
            _ => (self.width, self.height),
        }
    }

    /// Bytes of a picture.
    pub fn picture_bytes(&self) -> usize {
        self.width as usize * self.height as usize * 3 / 2
    }
}

/// Sides that VP9 shows pictures in at most.
const MAX_SHOWN: u32 = 1 << 16;
/// Numbers of the shape of a pixel at most.
const MAX_ASPECT: u32 = 1_000;

/// The error of a stream whose ends of lines were changed: so were the pictures.
pub(super) fn text_mode(what: &str) -> InputError {
    let found =
        format!("{what} ends in CRLF, so the stream was changed as text is, pictures and all");
    InputError::new(found, "expected its bytes as they were written: use a binary pipe")
}

/// The shape of a pixel; `None` where 0:0 says that it is not known.
fn shape(value: &str) -> Result<Option<(u32, u32)>, InputError> {
    let wrong = || {
        let expected =
            format!("expected width:height of a pixel, such as A1:1, to {MAX_ASPECT} each");
        InputError::new(format!("pixels of the shape {value:?}"), expected)
    };
    let (width, height) = value.split_once(':').ok_or_else(wrong)?;
    match (width.parse().map_err(|_| wrong())?, height.parse().map_err(|_| wrong())?) {
        (0, 0) => Ok(None),
        (w @ 1..=MAX_ASPECT, h @ 1..=MAX_ASPECT) => Ok(Some((w, h))),
        _ => Err(wrong()),
    }
}

const WHOLE: &str = "expected a header like YUV4MPEG2 W640 H360 F30:1 Ip C420jpeg";

fn side(name: &str, value: &str) -> Result<u32, InputError> {
    let side: u32 =
        value.parse().map_err(|_| InputError::new(format!("{name} {value:?}"), WHOLE))?;
    if !(MIN_SIDE..=MAX_SIDE).contains(&side) || !side.is_multiple_of(2) {
        let expected = format!(
            "expected an even number, {MIN_SIDE} to {MAX_SIDE}: give ffmpeg a size, such as -vf scale=1280:-2"
        );
        return Err(InputError::new(format!("{name} {side}"), expected));
    }
    Ok(side)
}

fn frame_rate(value: &str) -> Result<FrameRate, InputError> {
    let wrong = || {
        let expected =
            format!("expected 1 to {MAX_FPS} frames/s, such as F30:1: give ffmpeg -r 30");
        InputError::new(format!("frame rate {value:?}"), expected)
    };
    let (frames, seconds) = value.split_once(':').ok_or_else(wrong)?;
    let term = |text: &str| text.parse().ok().filter(|n| (1..=MAX_TERM).contains(n));
    let (frames, seconds) = term(frames).zip(term(seconds)).ok_or_else(wrong)?;
    let is_usual = frames >= seconds && frames <= seconds * MAX_FPS;
    is_usual.then_some(FrameRate { frames, seconds }).ok_or_else(wrong)
}

fn progressive(value: &str) -> Result<(), InputError> {
    match value {
        "p" | "?" => Ok(()),
        other => Err(InputError::new(
            format!("interlaced pictures (I{other})"),
            "expected progressive ones: give ffmpeg -vf bwdif",
        )),
    }
}

fn plain(value: &str) -> Result<(), InputError> {
    // They differ in where the samples of chroma lie, which no decoder of VP9 minds.
    match value {
        "420" | "420jpeg" | "420mpeg2" | "420paldv" => Ok(()),
        other => Err(InputError::new(
            format!("pictures of another kind (C{other})"),
            "expected 4:2:0 in 8 bits: give ffmpeg -pix_fmt yuv420p",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ffmpeg_writes_is_read_and_the_rest_says_what_to_tell_it() {
        let parse = |text: &str| Header::parse(text.as_bytes());
        let header = parse("YUV4MPEG2 W640 H360 F30000:1001 Ip A1:1 C420mpeg2 XYSCSS=420MPEG2 X");
        let fps = FrameRate { frames: 30_000, seconds: 1001 };
        let expected =
            Header { width: 640, height: 360, fps, is_full_range: false, pixel: Some((1, 1)) };
        assert_eq!(header.unwrap(), expected);
        let full =
            parse("YUV4MPEG2 W720 H576 F25:1 Ip A16:15 C420jpeg XYSCSS=420JPEG XCOLORRANGE=FULL");
        let full = full.unwrap();
        assert_eq!((full.is_full_range, full.pixel), (true, Some((16, 15))));
        assert_eq!(full.shown_size(), (768, 576));
        let limited = parse("YUV4MPEG2 W720 H480 F25:1 A10:11 XCOLORRANGE=LIMITED").unwrap();
        assert_eq!((limited.is_full_range, limited.shown_size()), (false, (720, 528)));
        assert_eq!(parse("YUV4MPEG2 W64 H48 F25:1 A0:0").unwrap().shown_size(), (64, 48));
        // What is left out has a usual value, but for size and rate.
        assert_eq!(parse("YUV4MPEG2 H16 W4096 F1:1").unwrap().picture_bytes(), 4096 * 16 * 3 / 2);
        for (text, found, advice) in [
            ("YUV4MPEG2 W640 H360 F30:1 C422", "C422", "-pix_fmt yuv420p"),
            ("YUV4MPEG2 W640 H360 F30:1 C420p10", "C420p10", "-pix_fmt yuv420p"),
            ("YUV4MPEG2 W640 H360 F30:1 Cmono", "Cmono", "-pix_fmt yuv420p"),
            ("YUV4MPEG2 W640 H360 F30:1 It", "interlaced", "-vf bwdif"),
            ("YUV4MPEG2 W640 H360 F30:1 Im", "interlaced", "-vf bwdif"),
            ("YUV4MPEG2 W641 H360 F30:1", "width 641", "-vf scale"),
            ("YUV4MPEG2 W640 H8 F30:1", "height 8", "16 to 4096"),
            ("YUV4MPEG2 W65536 H65536 F30:1", "width 65536", "-vf scale"),
            ("YUV4MPEG2 W-1 H360 F30:1", "width \"-1\"", "YUV4MPEG2 W640"),
            ("YUV4MPEG2 W640 H360 F0:0", "frame rate \"0:0\"", "-r 30"),
            ("YUV4MPEG2 W640 H360 F90000:1", "frame rate", "240"),
            ("YUV4MPEG2 W640 H360 F1:2", "frame rate", "-r 30"),
            ("YUV4MPEG2 W640 H360 F30:1 A0:1", "shape \"0:1\"", "A1:1"),
            ("YUV4MPEG2 W640 H360 F30:1 A1", "shape \"1\"", "A1:1"),
            ("YUV4MPEG2 W640 H360 F30:1 C420jpeg\r", "CRLF", "binary"),
            ("YUV4MPEG2 W640 H360", "no frame rate", "F30:1"),
            ("YUV4MPEG2 F30:1", "no width", "W640"),
            ("YUV4MPEG3 W640 H360 F30:1", "no header", "yuv4mpegpipe"),
            ("YUV4MPEG25 W640 H360 F30:1", "another version", "yuv4mpegpipe"),
        ] {
            let said = parse(text).unwrap_err().to_string();
            assert!(said.contains(found) && said.contains(advice), "{text}: {said}");
        }
        assert!(Header::parse(b"YUV4MPEG2 W640 \xff").is_err());
    }
}
