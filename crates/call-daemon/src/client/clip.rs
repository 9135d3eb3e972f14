//! Encoded video of a file, which a client plays again and again.

use std::sync::Arc;
use std::time::Duration;

use airlane_media::ivf::{IvfError, IvfFile};
use airlane_media::vp9;

use crate::server::VideoCodec;

/// Interval from one frame to the next, at least and at most.
const MIN_FRAME_INTERVAL: Duration = Duration::from_millis(4);
const MAX_FRAME_INTERVAL: Duration = Duration::from_secs(1);

/// Reason for which a file is no clip.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClipError {
    /// It is no file of IVF.
    #[error(transparent)]
    Ivf(#[from] IvfError),
    /// A codec that cannot be sent from a file.
    #[error("video of codec {0:?}; expected VP8 or VP9, as ffmpeg -c:v libvpx makes it")]
    Codec(String),
    /// A frame that other frames come before, in a file that does not begin with a key frame.
    #[error("the first frame is no key frame")]
    NoKeyFrame,
    /// Fewer than two frames, or frame times that make no sense.
    #[error("expected two frames or more, {MIN_FRAME_INTERVAL:?} to {MAX_FRAME_INTERVAL:?} apart")]
    FrameTimes,
}

/// Encoded video of a file.
#[derive(Clone, Debug)]
pub struct Clip {
    pub(super) codec: VideoCodec,
    pub(super) frame_interval: Duration,
    pub(super) frames: Vec<ClipFrame>,
}

/// Frame of a clip.
#[derive(Clone, Debug)]
pub(super) struct ClipFrame {
    pub(super) data: Arc<[u8]>,
    pub(super) is_key_frame: bool,
}

impl Clip {
    /// Reads a file of IVF with VP8 or VP9.
    ///
    /// # Errors
    /// If it is none.
    pub fn read(bytes: &[u8]) -> Result<Self, ClipError> {
        let file = IvfFile::read(bytes)?;
        let codec = match &file.codec {
            b"VP80" => VideoCodec::Vp8,
            b"VP90" => VideoCodec::Vp9,
            other => return Err(ClipError::Codec(String::from_utf8_lossy(other).into_owned())),
        };
        let (first, last) = match file.frames[..] {
            [first, .., last] => (first.time, last.time),
            _ => return Err(ClipError::FrameTimes),
        };
        let unit =
            f64::from(file.header.frame_rate.seconds) / f64::from(file.header.frame_rate.frames);
        let seconds = last.saturating_sub(first) as f64 * unit / (file.frames.len() - 1) as f64;
        let frame_interval = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        if !(MIN_FRAME_INTERVAL..=MAX_FRAME_INTERVAL).contains(&frame_interval) {
            return Err(ClipError::FrameTimes);
        }
        let frame =
            |data: &[u8]| ClipFrame { data: data.into(), is_key_frame: is_key_frame(codec, data) };
        let frames: Vec<ClipFrame> = file.frames.iter().map(|of| frame(of.data)).collect();
        if !frames.first().is_some_and(|frame| frame.is_key_frame) {
            return Err(ClipError::NoKeyFrame);
        }
        Ok(Self { codec, frame_interval, frames })
    }

    /// Codec of the video.
    pub fn codec(&self) -> VideoCodec {
        self.codec
    }

    /// Number of frames.
    pub fn frames(&self) -> usize {
        self.frames.len()
    }

    /// Mean bitrate, bit/s.
    pub fn bitrate_bps(&self) -> f64 {
        let bytes: usize = self.frames.iter().map(|frame| frame.data.len()).sum();
        bytes as f64 * 8.0 / (self.frames.len() as f64 * self.frame_interval.as_secs_f64())
    }
}

/// True if a frame depends on no earlier one: its first bit in VP8 (RFC 6386, section 9.1), the uncompressed header
/// in VP9.
pub(super) fn is_key_frame(codec: VideoCodec, frame: &[u8]) -> bool {
    match codec {
        VideoCodec::Vp8 => frame.first().is_some_and(|first| first & 1 == 0),
        VideoCodec::Vp9 => vp9::key_frame_size(frame).is_some(),
        VideoCodec::Av1 => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of VP8 with frames of these first bytes, 40 ms apart.
    fn file(first_bytes: &[u8]) -> Vec<u8> {
        let mut bytes = b"DKIF\0\0\x20\0VP80\x40\x01\xf0\0\x19\0\0\0\x01\0\0\0".to_vec();
        bytes.resize(32, 0);
        for (time, first) in first_bytes.iter().enumerate() {
            bytes.extend_from_slice(&airlane_media::ivf::ivf_frame(500, time as u64));
            bytes.push(*first);
            bytes.resize(bytes.len() + 499, 0);
        }
        bytes
    }

    #[test]
    fn a_clip_has_its_rate_and_its_key_frames() {
        let clip = Clip::read(&file(&[0, 1, 1, 0, 1])).unwrap();
        assert_eq!((clip.codec(), clip.frames()), (VideoCodec::Vp8, 5));
        assert_eq!(clip.frame_interval, Duration::from_millis(40));
        assert!((clip.bitrate_bps() - 100_000.0).abs() < 1.0);
        let keys: Vec<bool> = clip.frames.iter().map(|frame| frame.is_key_frame).collect();
        assert_eq!(keys, [true, false, false, true, false]);
    }

    #[test]
    fn what_cannot_be_played_is_refused() {
        assert_eq!(Clip::read(&file(&[1, 0])).unwrap_err(), ClipError::NoKeyFrame);
        assert_eq!(Clip::read(&file(&[0])).unwrap_err(), ClipError::FrameTimes);
        let mut av1 = file(&[0, 1]);
        av1[8..12].copy_from_slice(b"AV01");
        assert_eq!(Clip::read(&av1).unwrap_err(), ClipError::Codec("AV01".to_owned()));
        let mut slow = file(&[0, 1]);
        slow[20] = 100;
        assert_eq!(Clip::read(&slow).unwrap_err(), ClipError::FrameTimes);
    }
}
