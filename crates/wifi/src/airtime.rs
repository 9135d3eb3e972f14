//! What an attempt costs the air: the one definition of airtime.

use std::time::Duration;

use crate::mac;
use crate::timing::{Access, Timing};
use crate::vector::Vector;

/// What answers a data frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Response {
    /// Nothing: a broadcast.
    None,
    /// An ACK.
    Ack,
    /// A block acknowledgement of 64 frames.
    BlockAck64,
    /// One of 256.
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

/// An attempt to send: `[RTS SIFS CTS SIFS] PPDU [SIFS response]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// How the PPDU is sent.
    pub vector: Vector,
    /// Its PSDU.
    pub bytes: u32,
    /// Whether RTS and CTS come first.
    pub is_protected: bool,
    /// What answers.
    pub response: Response,
}

impl Exchange {
    /// The air that it takes, from its first symbol to its last, gaps inside included. An attempt that
    /// is not answered keeps the air as long: others wait that long before they contend.
    pub fn bare(&self, timing: &Timing) -> Duration {
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

    /// What it is charged with: the air that it takes, and what contending for it costs, which is AIFS
    /// and half the first window.
    pub fn charge(&self, timing: &Timing, access: &Access) -> Duration {
        self.bare(timing) + contention(timing, access)
    }
}

/// What contending for the air is charged with: AIFS and half of the first window.
pub fn contention(timing: &Timing, access: &Access) -> Duration {
    timing.aifs(access) + timing.slot * u32::from(access.cw_min) / 2
}
