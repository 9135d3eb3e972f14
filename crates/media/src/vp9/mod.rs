//! VP9 as far as layers need it: superframes, and frames that are decoded but not shown.
//!
//! Of a picture in layers of quality every layer is a frame of VP9 of its own that is shown; a superframe
//! joins those of one picture. A player that takes superframes apart would show each of them, so all but
//! the highest have to be hidden before they are joined ([`hide`], [`superframe`]). (VP9 Bitstream and
//! Decoding Process Specification 0.6, sections 6.2 and 7.2, annex B.)

mod bits;
mod header;

pub use header::{Vp9Error, hide, key_frame_size};

/// Frames of a superframe at most.
pub const MAX_FRAMES: usize = 8;

/// Joins frames of which only the last is shown. One frame alone stays as it is; `None` if there are
/// none, or more than 8, or one of 4 GiB.
pub fn superframe(frames: &[impl AsRef<[u8]>]) -> Option<Vec<u8>> {
    let sizes = frames.iter().map(|frame| u32::try_from(frame.as_ref().len()).ok());
    let sizes: Vec<u32> = sizes.collect::<Option<_>>()?;
    let largest = sizes.iter().copied().max()?;
    if frames.len() > MAX_FRAMES {
        return None;
    }
    let mut joined: Vec<u8> = frames.iter().flat_map(|f| f.as_ref().iter().copied()).collect();
    if frames.len() > 1 {
        let width = 4 - (largest | 1).leading_zeros() as usize / 8;
        let marker = 0b1100_0000 | (width as u8 - 1) << 3 | (frames.len() as u8 - 1);
        joined.push(marker);
        sizes.iter().for_each(|size| joined.extend_from_slice(&size.to_le_bytes()[..width]));
        joined.push(marker);
    }
    Some(joined)
}

/// The frames of a superframe, by the index at its end; without one it is a frame itself. `None` if the
/// index is wrong.
pub fn frames_of(superframe: &[u8]) -> Option<Vec<&[u8]>> {
    let (&marker, _) = superframe.split_last()?;
    let (count, width) = (usize::from(marker & 7) + 1, usize::from(marker >> 3 & 3) + 1);
    let length = 2 + count * width;
    let begin = superframe.len().checked_sub(length);
    let Some(begin) = begin.filter(|at| marker & 0xe0 == 0xc0 && superframe[*at] == marker) else {
        return Some(vec![superframe]);
    };
    let (mut rest, index) = superframe.split_at(begin);
    let sizes = index[1..length - 1].chunks_exact(width);
    let mut frames = Vec::with_capacity(count);
    for size in sizes {
        let size = size.iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        let (frame, after) = rest.split_at_checked(size).filter(|_| size > 0)?;
        frames.push(frame);
        rest = after;
    }
    rest.is_empty().then_some(frames)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_joined_can_be_taken_apart(
            frames in prop::collection::vec(prop::collection::vec(0u8..0xc0, 1..400), 1..9),
        ) {
            let joined = superframe(&frames).unwrap();
            prop_assert_eq!(frames_of(&joined).unwrap(), frames);
        }

        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..80), width in 0u32..9000) {
            let _ = frames_of(&bytes);
            let _ = hide(&bytes, width);
            let _ = key_frame_size(&bytes);
        }
    }

    #[test]
    fn too_many_or_none_are_refused() {
        assert_eq!(superframe(&[[1]; 9]), None);
        assert_eq!(superframe(&[] as &[[u8; 1]]), None);
        assert_eq!(frames_of(&[]), None);
    }
}
