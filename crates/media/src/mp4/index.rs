//! The segment index.

use airlane_base::InputError;

use super::boxes::{Fields, walk};

/// A `sidx` box (ISO/IEC 14496-12, section 8.16.3): where in a file its parts are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Ticks per second.
    pub timescale: u32,
    /// Presentation time of the first part, ticks.
    pub earliest: u64,
    /// Bytes between the end of this box and the first part.
    pub gap_bytes: u64,
    /// The parts, one after the other.
    pub parts: Vec<Subsegment>,
}

/// A part of a file that a [`Index`] names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subsegment {
    /// Length of the subsegment in bytes.
    pub bytes: u32,
    /// Its length in time, ticks.
    pub duration: u32,
}

impl Index {
    /// Reads the first `sidx` box of `bytes`, and how many bytes its end is from their beginning.
    ///
    /// # Errors
    /// No such box, a broken one, a timescale of zero, an index of indices, which nobody
    /// writes for a file of one title.
    pub fn read(bytes: &[u8]) -> Result<(Self, u64), InputError> {
        let mut found = None;
        let mut end = 0;
        walk(bytes, |kind, body, before| {
            if kind == *b"sidx" && found.is_none() {
                found = Some(parse(body)?);
                end = before + body.len() as u64;
            }
            Ok(())
        })?;
        let index = found.ok_or_else(|| {
            InputError::new("no sidx box", "expected the segment index that the manifest names")
        })?;
        Ok((index, end))
    }
}

fn parse(body: &[u8]) -> Result<Index, InputError> {
    let wrong = |found: String, expected: &str| InputError::new(found, expected).at_key("sidx");
    let mut fields = Fields::new("sidx", body);
    let (version, _) = fields.version()?;
    let _track = fields.u32()?;
    let timescale = fields.u32()?;
    if timescale == 0 {
        return Err(wrong("a timescale of 0".into(), "expected ticks per second"));
    }
    let earliest = fields.wide(version)?;
    let gap_bytes = fields.wide(version)?;
    let _reserved = fields.u16()?;
    let count = usize::from(fields.u16()?);
    let mut parts = Vec::with_capacity(count);
    for _ in 0..count {
        let size = fields.u32()?;
        if size >> 31 == 1 {
            return Err(wrong("an index of indices".into(), "expected media in every part"));
        }
        let duration = fields.u32()?;
        let _access_point = fields.u32()?;
        parts.push(Subsegment { bytes: size, duration });
    }
    Ok(Index { timescale, earliest, gap_bytes, parts })
}
