//! The header that every packet of a message carries in clear. `docs/reference/wire/octopus.md` has
//! it bit by bit, with test vectors.

/// Bytes of a header.
pub const HEADER_BYTES: usize = 12;
/// The version of the format.
pub const VERSION: u8 = 1;
/// The highest priority value and threshold: 3 bits.
pub const MAX_PRIORITY: u8 = 7;
/// The highest bitrate, kbit/s: 20 bits.
pub const MAX_BITRATE_KBPS: u32 = (1 << 20) - 1;
/// The highest slack, ms: 9 bits.
pub const MAX_SLACK_MS: u16 = (1 << 9) - 1;

/// First bytes from here on are ours: RFC 9443 has 4 to 15 for none of the protocols that share a
/// socket with QUIC. Four of them per version.
const FIRST_BYTE: u8 = 4;
const FIRST: u8 = 2;
const LAST: u8 = 1;

/// Marking of a message by its application (section 4.1). The default is never dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marking {
    /// Priority for dropping: 1 to 7, a higher value matters less and is dropped first; 0 is
    /// dropped by no message. (The paper counts from 0, which its own default would then drop.)
    pub priority: u8,
    /// As soon as this message is whole in a queue, it drops older ones there of its stream whose
    /// priority is at least this. 0 means 1.
    pub drops: Option<u8>,
    /// It is dropped while its stream is served more slowly than this, kbit/s of IP packets; 0 never.
    pub bitrate_kbps: u32,
    /// It is dropped only once it has waited for so long, ms; elements may leave that aside.
    pub slack_ms: u16,
}

/// The header of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The stream, among those of its connection.
    pub stream: u16,
    /// The message: counts up by stream, and wraps.
    pub message: u32,
    /// The marking of the message, the same in all of its packets.
    pub marking: Marking,
    /// It is the message's first packet.
    pub first: bool,
    /// It is the message's last packet.
    pub last: bool,
}

/// Error in a header.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// Fewer bytes than a header has.
    #[error("found {0} bytes; expected at least {HEADER_BYTES}")]
    Truncated(usize),
    /// It begins like a packet of something else.
    #[error("found a first byte of {0}; expected 4 to 15")]
    FirstByte(u8),
    /// A version that is not known.
    #[error("found version {0}; expected {VERSION}")]
    Version(u8),
    /// A value that its field cannot hold.
    #[error("{field} is {found}; expected at most {most}")]
    Range {
        /// The field of [`Marking`].
        field: &'static str,
        /// Its value.
        found: u32,
        /// The highest that fits.
        most: u32,
    },
}

impl HeaderError {
    /// Error in a packet that does not begin with a header.
    #[inline(never)]
    fn of(packet: &[u8]) -> Self {
        match packet.first() {
            Some(4..=7) | None => Self::Truncated(packet.len()),
            Some(first @ 8..=15) => Self::Version(first >> 2),
            Some(first) => Self::FirstByte(*first),
        }
    }
}

/// True if message `a` is older than `b`, by serial arithmetic (RFC 1982, section 3.2, of 32 bits).
#[inline]
pub fn is_older(a: u32, b: u32) -> bool {
    (b.wrapping_sub(a) as i32) > 0
}

impl Marking {
    /// Checks that every value fits its field.
    ///
    /// # Errors
    /// [`HeaderError::Range`] of the first that does not.
    pub fn check(&self) -> Result<(), HeaderError> {
        let priority = u32::from(MAX_PRIORITY);
        let fields = [
            ("priority", u32::from(self.priority), priority),
            ("drops", u32::from(self.drops.unwrap_or(0)), priority),
            ("bitrate_kbps", self.bitrate_kbps, MAX_BITRATE_KBPS),
            ("slack_ms", u32::from(self.slack_ms), u32::from(MAX_SLACK_MS)),
        ];
        match fields.into_iter().find(|(_, found, most)| found > most) {
            Some((field, found, most)) => Err(HeaderError::Range { field, found, most }),
            None => Ok(()),
        }
    }
}

impl Header {
    /// The bytes of the header.
    ///
    /// # Errors
    /// As [`Marking::check`].
    pub fn encode(&self) -> Result<[u8; HEADER_BYTES], HeaderError> {
        let Marking { priority, drops, bitrate_kbps, slack_ms } = self.marking;
        self.marking.check()?;
        let flag = u8::from(drops.is_some());
        let rates = u32::from(slack_ms) << 20 | bitrate_kbps;
        let mut bytes = [0; HEADER_BYTES];
        bytes[0] =
            FIRST_BYTE | if self.first { FIRST } else { 0 } | if self.last { LAST } else { 0 };
        bytes[1] = priority << 5 | drops.unwrap_or(0) << 2 | flag << 1;
        bytes[2..6].copy_from_slice(&rates.to_be_bytes());
        bytes[6..8].copy_from_slice(&self.stream.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.message.to_be_bytes());
        Ok(bytes)
    }

    /// Reads the header at the beginning of a packet; what follows, and reserved bits, it does not
    /// look at.
    ///
    /// # Errors
    /// [`HeaderError::FirstByte`] if it is a packet of something else, [`HeaderError::Version`] if of
    /// a version that came later, [`HeaderError::Truncated`] if it is cut off. A queue lets all of
    /// them pass.
    #[inline]
    pub fn decode(packet: &[u8]) -> Result<Self, HeaderError> {
        let Some(bytes) = packet.first_chunk::<HEADER_BYTES>().filter(|b| b[0] & !3 == FIRST_BYTE)
        else {
            return Err(HeaderError::of(packet));
        };
        let first = bytes[0];
        let [_, marks, a, b, c, d, stream @ .., m0, m1, m2, m3] = *bytes;
        let rates = u32::from_be_bytes([a, b, c, d]);
        Ok(Self {
            stream: u16::from_be_bytes(stream),
            message: u32::from_be_bytes([m0, m1, m2, m3]),
            marking: Marking {
                priority: marks >> 5,
                drops: (marks & 2 != 0).then_some(marks >> 2 & 7),
                bitrate_kbps: rates & MAX_BITRATE_KBPS,
                slack_ms: (rates >> 20) as u16 & MAX_SLACK_MS,
            },
            first: first & FIRST != 0,
            last: first & LAST != 0,
        })
    }
}
