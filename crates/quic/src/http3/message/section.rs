//! Field sections as QPACK encodes them without a dynamic table (RFC 9204, section 4.5): h3 offers
//! peers none.

use super::huffman;

/// A section refers to what only a dynamic table would hold, or is not encoded as the standard
/// says: a fault of the connection, which h3 finds as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Undecodable;

/// A field line, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// An entry of the static table that no rule is about.
    Ordinary,
    /// A name with its value.
    Field { name: &'a [u8], value: &'a [u8] },
}

/// Entries of the static table (RFC 9204, appendix A).
const STATIC_ENTRIES: u64 = 99;

/// An entry of the static table; `None` if it is one that no rule is about.
fn static_entry(index: u64) -> Option<(&'static str, &'static str)> {
    Some(match index {
        0 => (":authority", ""),
        1 => (":path", "/"),
        4 => ("content-length", "0"),
        15 => (":method", "CONNECT"),
        16 => (":method", "DELETE"),
        17 => (":method", "GET"),
        18 => (":method", "HEAD"),
        19 => (":method", "OPTIONS"),
        20 => (":method", "POST"),
        21 => (":method", "PUT"),
        22 => (":scheme", "http"),
        23 => (":scheme", "https"),
        24 => (":status", "103"),
        25 => (":status", "200"),
        26 => (":status", "304"),
        27 => (":status", "404"),
        28 => (":status", "503"),
        63 => (":status", "100"),
        64 => (":status", "204"),
        65 => (":status", "206"),
        66 => (":status", "302"),
        67 => (":status", "400"),
        68 => (":status", "403"),
        69 => (":status", "421"),
        70 => (":status", "425"),
        71 => (":status", "500"),
        _ => return None,
    })
}

/// Rest of a section.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn byte(&mut self) -> Result<u8, Undecodable> {
        let (first, rest) = self.0.split_first().ok_or(Undecodable)?;
        self.0 = rest;
        Ok(*first)
    }

    /// An integer behind the first `prefix` bits of a byte that was read (RFC 7541, section 5.1).
    fn integer(&mut self, byte: u8, prefix: u32) -> Result<u64, Undecodable> {
        let mask = (1_u64 << prefix) - 1;
        let mut value = u64::from(byte) & mask;
        if value < mask {
            return Ok(value);
        }
        for shift in (0..=56).step_by(7) {
            let byte = self.byte()?;
            value += u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Undecodable)
    }

    /// A string of the length that follows the first `prefix` bits of `byte`, to the end of `into`.
    fn string(&mut self, byte: u8, prefix: u32, into: &mut Vec<u8>) -> Result<(), Undecodable> {
        let is_huffman = byte >> prefix & 1 == 1;
        let len = self.integer(byte, prefix)?;
        let len = usize::try_from(len).map_err(|_| Undecodable)?;
        let text: &'a [u8] = self.0.get(..len).ok_or(Undecodable)?;
        self.0 = &self.0[len..];
        match is_huffman {
            true => huffman::decode(text, into).ok_or(Undecodable),
            false => {
                into.extend_from_slice(text);
                Ok(())
            }
        }
    }
}

/// Error that ended the reading of a section early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SectionError<E> {
    /// See [`Undecodable`].
    Undecodable,
    /// A line was refused.
    Refused(E),
}

impl<E> From<Undecodable> for SectionError<E> {
    fn from(_: Undecodable) -> Self {
        Self::Undecodable
    }
}

/// Decodes a section line by line.
pub(super) fn read<E>(
    section: &[u8],
    mut on_line: impl FnMut(Line<'_>) -> Result<(), E>,
) -> Result<(), SectionError<E>> {
    let mut cursor = Cursor(section);
    let first = cursor.byte()?;
    let required_inserts = cursor.integer(first, 8)?;
    let base = cursor.byte()?;
    cursor.integer(base, 7)?;
    if required_inserts > 0 {
        return Err(SectionError::Undecodable);
    }
    let mut text = Vec::new();
    while !cursor.0.is_empty() {
        let first = cursor.byte()?;
        text.clear();
        let line = match first {
            // Indexed; with a name from a table; with a name of its own. Bit 0x40, then 0x10, says
            // which table.
            0xc0.. => match static_of(cursor.integer(first, 6)?)? {
                Some((name, value)) => {
                    Line::Field { name: name.as_bytes(), value: value.as_bytes() }
                }
                None => Line::Ordinary,
            },
            0x50..=0x5f | 0x70..=0x7f => {
                let entry = static_of(cursor.integer(first, 4)?)?;
                let value = cursor.byte()?;
                cursor.string(value, 7, &mut text)?;
                let name = entry.map_or("ordinary", |(name, _)| name);
                Line::Field { name: name.as_bytes(), value: &text }
            }
            0x20..=0x3f => {
                cursor.string(first, 3, &mut text)?;
                let name = text.len();
                let value = cursor.byte()?;
                cursor.string(value, 7, &mut text)?;
                let (name, value) = text.split_at(name);
                Line::Field { name, value }
            }
            _ => return Err(SectionError::Undecodable),
        };
        on_line(line).map_err(SectionError::Refused)?;
    }
    Ok(())
}

#[allow(clippy::type_complexity, reason = "an entry, if a rule is about it")]
fn static_of(index: u64) -> Result<Option<(&'static str, &'static str)>, Undecodable> {
    if index < STATIC_ENTRIES { Ok(static_entry(index)) } else { Err(Undecodable) }
}
