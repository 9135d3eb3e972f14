//! What a client sends on its control stream, read beside h3: priorities (RFC 9218, section 7.2), which
//! h3 does not know; and a bound on each frame, since h3 keeps one until it is whole.

use crate::priority::Priority;

/// Bytes of a frame on a control stream at most. The longest one with a meaning is that of the settings.
const MAX_FRAME_BYTES: u64 = 16 << 10;
/// The type of a control stream (RFC 9114, section 6.2.1).
const CONTROL: u64 = 0;
/// The type of PRIORITY_UPDATE for requests (RFC 9218, section 7.2).
const PRIORITY_UPDATE: u64 = 0xf_0700;

/// Reads a stream that a client opened to send on, as its bytes come.
#[derive(Debug, Default)]
pub struct ControlFrames {
    state: State,
    /// Bytes of what is being read: an integer of QUIC, or a frame with a meaning here.
    part: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    /// The type of the stream is read.
    #[default]
    StreamType,
    /// It is no control stream.
    Other,
    FrameType,
    FrameLength {
        priority: bool,
    },
    /// So many bytes of a frame that has no meaning here are to come.
    Skipped {
        left: u64,
    },
    /// A PRIORITY_UPDATE of so many bytes is read.
    PriorityUpdate {
        bytes: u64,
    },
}

/// Error in a control stream, after which the connection cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlFault {
    /// A frame is longer than any with a meaning.
    TooLong,
    /// A frame holds less than it must.
    Malformed,
    /// It is about something that no request can be.
    NoRequest,
}

impl ControlFrames {
    /// Reads the next bytes, and passes on the priorities in them: the number of the request's
    /// stream, and its priority.
    ///
    /// # Errors
    /// If the client breaks the rules: the connection is then to be closed.
    pub fn read(
        &mut self,
        mut bytes: &[u8],
        mut on_priority: impl FnMut(u64, Priority),
    ) -> Result<(), ControlFault> {
        while !bytes.is_empty() {
            match self.state {
                State::Other => return Ok(()),
                State::Skipped { left } => {
                    let skipped = left.min(bytes.len() as u64);
                    bytes = &bytes[skipped as usize..];
                    self.state = after_skipping(left - skipped);
                }
                State::PriorityUpdate { bytes: all } => {
                    let wanted = (all as usize - self.part.len()).min(bytes.len());
                    self.part.extend_from_slice(&bytes[..wanted]);
                    bytes = &bytes[wanted..];
                    self.finish_update(all, &mut on_priority)?;
                }
                State::StreamType | State::FrameType | State::FrameLength { .. } => {
                    self.part.push(bytes[0]);
                    bytes = &bytes[1..];
                    if let Some((value, _)) = integer(&self.part) {
                        self.part.clear();
                        self.on_integer(value)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn on_integer(&mut self, value: u64) -> Result<(), ControlFault> {
        self.state = match self.state {
            State::StreamType if value == CONTROL => State::FrameType,
            State::FrameType => State::FrameLength { priority: value == PRIORITY_UPDATE },
            State::FrameLength { .. } if value > MAX_FRAME_BYTES => {
                return Err(ControlFault::TooLong);
            }
            State::FrameLength { priority: true } if value == 0 => {
                return Err(ControlFault::Malformed);
            }
            State::FrameLength { priority: true } => State::PriorityUpdate { bytes: value },
            State::FrameLength { priority: false } => after_skipping(value),
            _ => State::Other,
        };
        Ok(())
    }

    fn finish_update(
        &mut self,
        all: u64,
        on_priority: &mut impl FnMut(u64, Priority),
    ) -> Result<(), ControlFault> {
        if (self.part.len() as u64) < all {
            return Ok(());
        }
        let (stream, head) = integer(&self.part).ok_or(ControlFault::Malformed)?;
        // Requests are on streams in both directions that clients open.
        if stream % 4 != 0 {
            return Err(ControlFault::NoRequest);
        }
        on_priority(stream, Priority::parse(&self.part[head..]));
        self.part.clear();
        self.state = State::FrameType;
        Ok(())
    }
}

/// State of the reader where so many bytes of a frame are still to be skipped.
fn after_skipping(left: u64) -> State {
    if left == 0 { State::FrameType } else { State::Skipped { left } }
}

/// An integer of QUIC (RFC 9000, section 16) at the beginning of `bytes`, and its length; `None` if
/// there is more of it to come.
pub(super) fn integer(bytes: &[u8]) -> Option<(u64, usize)> {
    let len = 1 << (bytes.first()? >> 6);
    let bytes = bytes.get(..len)?;
    let first = u64::from(bytes[0] & 0x3f);
    Some((bytes[1..].iter().fold(first, |value, b| value << 8 | u64::from(*b)), len))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads a stream in pieces of `piece` bytes.
    fn read(bytes: &[u8], piece: usize) -> Result<Vec<(u64, Priority)>, ControlFault> {
        let mut frames = ControlFrames::default();
        let mut found = Vec::new();
        for piece in bytes.chunks(piece.max(1)) {
            frames.read(piece, |stream, priority| found.push((stream, priority)))?;
        }
        Ok(found)
    }

    fn update(stream: u8, text: &str) -> Vec<u8> {
        let mut frame = vec![0x80, 0x0f, 0x07, 0x00, text.len() as u8 + 1, stream];
        frame.extend_from_slice(text.as_bytes());
        frame
    }

    #[test]
    fn priorities_are_found_between_other_frames() {
        // Settings of two bytes; updates; a reserved frame; GOAWAY.
        let stream = [
            &[0, 4, 2, 6, 10][..],
            &update(4, "u=1"),
            &[0x21, 3, 1, 2, 3],
            &update(8, ""),
            &[7, 1, 0],
            &update(4, "u=0,i"),
        ]
        .concat();
        let of = |urgency, incremental| Priority { urgency, incremental };
        let expected = vec![(4, of(1, false)), (8, of(3, false)), (4, of(0, true))];
        for piece in 1..=stream.len() {
            assert_eq!(read(&stream, piece), Ok(expected.clone()), "{piece}");
        }
    }

    #[test]
    fn other_streams_are_not_looked_into() {
        let stream = [&[2][..], &update(4, "u=1"), &[4, 0xbf, 0xff, 0xff, 0xff]].concat();
        assert_eq!(read(&stream, 3), Ok(Vec::new()));
    }

    #[test]
    fn what_breaks_the_rules_is_told() {
        assert_eq!(read(&[0, 4, 0x80, 0, 0x40, 1], 1), Err(ControlFault::TooLong));
        assert_eq!(read(&[&[0][..], &update(3, "u=1")].concat(), 9), Err(ControlFault::NoRequest));
        assert_eq!(read(&[0, 0x80, 0x0f, 0x07, 0x00, 0], 9), Err(ControlFault::Malformed));
        assert_eq!(read(&[0, 0x80, 0x0f, 0x07, 0x00, 1, 0x40], 9), Err(ControlFault::Malformed));
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(bytes in prop::collection::vec(any::<u8>(), 0..300), piece in 1usize..40) {
            let control = [&[0][..], &bytes].concat();
            prop_assert_eq!(read(&control, piece), read(&control, 1_000));
        }
    }
}
