//! The radiotap header (<https://www.radiotap.org>): what a receiver's driver says of a frame.

use airlane_wifi::{Format, Guard, Vector, Width};

use crate::bytes::{le16, le32, le64};
use crate::own::{self, Own};

/// Error in a radiotap header that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRadiotap {
    /// A header that is shorter than it says, or than any.
    #[error("cut short")]
    Short,
    /// A version that nobody has defined.
    #[error("version {0}; expected 0")]
    Version(u8),
    /// More words of presence than anybody writes.
    #[error("more than {MAX_WORDS} words of presence")]
    Words,
}

/// The fields of a header that matter here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Radiotap {
    /// Its length: the frame is behind it.
    pub len: usize,
    /// The receiver's clock when the first bit of the MPDU came, microseconds.
    pub tsft_us: Option<u64>,
    /// Another clock, nanoseconds, and where in the PPDU it was read.
    pub timestamp: Option<(u64, Position)>,
    /// True if the frame ends in its frame check sequence.
    pub has_fcs: bool,
    /// True if the frame check sequence did not match.
    pub is_damaged: bool,
    /// True if two bytes of padding follow a MAC header whose length is no multiple of four.
    pub is_padded: bool,
    /// Vector of the PPDU, where it is told and the standard has it.
    pub vector: Option<Vector>,
    /// The middle of the channel, MHz.
    pub channel_mhz: Option<u16>,
    /// Signal strength, dBm.
    pub signal_dbm: Option<i8>,
    /// The aggregate that it is a frame of.
    pub ampdu: Option<Ampdu>,
    /// There is no frame: it was lost, or there was none.
    pub is_zero_length: bool,
    /// Duration of the PPDU by its legacy preamble, microseconds.
    pub legacy_us: Option<u32>,
    /// Note of Airlane's own writer.
    pub own: Option<Own>,
}

/// The place in a PPDU at which a clock was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// At the first bit of the MPDU.
    Mpdu,
    /// At its preamble.
    Preamble,
    /// At its end.
    End,
}

/// The aggregate that a frame was in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ampdu {
    /// Reference number, the same for all of its frames.
    pub reference: u32,
    /// True for the last frame of the aggregate.
    pub is_last: bool,
}

/// The most words of presence that are followed.
const MAX_WORDS: usize = 32;
const EXTENDED: u32 = 1 << 31;
const VENDOR: u32 = 1 << 30;
const RADIOTAP: u32 = 1 << 29;

/// Size and alignment of the fields, by bit of the word of presence.
const FIELDS: [(usize, usize); 28] = [
    (8, 8),
    (1, 1),
    (1, 1),
    (4, 2),
    (2, 2),
    (1, 1),
    (1, 1),
    (2, 2),
    (2, 2),
    (2, 2),
    (1, 1),
    (1, 1),
    (1, 1),
    (1, 1),
    (2, 2),
    (2, 2),
    (1, 1),
    (1, 1),
    (8, 4),
    (3, 1),
    (8, 4),
    (12, 2),
    (12, 8),
    (12, 2),
    (12, 2),
    (6, 2),
    (1, 1),
    (4, 2),
];

impl Radiotap {
    /// Reads a header at the beginning of `bytes`.
    ///
    /// Fields that nobody has defined end the reading, as their sizes are not known; what was read
    /// until then stands.
    ///
    /// # Errors
    /// If there is none.
    pub fn parse(bytes: &[u8]) -> Result<Self, BadRadiotap> {
        let [version, _, low, high, ..] = *bytes else { return Err(BadRadiotap::Short) };
        if version != 0 {
            return Err(BadRadiotap::Version(version));
        }
        let len = usize::from(u16::from_le_bytes([low, high]));
        let bytes = bytes.get(..len).ok_or(BadRadiotap::Short)?;
        let mut words = 0;
        loop {
            let word = le32(bytes, 4 + 4 * words).ok_or(BadRadiotap::Short)?;
            words += 1;
            if word & EXTENDED == 0 {
                break;
            }
            if words == MAX_WORDS {
                return Err(BadRadiotap::Words);
            }
        }
        let mut tap = Self { len, ..Self::default() };
        tap.walk(bytes, words);
        Ok(tap)
    }

    /// Reads the fields, namespace by namespace; up to the first that cannot be understood.
    fn walk(&mut self, bytes: &[u8], words: usize) {
        let mut at = 4 + 4 * words;
        // Bits count on from word to word of a namespace; those of the standard's are all in the first.
        let mut is_standard = true;
        for index in 0..words {
            let Some(word) = le32(bytes, 4 + 4 * index) else { return };
            if is_standard {
                let mut bits = word & !(EXTENDED | VENDOR | RADIOTAP);
                while bits != 0 {
                    let bit = bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    let Some(&(size, align)) = FIELDS.get(bit) else { return };
                    at = at.next_multiple_of(align);
                    let Some(field) = bytes.get(at..at + size) else { return };
                    self.field(bit, field);
                    at += size;
                }
            }
            if word & EXTENDED == 0 {
                return;
            }
            if word & RADIOTAP != 0 {
                is_standard = true;
            } else if word & VENDOR != 0 {
                is_standard = false;
                at = at.next_multiple_of(2);
                let Some(&[a, b, c, sub, low, high]) =
                    bytes.get(at..at + 6).and_then(|head| head.first_chunk())
                else {
                    return;
                };
                let size = usize::from(u16::from_le_bytes([low, high]));
                let Some(data) = bytes.get(at + 6..at + 6 + size) else { return };
                if ([a, b, c], sub) == own::NAMESPACE {
                    self.own = Own::parse(data);
                }
                at += 6 + size;
            } else if is_standard {
                // The bits from 32 on, which nobody has defined.
                return;
            }
        }
    }

