//! Movie fragments.

use airlane_base::InputError;

use super::boxes::{Fields, find, walk};
use super::init::Init;

/// Samples of one chunk: an hour of audio in one piece has fewer.
const MAX_SAMPLES: usize = 1_000_000;

/// One sample, which for pictures is a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Duration, ticks.
    pub duration: u32,
    /// Its bytes.
    pub bytes: u32,
    /// From its time of decoding to that of presentation, ticks.
    pub offset: i64,
    /// True if decoding can begin here.
    pub sync: bool,
}

/// One `moof` box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Decode time of its first sample, ticks of the track; the track's time, before any edit.
    pub time: u64,
    /// Its samples, in the order of decoding.
    pub samples: Vec<Sample>,
}

impl Fragment {
    /// Duration of all of its samples together, ticks.
    pub fn duration(&self) -> u64 {
        self.samples.iter().map(|s| u64::from(s.duration)).sum()
    }

    /// Presentation time of the first of its samples, ticks; `None` without samples.
    pub fn earliest(&self) -> Option<i128> {
        let mut decoded = i128::from(self.time);
        let presented = self.samples.iter().map(|s| {
            let at = decoded + i128::from(s.offset);
            decoded += i128::from(s.duration);
            at
        });
        presented.min()
    }
}

/// The fragments of a media segment whose track `init` describes.
///
/// # Errors
/// Broken boxes, a fragment of several tracks or without a time, more than 1 000 000 samples.
pub fn fragments(bytes: &[u8], init: &Init) -> Result<Vec<Fragment>, InputError> {
    let mut found = Vec::new();
    let mut left = MAX_SAMPLES;
    walk(bytes, |kind, moof, _| {
        if kind == *b"moof" {
            found.push(fragment(moof, init, &mut left)?);
        }
        Ok(())
    })?;
    Ok(found)
}

fn fragment(moof: &[u8], init: &Init, left: &mut usize) -> Result<Fragment, InputError> {
    let mut tracks = Vec::new();
    walk(moof, |kind, body, _| {
        if kind == *b"traf" {
            tracks.push(body);
        }
        Ok(())
    })?;
    let [traf] = tracks[..] else {
        return Err(InputError::new(
            format!("{} tracks in one fragment", tracks.len()),
            "expected one",
        )
        .at_key("moof"));
    };
    let tfdt = find(traf, b"tfdt")?.ok_or_else(|| {
        InputError::new("missing", "expected the time of each fragment").at_key("tfdt")
    })?;
    let mut fields = Fields::new("tfdt", tfdt);
    let (version, _) = fields.version()?;
    let time = fields.wide(version)?;
    let mut samples = Vec::new();
    let mut defaults = init.defaults;
    walk(traf, |kind, body, _| match &kind {
        b"tfhd" => {
            defaults = track_defaults(body, defaults)?;
            Ok(())
        }
        b"trun" => run(body, defaults, left, &mut samples),
        _ => Ok(()),
    })?;
    Ok(Fragment { time, samples })
}

/// The defaults of `tfhd` (section 8.8.7) over those of the track.
fn track_defaults(body: &[u8], of: (u32, u32, u32)) -> Result<(u32, u32, u32), InputError> {
    let mut fields = Fields::new("tfhd", body);
    let (_, flags) = fields.version()?;
    fields.take(4)?;
    fields.take(if flags & 1 != 0 { 8 } else { 0 })?;
    fields.take(if flags & 2 != 0 { 4 } else { 0 })?;
    let mut or = |flag, default| if flags & flag != 0 { fields.u32() } else { Ok(default) };
    Ok((or(8, of.0)?, or(0x10, of.1)?, or(0x20, of.2)?))
}

/// The samples of `trun` (section 8.8.8).
fn run(
    body: &[u8],
    (duration, bytes, flags): (u32, u32, u32),
    left: &mut usize,
    samples: &mut Vec<Sample>,
) -> Result<(), InputError> {
    const NO_SYNC: u32 = 0x1_0000;
    let mut fields = Fields::new("trun", body);
    let (version, has) = fields.version()?;
    let count = fields.u32()?;
    *left = usize::try_from(count).ok().and_then(|n| left.checked_sub(n)).ok_or_else(|| {
        InputError::new(
            format!("a run of {count} samples"),
            format!("expected at most {MAX_SAMPLES} in a segment"),
        )
        .at_key("trun")
    })?;
    fields.take(if has & 1 != 0 { 4 } else { 0 })?;
    let mut first_flags = if has & 4 != 0 { Some(fields.u32()?) } else { None };
    for _ in 0..count {
        let mut or = |flag, default| if has & flag != 0 { fields.u32() } else { Ok(default) };
        let (duration, bytes) = (or(0x100, duration)?, or(0x200, bytes)?);
        let flags = or(0x400, flags)?;
        let offset = or(0x800, 0)?;
        let offset = match version {
            0 => i64::from(offset),
            _ => i64::from(offset.cast_signed()),
        };
        let flags = first_flags.take().unwrap_or(flags);
        samples.push(Sample { duration, bytes, offset, sync: flags & NO_SYNC == 0 });
    }
    Ok(())
}

/// Gives the one fragment in `bytes` another number in its sequence and another time, as if the
/// fragments before it had come before.
///
/// # Errors
/// If there is no `moof` box with both, or the time does not fit into its field.
pub fn retime(bytes: &mut [u8], sequence: u32, time: u64) -> Result<(), InputError> {
    let missing = |kind: &str| InputError::new("missing", "expected a fragment").at_key(kind);
    let mut moof = None;
    walk(bytes, |kind, body, before| {
        if kind == *b"moof" {
            moof = Some(before as usize..before as usize + body.len());
        }
        Ok(())
    })?;
    let moof = moof.ok_or_else(|| missing("moof"))?;
    let (mut number_at, mut time_at) = (None, None);
    walk(&bytes[moof.clone()], |kind, body, before| {
        let start = moof.start + before as usize;
        match &kind {
            b"mfhd" => number_at = Some(start + 4..start + body.len()),
            b"traf" => walk(body, |kind, body, before| {
                let start = start + before as usize;
                if kind == *b"tfdt" {
                    time_at = Some(start..start + body.len());
                }
                Ok(())
            })?,
            _ => {}
        }
        Ok(())
    })?;
    // A box that ends before its number has none.
    let number = number_at.and_then(|at| bytes.get_mut(at)?.first_chunk_mut::<4>());
    *number.ok_or_else(|| missing("mfhd"))? = sequence.to_be_bytes();
    let tfdt = time_at.and_then(|at| bytes.get_mut(at)).ok_or_else(|| missing("tfdt"))?;
    let short =
        || InputError::new("a time that does not fit", "expected one that does").at_key("tfdt");
    match tfdt {
        [0, _, _, _, field @ ..] => {
            let time = u32::try_from(time).map_err(|_| short())?;
            *field.first_chunk_mut::<4>().ok_or_else(|| missing("tfdt"))? = time.to_be_bytes();
        }
        [_, _, _, _, field @ ..] => {
            *field.first_chunk_mut::<8>().ok_or_else(|| missing("tfdt"))? = time.to_be_bytes();
        }
        _ => return Err(missing("tfdt")),
    }
    Ok(())
}
