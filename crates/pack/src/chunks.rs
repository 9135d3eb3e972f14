//! A stream of fragmented MP4, cut into an initialisation segment and chunks.

use airlane_base::InputError;
use airlane_media::mp4::{self, Init};

/// No chunk is this large.
const MAX_BOX_BYTES: u64 = 1 << 31;

/// Boxes out of bytes as they come.
#[derive(Debug, Default)]
pub(crate) struct Cutter {
    pending: Vec<u8>,
    /// Bytes of the next part that are complete.
    part: Vec<u8>,
}

/// A part of the stream.
#[derive(Debug, PartialEq)]
pub(crate) enum Part {
    /// Up to and with `moov`.
    Init(Vec<u8>),
    /// Up to and with `mdat`.
    Chunk(Vec<u8>),
}

impl Cutter {
    /// Takes bytes and returns the parts that are whole by now.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<Vec<Part>, InputError> {
        self.pending.extend_from_slice(bytes);
        let mut parts = Vec::new();
        while let Some(head) = mp4::header(&self.pending)? {
            let size = head.bytes.filter(|b| *b < MAX_BOX_BYTES).ok_or_else(|| {
                InputError::new("a box without an end", "expected a stream of fragments")
            })?;
            // Below 2^31, as was checked.
            let size = size as usize;
            if self.pending.len() < size {
                break;
            }
            self.part.extend(self.pending.drain(..size));
            match &head.kind {
                b"moov" => parts.push(Part::Init(std::mem::take(&mut self.part))),
                b"mdat" => parts.push(Part::Chunk(std::mem::take(&mut self.part))),
                _ => {}
            }
        }
        Ok(parts)
    }

    /// Bytes that no part has taken.
    pub(crate) fn rest(&self) -> usize {
        self.pending.len() + self.part.len()
    }
}

/// Shape that a chunk of pictures must have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Frames of every chunk but the last.
    pub(crate) frames: u64,
    /// Ticks per frame.
    pub(crate) ticks: u64,
}

impl Shape {
    /// The tick of the track at which the pictures of chunk `number`, from 0, are to begin.
    fn start(&self, init: &Init, number: u64) -> u64 {
        number * self.frames * self.ticks + init.skipped
    }

    /// Gives a chunk the number and the time that it has in its rung, whatever it had in the stream
    /// that it comes from: its first picture is presented at its start.
    pub(crate) fn place(
        &self,
        chunk: &mut [u8],
        init: &Init,
        number: u64,
    ) -> Result<(), InputError> {
        let fragments = mp4::fragments(chunk, init)?;
        let lead = fragments.first().and_then(|f| Some(f.earliest()? - i128::from(f.time)));
        let start = i128::from(self.start(init, number));
        let time = u64::try_from(start - lead.unwrap_or(0)).map_err(|_| {
            InputError::new("it begins before time", "expected pictures from zero on")
        })?;
        let sequence = u32::try_from(number + 1).unwrap_or(u32::MAX);
        mp4::retime(chunk, sequence, time)
    }

    /// Checks chunk `number`, from 0, against what it must be and returns its frames: one fragment
    /// that begins with a picture that stands alone, at its time, of frames of equal length.
    pub(crate) fn check(&self, chunk: &[u8], init: &Init, number: u64) -> Result<u64, InputError> {
        let fragments = mp4::fragments(chunk, init)?;
        let [fragment] = &fragments[..] else {
            return Err(InputError::new(format!("{} fragments", fragments.len()), "expected one"));
        };
        let frames = fragment.samples.len() as u64;
        if frames == 0 || frames > self.frames {
            let expected = format!("expected 1 to {}", self.frames);
            return Err(InputError::new(format!("{frames} frames"), expected));
        }
        if !fragment.samples[0].sync {
            return Err(InputError::new(
                "it begins with a picture that needs others",
                "expected \
                 a key frame",
            ));
        }
        let start = self.start(init, number);
        if fragment.earliest() != Some(i128::from(start)) {
            let found = format!("it begins at tick {:?}", fragment.earliest().unwrap_or(0));
            return Err(InputError::new(found, format!("expected {start}")));
        }
        if fragment.duration() != frames * self.ticks {
            let found = format!("it is {} ticks long", fragment.duration());
            return Err(InputError::new(found, format!("expected {}", frames * self.ticks)));
        }
        Ok(frames)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn boxed(kind: &[u8; 4], body: &[u8]) -> Vec<u8> {
        let mut out = (8 + body.len() as u32).to_be_bytes().to_vec();
        out.extend(kind);
        out.extend(body);
        out
    }

    proptest! {
        /// However the bytes come, the parts are the same.
        #[test]
        fn parts_do_not_depend_on_how_bytes_come(cuts in prop::collection::vec(1..40_usize, 1..40)) {
            let init = [boxed(b"ftyp", b"iso6"), boxed(b"moov", &[7; 30])].concat();
            let chunk = |n| [boxed(b"styp", b""), boxed(b"moof", &[n; 9]), boxed(b"mdat", &[n; 50])].concat();
            let stream = [init.clone(), chunk(1), chunk(2)].concat();
            let mut cutter = Cutter::default();
            let mut parts = Vec::new();
            let mut rest = &stream[..];
            for cut in cuts.into_iter().cycle() {
                let (now, later) = rest.split_at(cut.min(rest.len()));
                parts.extend(cutter.take(now).unwrap());
                rest = later;
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(cutter.rest(), 0);
            prop_assert_eq!(parts, vec![Part::Init(init), Part::Chunk(chunk(1)), Part::Chunk(chunk(2))]);
        }

        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = Cutter::default().take(&bytes);
        }
    }
}
