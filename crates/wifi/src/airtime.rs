//! Airtime of an attempt to send: the one definition of airtime.

use std::time::Duration;

use crate::mac;
use crate::timing::{Access, Timing};
use crate::vector::Vector;

/// The response to a PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Response {
    /// Nothing: a broadcast.
    None,
    /// An ACK.
    Ack,
    /// A block acknowledgement of 64 frames.
    BlockAck64,
    /// A block acknowledgement of 256 frames.
    BlockAck256,
}

impl Response {
    /// Bytes of the frame.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Ack => mac::ACK,
            Self::BlockAck64 => mac::BLOCK_ACK_64,
            Self::BlockAck256 => mac::BLOCK_ACK_256,
        }
    }
}

/// A frame exchange that is to be sent: `[RTS SIFS CTS SIFS] PPDU [SIFS response]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedExchange {
    /// Vector of the PPDU.
    pub vector: Vector,
    /// Bytes of its PSDU.
    pub bytes: u32,
    /// True if RTS and CTS come first.
    pub is_protected: bool,
    /// The response.
    pub response: Response,
}

impl PlannedExchange {
    /// Airtime without contention: from the first symbol to the last, gaps inside included. An attempt that
    /// is not answered keeps the air as long: others wait that long before they contend.
    pub fn without_contention(&self, timing: &Timing) -> Duration {
        let control = self.vector.response();
        let mut time = self.vector.duration(self.bytes);
        if self.is_protected {
            time += control.duration(mac::RTS) + control.duration(mac::CTS) + 2 * timing.sifs;
        }
        if self.response != Response::None {
            time += timing.sifs + control.duration(self.response.bytes());
        }
        time
    }

    /// Airtime with contention, which is what an attempt is charged with.
    pub fn with_contention(&self, timing: &Timing, access: &Access) -> Duration {
        self.without_contention(timing) + contention(timing, access)
    }
}

/// Nominal cost of contending for the air: AIFS and half of the first window.
pub fn contention(timing: &Timing, access: &Access) -> Duration {
    timing.aifs(access) + timing.slot * u32::from(access.cw_min) / 2
}
