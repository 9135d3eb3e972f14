//! IVF: the simplest file that holds VP9, which ffmpeg, players and libvpx's tools read.

use std::time::Duration;

/// Why a stream does not fit into IVF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IvfError {
    /// The picture is too large.
    #[error("pictures of {0}x{1}, and IVF has room for 65535x65535")]
    Size(u32, u32),
}

/// What an IVF file begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IvfHeader {
    /// Width and height of the pictures.
    pub size: (u32, u32),
    /// From one frame to the next: the unit of time.
    pub frame_time: Duration,
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
        let micros = u32::try_from(self.frame_time.as_micros()).unwrap_or(u32::MAX);
        for number in [1_000_000, micros, 0, 0] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        Ok(bytes)
    }
}

/// What stands in front of a frame of so many bytes that is shown at `time`, in frame times.
pub fn ivf_frame(bytes: u32, time: u64) -> [u8; 12] {
    let mut header = [0; 12];
    header[..4].copy_from_slice(&bytes.to_le_bytes());
    header[4..].copy_from_slice(&time.to_le_bytes());
    header
}
