//! What the ends of a session say to each other (`docs/reference/wire/messages.md`, "Live video").

use std::time::Duration;

use airlane_base::Time;
use bytes::{Bytes, BytesMut};

use super::{Cells, LiveError, Structure};
use airlane_base::Pattern;

/// The stream of a session's messages.
pub const STREAM: u16 = 1;
/// Bytes in front of a layer's own.
pub const HEADER_BYTES: usize = 16;

/// The body from which layers take their bytes.
const BODY: &str = "live";
/// Distance in that body between frames, and between layers of a frame.
const FRAME_STEP: u64 = 1 << 20;
const LAYER_STEP: u64 = 77_777;
/// The length of that body: more than anybody sends.
const BODY_BYTES: u64 = 1 << 60;

/// Header in front of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerHeader {
    /// The frame, from 0.
    pub frame: u32,
    /// The layer, from 0.
    pub layer: u8,
    /// Number of the clip's encoding that it is of.
    pub encoding: u8,
    /// Time at which the frame was handed over, by the sender's clock.
    pub handed: Time,
}

impl LayerHeader {
    /// A message of `bytes` with this header and the pattern: shorter ones are as long as a header.
    pub fn message(&self, bytes: usize) -> Bytes {
        let mut message = self.begin(bytes.max(HEADER_BYTES));
        let body = bytes.saturating_sub(HEADER_BYTES) as u64;
        let from = self.place();
        for piece in Pattern::new(BODY, BODY_BYTES).pieces(from..from + body, body) {
            message.extend_from_slice(&piece);
        }
        message.freeze()
    }

    /// A message with this header and these bytes behind it.
    pub fn message_of(&self, body: &[u8]) -> Bytes {
        let mut message = self.begin(HEADER_BYTES + body.len());
        message.extend_from_slice(body);
        message.freeze()
    }

    fn begin(&self, capacity: usize) -> BytesMut {
        let mut message = BytesMut::with_capacity(capacity);
        message.extend_from_slice(&self.frame.to_be_bytes());
        message.extend_from_slice(&[self.layer, self.encoding, 0, 0]);
        message.extend_from_slice(&(self.handed.as_nanos() / 1000).to_be_bytes());
        message
    }

    /// Reads the header of a message of the pattern, and checks the bytes behind it.
    ///
    /// # Errors
    /// If it is cut short, or the bytes are not those that were sent.
    pub fn read(message: &[u8]) -> Result<Self, LiveError> {
        let (header, body) = Self::split(message)?;
        if !Pattern::new(BODY, BODY_BYTES).matches(header.place(), body) {
            return Err(LiveError::Bytes { frame: header.frame, layer: header.layer });
        }
        Ok(header)
    }

    /// Reads the header of a message; the bytes behind it may be any.
    ///
    /// # Errors
    /// If it is cut short.
    pub fn split(message: &[u8]) -> Result<(Self, &[u8]), LiveError> {
        let (header, body) = message
            .split_first_chunk::<HEADER_BYTES>()
            .ok_or(LiveError::Wire("a layer that is cut short"))?;
        let [f0, f1, f2, f3, layer, encoding, _, _, handed @ ..] = *header;
        let frame = u32::from_be_bytes([f0, f1, f2, f3]);
        let handed = Time::from_micros(u64::from_be_bytes(handed).min(u64::MAX / 1000));
        Ok((Self { frame, layer, encoding, handed }, body))
    }

    fn place(&self) -> u64 {
        u64::from(self.frame) * FRAME_STEP + u64::from(self.layer) * LAYER_STEP
    }
}

/// Coding of the bytes of layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// A pattern of as many bytes as the layer has, its header included; the receiver checks it.
    Pattern,
    /// A frame of VP9, behind the header.
    Vp9,
}

/// Answer of a sender to a receiver that asks for its video.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Structure of its encoding.
    pub structure: Structure,
    /// From one frame to the next.
    pub frame_time: Duration,
    /// Coding of its layers' bytes.
    pub coding: Coding,
}

