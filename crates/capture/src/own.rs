//! Notes of the writer beside the standard's fields, in a vendor namespace of radiotap, so that a
//! record reads back as it was: times to the nanosecond, and what headers do not say.
//!
//! 36 bytes, numbers little end first: version (1), level (0 energy, 1 PHY header, 2 frames), flags (1
//! aggregate, 2 from an access point to a station), zero, number of the frame in its transmission and
//! how many there are (16 bits each), when the transmission began and how long it was in the air
//! (nanoseconds, 64 bits each), what the exchange takes behind the frame (nanoseconds, 64 bits), four
//! bytes of zero.

use crate::bytes::{le16, le64};

/// A locally administered prefix, and the kind of note.
pub(crate) const NAMESPACE: ([u8; 3], u8) = ([0x02, 0x41, 0x4c], 1);

/// Bytes of a note.
pub(crate) const LEN: usize = 36;
const VERSION: u8 = 1;

/// Levels by their numbers.
const LEVELS: [Level; 3] = [Level::Energy, Level::Header, Level::Frames];
const AGGREGATE: u8 = 1;
const DOWN: u8 = 2;

/// The part of a transmission that was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Energy: the air was busy.
    Energy,
    /// The PHY header.
    Header,
    /// Frames.
    Frames,
}

/// The note that the writer makes beside a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own {
    /// The part that was heard.
    pub level: Level,
    /// True if it was an aggregate.
    pub is_aggregate: bool,
    /// True if the frame goes from an access point to a station.
    pub is_down: bool,
    /// Number of this frame among the transmission's.
    pub index: u16,
    /// Number of frames that were heard.
    pub count: u16,
    /// Beginning of the transmission, nanoseconds.
    pub begin: u64,
    /// Airtime of the transmission, nanoseconds.
    pub duration: u64,
    /// Time that the exchange goes on behind the frame, nanoseconds.
    pub remaining: u64,
}

impl Own {
    /// Reads a note; `None` of a later version, or of one that is not sound.
    pub(crate) fn parse(data: &[u8]) -> Option<Self> {
        let [VERSION, level, flags, _, ..] = *data else { return None };
        Some(Self {
            level: *LEVELS.get(usize::from(level))?,
            is_aggregate: flags & AGGREGATE != 0,
            is_down: flags & DOWN != 0,
            index: le16(data, 4)?,
            count: le16(data, 6)?,
            begin: le64(data, 8)?,
            duration: le64(data, 16)?,
            remaining: le64(data, 24)?,
        })
    }

    /// Writes it.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let level = LEVELS.iter().position(|level| *level == self.level).unwrap_or(0) as u8;
        let flags =
            if self.is_aggregate { AGGREGATE } else { 0 } | if self.is_down { DOWN } else { 0 };
        out.extend([VERSION, level, flags, 0]);
        out.extend(self.index.to_le_bytes());
        out.extend(self.count.to_le_bytes());
        for number in [self.begin, self.duration, self.remaining] {
            out.extend(number.to_le_bytes());
        }
        out.extend([0; 4]);
    }
}
