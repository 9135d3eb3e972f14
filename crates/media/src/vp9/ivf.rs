//! IVF: the simplest file that holds VP9, which ffmpeg, players and libvpx's tools read.

use crate::dash::FrameRate;

/// Reason for which a stream does not fit into IVF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IvfError {
    /// The picture is too large.
    #[error("pictures of {0}x{1}, and IVF has room for 65535x65535")]
    Size(u32, u32),
}

/// Header of an IVF file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IvfHeader {
    /// Width and height of the pictures.
    pub size: (u32, u32),
    /// Frames per second: the unit of time is from one to the next.
    pub frame_rate: FrameRate,
}

impl IvfHeader {
    /// Its bytes. The number of frames, which readers do not rely on, is left at 0: it is not known when
    /// the file begins.
    ///
    /// # Errors
    /// If the pictures are too large.
    pub fn encode(&self) -> Result<Vec<u8>, IvfError> {
        let (width, height) = self.size;
        let side = |n: u32| u16::try_from(n).map_err(|_| IvfError::Size(width, height));
        let mut bytes = b"DKIF\0\0\x20\0VP90".to_vec();
        bytes.extend_from_slice(&side(width)?.to_le_bytes());
        bytes.extend_from_slice(&side(height)?.to_le_bytes());
        for number in [self.frame_rate.frames, self.frame_rate.seconds, 0, 0] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        Ok(bytes)
    }
}

/// Header of a frame of so many bytes that is shown at `time`, in frame times.
pub fn ivf_frame(bytes: u32, time: u64) -> [u8; 12] {
    let mut header = [0; 12];
    header[..4].copy_from_slice(&bytes.to_le_bytes());
    header[4..].copy_from_slice(&time.to_le_bytes());
    header
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn frame_times_are_exact_in_hours() {
        for (frames, seconds) in [
            (24_000, 1_001),
            (24, 1),
            (25, 1),
            (30_000, 1_001),
            (30, 1),
            (50, 1),
            (60_000, 1_001),
            (60, 1),
            (120_000, 1_001),
            (15, 1),
        ] {
            let exact = f64::from(seconds) / f64::from(frames);
            // As a sender tells it: cut, or rounded, to microseconds.
            for time in [(1e6 * exact).floor(), (1e6 * exact).round()] {
                let rate = FrameRate::of_frame_time(Duration::from_micros(time as u64));
                assert_eq!((rate.frames, rate.seconds), (frames, seconds), "{time}");
            }
            let frame_rate = FrameRate { frames, seconds };
            let header = IvfHeader { size: (64, 48), frame_rate }.encode().unwrap();
            assert_eq!(header[16..20], frames.to_le_bytes());
            assert_eq!(header[20..24], seconds.to_le_bytes());
        }
        let odd = FrameRate::of_frame_time(Duration::from_micros(71_003));
        assert_eq!((odd.frames, odd.seconds), (1_000_000, 71_003));
    }
}