const QUALITY: u8 = 1;
const TEMPORAL: u8 = 2;
const CLOUDS: u8 = 3;
/// Set beside these if layers are frames of VP9, and not of the pattern.
const VP9: u8 = 1 << 7;
/// GoPs are at most so long.
const MAX_GOP: u32 = 1000;
/// Frames are at most so far apart, and at least.
const FRAME_TIMES: (u32, u32) = (1_000, 10_000_000);

impl Answer {
    /// The bytes.
    pub fn encode(&self) -> Bytes {
        let (kind, gop, layers) = match self.structure {
            Structure::Quality { gop, layers } => (QUALITY, gop, layers),
            Structure::Temporal { gop } => (TEMPORAL, gop, 1),
            // Frames have no GoP: in its place the front cells.
            Structure::Clouds(cells) => (CLOUDS, cells.fronts.into(), cells.layers),
        };
        let mut out = BytesMut::with_capacity(10);
        let coding = if self.coding == Coding::Vp9 { VP9 } else { 0 };
        out.extend_from_slice(&[kind | coding, layers]);
        out.extend_from_slice(&gop.to_be_bytes());
        let micros = u32::try_from(self.frame_time.as_micros()).unwrap_or(u32::MAX);
        out.extend_from_slice(&micros.to_be_bytes());
        out.freeze()
    }

    /// Reads what [`Self::encode`] wrote.
    ///
    /// # Errors
    /// [`LiveError::Wire`] if it is nothing of the kind.
    pub fn decode(bytes: &[u8]) -> Result<Self, LiveError> {
        let [kind, layers, g0, g1, g2, g3, t0, t1, t2, t3] = *bytes else {
            return Err(LiveError::Wire("an answer of another length"));
        };
        let gop = u32::from_be_bytes([g0, g1, g2, g3]);
        let micros = u32::from_be_bytes([t0, t1, t2, t3]);
        let structure = match kind & !VP9 {
            QUALITY if (1..=8).contains(&layers) => Structure::Quality { gop, layers },
            TEMPORAL => Structure::Temporal { gop },
            CLOUDS => {
                let cells = Cells { fronts: u8::try_from(gop).unwrap_or(0), layers };
                if !cells.fit() {
                    return Err(LiveError::Wire("a video of strange cells"));
                }
                Structure::Clouds(cells)
            }
            _ => return Err(LiveError::Wire("a video that is coded in another way")),
        };
        if !(1..=MAX_GOP).contains(&gop) || !(FRAME_TIMES.0..=FRAME_TIMES.1).contains(&micros) {
            return Err(LiveError::Wire("a video of strange frames"));
        }
        let coding = if kind & VP9 == 0 { Coding::Pattern } else { Coding::Vp9 };
        Ok(Self { structure, frame_time: Duration::from_micros(micros.into()), coding })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn layers_are_read_as_written_and_wrong_bytes_are_found(
            frame: u32,
            layer in 0u8..8,
            encoding: u8,
            micros in 0u64..1 << 50,
            bytes in 0usize..5_000,
            at: prop::sample::Index,
        ) {
            let header =
                LayerHeader { frame, layer, encoding, handed: Time::from_micros(micros) };
            let message = header.message(bytes);
            prop_assert_eq!(message.len(), bytes.max(HEADER_BYTES));
            let of_bytes = header.message_of(&message);
            prop_assert_eq!(LayerHeader::split(&of_bytes).unwrap(), (header, &message[..]));
            prop_assert_eq!(LayerHeader::read(&message).unwrap(), header);
            if bytes > HEADER_BYTES {
                let mut wrong = message.to_vec();
                wrong[HEADER_BYTES + at.index(bytes - HEADER_BYTES)] ^= 1;
                prop_assert!(LayerHeader::read(&wrong).is_err());
            }
        }

        #[test]
        fn strange_answers_are_refused_or_make_sense(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
            if let Ok(answer) = Answer::decode(&bytes) {
                prop_assert_eq!(&answer.encode()[2..], &bytes[2..]);
                prop_assert!(answer.structure.gop() > 0);
            }
        }
    }
}
