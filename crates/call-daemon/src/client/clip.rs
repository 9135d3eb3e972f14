//! Encoded video of a file, which a client plays again and again.

use std::sync::Arc;
use std::time::Duration;

use airlane_call::LayeredFrame;
use airlane_media::ivf::{IvfError, IvfFile};
use airlane_media::vp9;

use crate::server::VideoCodec;

/// Interval from one frame to the next, at least and at most.
const MIN_FRAME_INTERVAL: Duration = Duration::from_millis(4);
const MAX_FRAME_INTERVAL: Duration = Duration::from_secs(1);
/// Temporal layers at most.
const MAX_TEMPORAL_LAYERS: u8 = 3;

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
    /// Temporal layers that the video cannot have.
    #[error("expected 1 to {MAX_TEMPORAL_LAYERS} temporal layers, several of VP8 alone")]
    TemporalLayers,
    /// A key frame, by its place from 0, that is of a higher temporal layer.
    #[error(
        "frame {0} is a key frame; expected those of several temporal layers every {1} frames or a \
         multiple of it, as ffmpeg -g makes them"
    )]
    KeyFramePlace(usize, usize),
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
    pub(super) temporal_layers: u8,
}

/// Frame of a clip.
#[derive(Clone, Debug)]
pub(super) struct ClipFrame {
    pub(super) data: Arc<[u8]>,
    pub(super) is_key_frame: bool,
    /// Temporal layer, 0 the lowest.
    pub(super) temporal: u8,
    /// It depends on the lowest layer alone.
    pub(super) is_layer_sync: bool,
    /// No frame depends on it.
    pub(super) is_discardable: bool,
    /// Distance to the frame that it depends on, if it is no key frame.
    pub(super) reference_distance: u8,
}

impl ClipFrame {
    /// The frame's place in what is sent of the clip, under this number.
    pub(super) fn place(&self, number: u32) -> LayeredFrame {
        LayeredFrame {
            number,
            is_key: self.is_key_frame,
            temporal_layer: self.temporal,
            reference_distance: self.reference_distance,
            bytes: u32::try_from(self.data.len()).unwrap_or(u32::MAX),
        }
    }
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
        let frame = |data: &[u8]| ClipFrame {
            data: data.into(),
            is_key_frame: is_key_frame(codec, data),
            temporal: 0,
            is_layer_sync: false,
            is_discardable: false,
            reference_distance: 1,
        };
        let frames: Vec<ClipFrame> = file.frames.iter().map(|of| frame(of.data)).collect();
        if !frames.first().is_some_and(|frame| frame.is_key_frame) {
            return Err(ClipError::NoKeyFrame);
        }
        Ok(Self { codec, frame_interval, frames, temporal_layers: 1 })
    }

    /// Video in so many temporal layers, whose frames are of the layers 0, 1 or 0, 2, 1, 2, again and again from the
    /// first frame on. The file does not tell. Frames of the highest layer are taken to be those that none depends on.
    ///
    /// # Errors
    /// If it is not VP8, a key frame is not of the lowest layer, or there are more than three layers.
    pub fn with_temporal_layers(mut self, layers: u8) -> Result<Self, ClipError> {
        if layers == 1 {
            return Ok(self);
        }
        if !(1..=MAX_TEMPORAL_LAYERS).contains(&layers) || self.codec != VideoCodec::Vp8 {
            return Err(ClipError::TemporalLayers);
        }
        let period = 1 << (layers - 1);
        for (place, frame) in self.frames.iter_mut().enumerate() {
            let position = place % period;
            if frame.is_key_frame && position != 0 {
                return Err(ClipError::KeyFramePlace(place, period));
            }
            // Each halving of the distance to the next frame of the lowest layer is a layer.
            frame.temporal = match position {
                0 => 0,
                _ => layers - 1 - position.trailing_zeros() as u8,
            };
            frame.is_layer_sync = frame.temporal == 1 || (frame.temporal == 2 && position == 1);
            frame.is_discardable = frame.temporal == layers - 1;
            // Each depends on the nearest one of a lower layer; the lowest layer on itself.
            frame.reference_distance = 1 << position.trailing_zeros().min(u32::from(layers) - 1);
        }
        self.temporal_layers = layers;
        Ok(self)
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
    fn the_frames_of_temporal_layers_take_turns() {
        let clip = || Clip::read(&file(&[0, 1, 1, 1, 0, 1, 1, 1])).unwrap();
        let layers = |clip: Clip| -> Vec<u8> { clip.frames.iter().map(|f| f.temporal).collect() };
        assert_eq!(layers(clip().with_temporal_layers(3).unwrap()), [0, 2, 1, 2, 0, 2, 1, 2]);
        assert_eq!(layers(clip().with_temporal_layers(2).unwrap()), [0, 1, 0, 1, 0, 1, 0, 1]);
        assert_eq!(layers(clip().with_temporal_layers(1).unwrap()), [0; 8]);
        let three = clip().with_temporal_layers(3).unwrap();
        let sync: Vec<bool> = three.frames.iter().map(|frame| frame.is_layer_sync).collect();
        assert_eq!(sync[..4], [false, true, true, false]);
        let distances: Vec<u8> = three.frames.iter().map(|f| f.reference_distance).collect();
        assert_eq!(distances[..5], [4, 1, 2, 1, 4]);
        let discardable = three.frames.iter().filter(|frame| frame.is_discardable).count();
        assert_eq!(discardable, 4);
        for (layers, error) in [(0, ClipError::TemporalLayers), (4, ClipError::TemporalLayers)] {
            assert_eq!(clip().with_temporal_layers(layers).unwrap_err(), error);
        }
        let odd = Clip::read(&file(&[0, 1, 0, 1])).unwrap();
        assert_eq!(odd.with_temporal_layers(3).unwrap_err(), ClipError::KeyFramePlace(2, 4));
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