    /// Takes one field; of fields that come several times (a word per antenna) the first.
    fn field(&mut self, bit: usize, field: &[u8]) {
        match bit {
            0 => self.tsft_us = self.tsft_us.or(le64(field, 0)),
            1 => {
                self.has_fcs |= field[0] & 0x10 != 0;
                self.is_padded |= field[0] & 0x20 != 0;
                self.is_damaged |= field[0] & 0x40 != 0;
            }
            2 => self.vector = self.vector.or_else(|| legacy(field[0])),
            3 => self.channel_mhz = self.channel_mhz.or_else(|| le16(field, 0)),
            5 => self.signal_dbm = self.signal_dbm.or(Some(field[0].cast_signed())),
            19 => self.vector = ht(field),
            20 => self.aggregate(field),
            21 => self.vector = vht(field),
            22 => self.timestamp = self.timestamp.or_else(|| clock(field)),
            23 => self.vector = he(field),
            // Bit 24 is HE of several users, which bit 23 describes as well.
            26 => self.is_zero_length = true,
            27 => self.legacy_us = legacy_duration(field),
            _ => {}
        }
    }

    fn aggregate(&mut self, field: &[u8]) {
        let (Some(reference), Some(flags)) = (le32(field, 0), le16(field, 4)) else { return };
        let is_last = flags & 0x0c == 0x0c;
        self.ampdu = self.ampdu.or(Some(Ampdu { reference, is_last }));
    }
}

/// Units of 500 kbit/s.
fn legacy(rate: u8) -> Option<Vector> {
    const DSSS: [u8; 4] = [2, 4, 11, 22];
    const OFDM: [u8; 8] = [12, 18, 24, 36, 48, 72, 96, 108];
    let place = |rates: &[u8]| rates.iter().position(|r| *r == rate).map(|p| p as u8);
    place(&DSSS).map(Vector::dsss).or_else(|| place(&OFDM).map(Vector::ofdm))
}

fn sound(vector: Vector) -> Option<Vector> {
    vector.is_valid().then_some(vector)
}

fn ht(field: &[u8]) -> Option<Vector> {
    let [known, flags, mcs] = *field.first_chunk()?;
    if known & 0x02 == 0 || mcs > 31 {
        return None;
    }
    let is_wide = known & 0x01 != 0 && flags & 0x03 == 1;
    let is_short = known & 0x04 != 0 && flags & 0x04 != 0;
    sound(Vector {
        format: Format::Ht,
        mcs: mcs & 7,
        streams: (mcs >> 3) + 1,
        width: if is_wide { Width::Mhz40 } else { Width::Mhz20 },
        guard: if is_short { Guard::Ns400 } else { Guard::Ns800 },
    })
}

fn vht(field: &[u8]) -> Option<Vector> {
    let [_, _, flags, bandwidth, users @ ..] = field else { return None };
    // The first user whose streams are told.
    let user = users.get(..4)?.iter().find(|u| **u & 0x0f != 0)?;
    let width = match bandwidth & 0x1f {
        // A primary part of a wider channel is as wide as the part (the fields' table).
        0 | 2 | 3 | 7..=10 | 18..=25 => Width::Mhz20,
        1 | 5 | 6 | 14..=17 => Width::Mhz40,
        4 | 12 | 13 => Width::Mhz80,
        11 => Width::Mhz160,
        _ => return None,
    };
    sound(Vector {
        format: Format::Vht,
        mcs: user >> 4,
        streams: user & 0x0f,
        width,
        guard: if flags & 0x04 != 0 { Guard::Ns400 } else { Guard::Ns800 },
    })
}

fn he(field: &[u8]) -> Option<Vector> {
    let data = |n: usize| le16(field, 2 * n);
    let (known, rates, rest, streams) = (data(0)?, data(2)?, data(4)?, data(5)?);
    if known & 0x0020 == 0 {
        return None;
    }
    let width = match rest & 0x0f {
        _ if known & 0x4000 == 0 => Width::Mhz20,
        0 => Width::Mhz20,
        1 => Width::Mhz40,
        2 => Width::Mhz80,
        3 => Width::Mhz160,
        // Resource units of several users.
        4..=7 => Width::Mhz20,
        8 => Width::Mhz40,
        9 => Width::Mhz80,
        _ => Width::Mhz160,
    };
    let guard = match (rest >> 4) & 3 {
        0 => Guard::Ns800,
        1 => Guard::Ns1600,
        2 => Guard::Ns3200,
        _ => return None,
    };
    sound(Vector {
        format: Format::He,
        mcs: ((rates >> 8) & 0x0f) as u8,
        streams: (streams & 0x0f).max(1) as u8,
        width,
        guard,
    })
}

/// A clock with its unit and the place where it was read.
fn clock(field: &[u8]) -> Option<(u64, Position)> {
    let ticks = le64(field, 0)?;
    let unit = match field[10] & 0x0f {
        0 => 1_000_000,
        1 => 1_000,
        // The page of radiotap says 2, Linux 3.
        2 | 3 => 1,
        _ => return None,
    };
    let position = match field[10] >> 4 {
        0 => Position::Mpdu,
        1 => Position::Preamble,
        2 | 3 => Position::End,
        _ => return None,
    };
    Some((ticks.checked_mul(unit)?, position))
}

/// Duration of a PPDU whose legacy preamble announces so many bytes at 6 Mbit/s (802.11-2020, 21.4.3).
fn legacy_duration(field: &[u8]) -> Option<u32> {
    let (known, data) = (le16(field, 0)?, le16(field, 2)?);
    let (rate, len) = (data & 0x0f, u32::from(data >> 4));
    let is_told = known & 0x03 == 0x03 && rate == 0x0b && len > 0;
    is_told.then(|| 20 + 4 * (len + 3).div_ceil(3))
}
