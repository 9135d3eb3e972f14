//! What a record is to an exchange.

use std::time::Duration;

use airlane_wifi::{Access, BlockAck, Frame, FrameKind, Vector, What, mac};

/// What a record is to an exchange.
pub(super) enum Part<'a> {
    /// Energy; or a PPDU of which the PHY header alone was made out.
    Unknown(Option<&'a Vector>),
    Rts(&'a Frame),
    Cts(&'a Frame),
    Ack(&'a Frame),
    BlockAck(&'a Frame),
    Data(&'a Vector, bool, &'a [Frame]),
}

impl<'a> Part<'a> {
    pub(super) fn of(what: &'a What) -> Self {
        let (vector, is_aggregate, frames) = match what {
            What::Energy => return Self::Unknown(None),
            What::Header(vector) => return Self::Unknown(Some(vector)),
            What::Frames { vector, is_aggregate, frames } => (vector, is_aggregate, frames),
        };
        let Some(first) = frames.first() else { return Self::Unknown(Some(vector)) };
        match first.kind {
            FrameKind::Rts => Self::Rts(first),
            FrameKind::Cts => Self::Cts(first),
            FrameKind::Ack => Self::Ack(first),
            FrameKind::BlockAck => Self::BlockAck(first),
            _ => Self::Data(vector, *is_aggregate, frames),
        }
    }

    /// How it contends.
    pub(super) fn category(&self) -> Access {
        match self {
            Part::Data(_, _, frames) => category_of(&frames[0]),
            _ => Access::BEST_EFFORT,
        }
    }
}

/// How many MPDUs of so many bytes a PPDU of this duration has: the fewest that need it.
pub(super) fn fitting(vector: &Vector, airtime: u64, bytes: f64) -> f64 {
    let each = mac::in_aggregate(bytes.clamp(1.0, 65_535.0).round() as u32);
    let below = vector.max_bytes(Duration::from_nanos(airtime.saturating_sub(1)));
    f64::from(below / each + 1).min(1_024.0)
}

/// The highest number that a block acknowledgement acknowledges.
pub(super) fn highest(block: &BlockAck) -> Option<u16> {
    let word = block.came.iter().rposition(|&word| word != 0)?;
    let bit = 64 * word as u16 + 63 - block.came[word].leading_zeros() as u16;
    Some(block.start.wrapping_add(bit) & 0xfff)
}

/// Whether it acknowledges a frame of this number.
pub(super) fn acknowledges(block: &BlockAck, number: u16) -> bool {
    let place = usize::from(number.wrapping_sub(block.start) & 0xfff);
    block.came.get(place / 64).is_some_and(|word| word >> (place % 64) & 1 == 1)
}

/// How a frame contends (802.11-2020, tables 10-1 and 9-155, and 10.2.3.2 for management).
pub(super) fn category_of(frame: &Frame) -> Access {
    match frame.kind {
        FrameKind::QosData => match frame.tid & 7 {
            1 | 2 => Access::BACKGROUND,
            4 | 5 => Access::VIDEO,
            6 | 7 => Access::VOICE,
            _ => Access::BEST_EFFORT,
        },
        FrameKind::Data => Access::DCF,
        FrameKind::Beacon | FrameKind::Management => Access::VOICE,
        _ => Access::BEST_EFFORT,
    }
}
