//! IVF: the simplest file that holds VP8, VP9 or AV1, which ffmpeg, players and libvpx's tools read and write.

use crate::dash::FrameRate;

/// Bytes of a file's header, as most writers have it, and of a frame's.
const FILE_HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 12;

/// Reason for which a stream does not fit into IVF, or a file is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IvfError {
    /// The picture is too large.
    #[error("pictures of {0}x{1}, and IVF has room for 65535x65535")]
    Size(u32, u32),
    /// The bytes do not begin as a file of IVF does.
    #[error("no IVF file: it begins with \"DKIF\", version 0, and a header of 32 bytes or more")]
    Header,
    /// The frame rate is zero.
    #[error("a frame rate of {0}/{1}")]
    FrameRate(u32, u32),
    /// The file ends in the middle of this frame, from 0.
    #[error("the file ends within frame {0}")]
    Frame(usize),
}

/// IVF file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IvfFile<'a> {
    /// Codec as four characters: `VP80`, `VP90`, `AV01`.
    pub codec: [u8; 4],
    /// Size of the pictures, and their rate.
    pub header: IvfHeader,
    /// Frames in the order of decoding.
    pub frames: Vec<IvfFrame<'a>>,
}

/// Frame of an IVF file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IvfFrame<'a> {
    /// Time at which it is shown, in frame times.
    pub time: u64,
    /// Its bytes.
    pub data: &'a [u8],
}

impl<'a> IvfFile<'a> {
    /// Reads a file.
    ///
    /// # Errors
    /// If it is none, or ends within a frame.
    pub fn read(bytes: &'a [u8]) -> Result<Self, IvfError> {
        let short = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let fields = || {
            let is_ivf = bytes.starts_with(b"DKIF\0\0");
            let length = usize::from(short(6)?);
            let codec: [u8; 4] = bytes.get(8..12)?.try_into().ok()?;
            let size = (u32::from(short(12)?), u32::from(short(14)?));
            let rate = (word(16)?, word(20)?);
            let is_whole = (FILE_HEADER_BYTES..=bytes.len()).contains(&length);
            (is_ivf && is_whole).then_some((length, codec, size, rate))
        };
        let (length, codec, size, (frames, seconds)) = fields().ok_or(IvfError::Header)?;
        if frames == 0 || seconds == 0 {
            return Err(IvfError::FrameRate(frames, seconds));
        }
        let header = IvfHeader { size, frame_rate: FrameRate { frames, seconds } };
        let mut rest = &bytes[length..];
        let mut read = Vec::new();
        while !rest.is_empty() {
            let cut = IvfError::Frame(read.len());
            let (head, after) = rest.split_first_chunk::<FRAME_HEADER_BYTES>().ok_or(cut)?;
            let (bytes, time) = head.split_at(4);
            let bytes = u32::from_le_bytes(bytes.try_into().map_err(|_| cut)?);
            let time = u64::from_le_bytes(time.try_into().map_err(|_| cut)?);
            let (data, after) = after.split_at_checked(bytes as usize).ok_or(cut)?;
            read.push(IvfFrame { time, data });
            rest = after;
        }
        Ok(Self { codec, header, frames: read })
    }
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

    /// A file of VP9 with these frames.
    fn file(frames: &[&[u8]]) -> Vec<u8> {
        let frame_rate = FrameRate { frames: 30, seconds: 1 };
        let mut bytes = IvfHeader { size: (64, 48), frame_rate }.encode().unwrap();
        for (time, frame) in frames.iter().enumerate() {
            bytes.extend_from_slice(&ivf_frame(frame.len() as u32, time as u64));
            bytes.extend_from_slice(frame);
        }
        bytes
    }

    #[test]
    fn what_was_written_is_read() {
        let bytes = file(&[b"abc", b"", b"d"]);
        let read = IvfFile::read(&bytes).unwrap();
        assert_eq!((&read.codec, read.header.size), (b"VP90", (64, 48)));
        let frames: Vec<_> = read.frames.iter().map(|frame| (frame.time, frame.data)).collect();
        assert_eq!(frames, [(0, &b"abc"[..]), (1, b""), (2, b"d")]);
    }

    #[test]
    fn what_is_no_file_is_told_with_its_place() {
        let bytes = file(&[b"abc", b"de"]);
        assert_eq!(IvfFile::read(&bytes[..bytes.len() - 1]), Err(IvfError::Frame(1)));
        assert_eq!(IvfFile::read(&bytes[..FILE_HEADER_BYTES + 3]), Err(IvfError::Frame(0)));
        assert_eq!(IvfFile::read(&bytes[..31]), Err(IvfError::Header));
        assert_eq!(IvfFile::read(b"RIFF"), Err(IvfError::Header));
        let mut still = bytes;
        still[16..20].fill(0);
        assert_eq!(IvfFile::read(&still), Err(IvfError::FrameRate(0, 1)));
    }

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
