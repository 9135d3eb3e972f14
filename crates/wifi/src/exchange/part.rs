//! Transmissions as parts of frame exchanges.

use std::time::Duration;

use airlane_base::Time;

use crate::airtime::Response;
use crate::heard::{Address, Frame, FrameKind, Precision, What};
use crate::vector::{Format, Vector};

/// A transmission as a part of a frame exchange.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// Time at which it began.
    pub begin: Time,
    /// Time at which it ended.
    pub end: Time,
    /// Precision of these times.
    pub precision: Precision,
    /// Vector of the PPDU, if its PHY header was decoded.
    pub vector: Option<Vector>,
    /// Kind of part.
    pub kind: PartKind<'a>,
}

/// The kind of a part, by the frames that were decoded.
#[derive(Clone, Copy, Debug)]
pub enum PartKind<'a> {
    /// RTS.
    Rts(&'a Frame),
    /// CTS.
    Cts(&'a Frame),
    /// An ACK or a block acknowledgement.
    Response(&'a Frame),
    /// Frames that an exchange is for: data, management, a request.
    Ppdu {
        /// True if the frames are of an aggregate.
        is_aggregate: bool,
        /// Those that were decoded, at least one.
        frames: &'a [Frame],
    },
    /// Energy, or a PPDU of which no frame was decoded.
    Unread,
}

impl<'a> Part<'a> {
    /// The part that a transmission from `begin` to `end` is.
    pub fn new(begin: Time, end: Time, precision: Precision, what: &'a What) -> Self {
        let (vector, kind) = match what {
            What::Energy => (None, PartKind::Unread),
            What::Header(vector) => (Some(*vector), PartKind::Unread),
            What::Frames { vector, is_aggregate, frames } => {
                let kind = match frames.first() {
                    None => PartKind::Unread,
                    Some(first) if first.kind == FrameKind::Rts => PartKind::Rts(first),
                    Some(first) if first.kind == FrameKind::Cts => PartKind::Cts(first),
                    Some(first) if matches!(first.kind, FrameKind::Ack | FrameKind::BlockAck) => {
                        PartKind::Response(first)
                    }
                    Some(_) => PartKind::Ppdu { is_aggregate: *is_aggregate, frames },
                };
                (Some(*vector), kind)
            }
        };
        Self { begin, end, precision, vector, kind }
    }

    /// Time that it was in the air.
    pub const fn duration(&self) -> Duration {
        self.end.since(self.begin)
    }

    /// The first of its frames.
    pub fn first(&self) -> Option<&'a Frame> {
        match self.kind {
            PartKind::Rts(frame) | PartKind::Cts(frame) | PartKind::Response(frame) => Some(frame),
            PartKind::Ppdu { frames, .. } => frames.first(),
            PartKind::Unread => None,
        }
    }

    /// Sender and receiver of the PPDU of the exchange, as far as this part names them.
    pub(super) fn parties(&self) -> (Option<Address>, Option<Address>) {
        let Some(frame) = self.first() else { return (None, None) };
        match self.kind {
            PartKind::Cts(_) => (Some(frame.receiver), None),
            PartKind::Response(_) => (Some(frame.receiver), frame.transmitter),
            _ => (frame.transmitter, Some(frame.receiver)),
        }
    }
}

/// A PPDU of a frame exchange.
#[derive(Clone, Copy, Debug)]
pub struct Ppdu {
    /// Time at which it began.
    pub begin: Time,
    /// Time that its frames took which were heard.
    pub duration: Duration,
    /// Its vector, if the PHY header was decoded.
    pub vector: Option<Vector>,
    /// True for an aggregate; without a frame, true if the PPDU may be one.
    pub is_aggregate: bool,
    /// The first of its frames; `None` if none was decoded.
    pub first: Option<Frame>,
    /// The response that it asks for; an ACK if that is not known.
    pub response: Response,
    /// Number of MPDUs that were decoded.
    pub mpdus: u32,
    /// Number of these that had been sent before.
    pub retries: u32,
    /// Bytes of these MPDUs.
    pub bytes: u64,
    /// Bytes of the largest of them.
    pub max_bytes: u32,
}

impl Ppdu {
    pub(super) fn of(part: &Part<'_>) -> Self {
        let mut ppdu = Self {
            begin: part.begin,
            duration: part.duration(),
            vector: part.vector,
            is_aggregate: part.vector.is_some_and(|vector| vector.format.has_aggregates()),
            first: part.first().copied(),
            response: Response::Ack,
            mpdus: 0,
            retries: 0,
            bytes: 0,
            max_bytes: 0,
        };
        if let PartKind::Ppdu { is_aggregate, frames } = part.kind {
            ppdu.is_aggregate = is_aggregate;
            ppdu.response = response(part.vector, is_aggregate, frames);
            for frame in frames {
                ppdu.mpdus += 1;
                ppdu.retries += u32::from(frame.is_retry);
                ppdu.bytes += u64::from(frame.bytes);
                ppdu.max_bytes = ppdu.max_bytes.max(frame.bytes);
            }
        }
        ppdu
    }

    /// Kind of its frames; `None` if none was decoded.
    pub fn kind(&self) -> Option<FrameKind> {
        self.first.map(|first| first.kind)
    }
}

/// The response that frames of one PPDU ask for.
fn response(vector: Option<Vector>, is_aggregate: bool, frames: &[Frame]) -> Response {
    let first = &frames[0];
    let is_he = vector.is_some_and(|vector| vector.format == Format::He);
    match first.kind {
        _ if first.receiver.is_group() => Response::None,
        FrameKind::Other => Response::None,
        FrameKind::BlockAckRequest => Response::BlockAck64,
        _ if !is_aggregate => Response::Ack,
        _ if is_he && frames.len() > 64 => Response::BlockAck256,
        _ => Response::BlockAck64,
    }
}
