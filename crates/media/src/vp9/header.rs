//! The uncompressed header of a frame, of profile 0.

use super::bits::{BitWriter, Bits};

/// Reason for which a frame cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Vp9Error {
    /// It ends within its header.
    #[error("a frame that ends within its header")]
    Short,
    /// It is no frame of VP9, or of another profile than 0.
    #[error("no frame of VP9 in 8 bits, 4:2:0")]
    Strange,
    /// It has no bytes of its own, or is hidden already.
    #[error("a frame that shows nothing of its own")]
    NotShown,
}

/// Fields of a header that are asked for.
struct Header {
    is_key: bool,
    size: Option<(u32, u32)>,
    /// Bits, without those that fill the last byte.
    bits: usize,
}

/// Bits of the flags at the beginning, in byte 0: frame marker (2), profile (2), shows an existing frame,
/// frame type (0: key frame), shown, error resilient.
const SHOWN: u8 = 1 << 1;
const RESILIENT: u8 = 1;
const SYNC: u32 = 0x49_83_42;
/// The colour space for which profile 0 has no room.
const SRGB: u32 = 7;

/// Width and height of the pictures that begin with a key frame; `None` if it is none.
pub fn key_frame_size(frame: &[u8]) -> Option<(u32, u32)> {
    read(frame, 0).ok().filter(|header| header.is_key)?.size
}

/// The same frame, decoded but not shown. `width` is that of the picture, by its key frame.
///
/// Of frames that are error resilient, as those of layers are, nothing else depends on whether they are
/// shown. A frame that is no key frame has a bit more when it is hidden: whether it needs no other.
///
/// # Errors
/// [`Vp9Error`]: what is wrong with it.
pub fn hide(frame: &[u8], width: u32) -> Result<Vec<u8>, Vp9Error> {
    let header = read(frame, width)?;
    let (head, rest) = frame.split_at_checked(header.bits.div_ceil(8)).ok_or(Vp9Error::Short)?;
    let mut hidden = head.to_vec();
    hidden[0] &= !SHOWN;
    if !header.is_key {
        let mut bits = Bits::new(&hidden);
        let mut out = BitWriter::default();
        for at in 0..header.bits {
            if at == 8 {
                out.push(false);
            }
            out.push(bits.bit().ok_or(Vp9Error::Short)?);
        }
        hidden = out.into_bytes();
    }
    hidden.extend_from_slice(rest);
    Ok(hidden)
}

/// Reads a header of a frame that is shown and error resilient.
fn read(frame: &[u8], width: u32) -> Result<Header, Vp9Error> {
    let first = *frame.first().ok_or(Vp9Error::Short)?;
    // Marker 2, profile 0.
    if first >> 4 != 0b1000 || first & RESILIENT == 0 {
        return Err(Vp9Error::Strange);
    }
    if first & 1 << 3 != 0 || first & SHOWN == 0 {
        return Err(Vp9Error::NotShown);
    }
    let is_key = first & 1 << 2 == 0;
    let mut bits = Bits::new(frame);
    bits.skip(8).ok_or(Vp9Error::Short)?;
    let mut size = None;
    if is_key {
        if bits.number(24).ok_or(Vp9Error::Short)? != SYNC {
            return Err(Vp9Error::Strange);
        }
        if bits.number(3).ok_or(Vp9Error::Short)? == SRGB {
            return Err(Vp9Error::Strange);
        }
    }
    let rest = (|| {
        if is_key {
            // The range of colours.
            bits.skip(1)?;
            size = Some(frame_size(&mut bits)?);
            bits.optional(32)?;
        } else {
            // Which frames it refreshes, and three that it refers to, with a sign each.
            bits.skip(8 + 3 * 4)?;
            let mut is_found = false;
            for _ in 0..3 {
                is_found = bits.bit()?;
                if is_found {
                    break;
                }
            }
            if !is_found {
                size = Some(frame_size(&mut bits)?);
            }
            bits.optional(32)?;
            // High precision of motion vectors; the filter, if all of the frame has one.
            bits.skip(1)?;
            if !bits.bit()? {
                bits.skip(2)?;
            }
        }
        // Which of the saved probabilities.
        bits.skip(2)?;
        loop_filter(&mut bits)?;
        bits.skip(8)?;
        for _ in 0..3 {
            bits.optional(5)?;
        }
        segmentation(&mut bits)?;
        tiles(&mut bits, size.map_or(width, |(width, _)| width))?;
        // The size of the compressed header.
        bits.skip(16)
    })();
    rest.ok_or(Vp9Error::Short)?;
    Ok(Header { is_key, size, bits: bits.at() })
}

fn frame_size(bits: &mut Bits<'_>) -> Option<(u32, u32)> {
    let width = bits.number(16)? + 1;
    Some((width, bits.number(16)? + 1))
}

fn loop_filter(bits: &mut Bits<'_>) -> Option<()> {
    bits.skip(6 + 3)?;
    // Changes by reference and mode, and whether they are new: four and two of them.
    if bits.bit()? && bits.bit()? {
        for _ in 0..6 {
            bits.optional(7)?;
        }
    }
    Some(())
}

fn segmentation(bits: &mut Bits<'_>) -> Option<()> {
    if !bits.bit()? {
        return Some(());
    }
    if bits.bit()? {
        for _ in 0..7 {
            bits.optional(8)?;
        }
        if bits.bit()? {
            for _ in 0..3 {
                bits.optional(8)?;
            }
        }
    }
    if bits.bit()? {
        bits.skip(1)?;
        for _ in 0..8 {
            // Quantiser and filter with a sign, reference, skip.
            for count in [9, 7, 2, 0] {
                bits.optional(count)?;
            }
        }
    }
    Some(())
}

fn tiles(bits: &mut Bits<'_>, width: u32) -> Option<()> {
    let columns = width.div_ceil(64);
    let least = (0..6).find(|log| 64 << log >= columns).unwrap_or(6);
    let most = (1..=6).find(|log| columns >> log < 4).unwrap_or(7) - 1;
    for _ in least..most {
        if !bits.bit()? {
            break;
        }
    }
    bits.optional(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tile_columns_are_as_wide_as_allowed() {
        // 1280 pixels are 20 columns of 64: at least 1 tile, at most 4.
        let read = |width, bytes: &[u8]| {
            let mut bits = Bits::new(bytes);
            tiles(&mut bits, width).map(|()| bits.at())
        };
        assert_eq!(read(1280, &[0xff]), Some(4));
        assert_eq!(read(1280, &[0]), Some(2));
        assert_eq!(read(320, &[0]), Some(1));
        assert_eq!(read(320, &[]), None);
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        assert_eq!(hide(&[], 64), Err(Vp9Error::Short));
        assert_eq!(hide(&[0; 40], 64), Err(Vp9Error::Strange));
        assert_eq!(hide(&[0b1000_1011; 40], 64), Err(Vp9Error::NotShown));
        assert_eq!(hide(&[0b1000_0101; 40], 64), Err(Vp9Error::NotShown));
        assert_eq!(hide(&[0b1000_0111; 2], 64), Err(Vp9Error::Short));
    }
}
