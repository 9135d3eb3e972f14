//! Frame exchanges, put together again from the transmissions that a receiver heard.
//!
//! [`Exchanges`] takes [`Part`]s and gives [`FrameExchange`]s: `[RTS CTS] PPDU [response]`, each part as far
//! as it was heard. Whoever counts airtime with them says by an [`Association`] which transmission goes on
//! with an exchange: the clocks of captures are coarse, and what is counted differs. What was not heard is
//! inferred by the consumer, from what it knows of the stations.

mod assembly;
mod part;

use std::time::Duration;

use airlane_base::Time;

pub use assembly::{Association, Exchanges, Placement};
pub use part::{Part, PartKind, Ppdu};

use crate::heard::{Address, Precision};
use crate::vector::Vector;

/// The longest that a duration field can announce (802.11-2020, 9.2.4.2).
const MAX_RESERVED: Duration = Duration::from_micros(32_767);

/// The role of a transmission in a frame exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// RTS, which begins an exchange.
    Rts,
    /// CTS.
    Cts,
    /// The PPDU that the exchange is for.
    Ppdu,
    /// The answer to the PPDU.
    Response,
    /// Energy at the same time as another part.
    Overlap,
}

/// A frame exchange, as far as it was heard.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrameExchange {
    /// Time at which the first part that was heard began.
    pub begin: Time,
    /// Time at which the last part that was heard ended.
    pub end: Time,
    /// End of the exchange by the latest duration field; the end of its first part if that has none.
    pub announced: Time,
    /// End of what RTS or CTS reserve, by the last of the two; before `end` without either.
    pub reserved: Time,
    /// The least exact of the clocks that times are by.
    pub precision: Precision,
    /// The sender of the PPDU, as far as a part names it.
    pub sender: Option<Address>,
    /// The receiver of the PPDU.
    pub receiver: Option<Address>,
    /// Vector of the first part, if its PHY header was decoded.
    pub vector: Option<Vector>,
    /// Duration of the RTS.
    pub rts: Option<Duration>,
    /// Duration of the CTS.
    pub cts: Option<Duration>,
    /// The PPDU that the exchange is for.
    pub ppdu: Option<Ppdu>,
    /// The PPDU of the response.
    pub response: Option<Ppdu>,
}

impl FrameExchange {
    /// An exchange that begins with a part, whatever that is.
    fn new(part: &Part<'_>) -> Self {
        let Part { begin, end, precision, vector, .. } = *part;
        let (announced, reserved) = (end, end);
        let mut exchange =
            Self { begin, end, announced, reserved, precision, vector, ..Self::default() };
        let role = match part.kind {
            PartKind::Rts(_) => Role::Rts,
            PartKind::Cts(_) => Role::Cts,
            PartKind::Response(_) => Role::Response,
            PartKind::Ppdu { .. } | PartKind::Unread => Role::Ppdu,
        };
        exchange.add(part, role);
        exchange
    }

    /// Takes a part in.
    fn add(&mut self, part: &Part<'_>, role: Role) {
        let duration = part.duration();
        let (sender, receiver) = part.parties();
        self.sender = self.sender.or(sender);
        self.receiver = self.receiver.or(receiver);
        match role {
            Role::Rts => self.rts = Some(duration),
            Role::Cts => self.cts = Some(duration),
            Role::Ppdu => self.ppdu = Some(Ppdu::of(part)),
            Role::Response => self.response = Some(Ppdu::of(part)),
            Role::Overlap => {}
        }
        if let Some(frame) = part.first() {
            let until = part.end + frame.remaining.min(MAX_RESERVED);
            self.announced = self.announced.max(until);
            if matches!(part.kind, PartKind::Rts(_) | PartKind::Cts(_)) {
                self.reserved = until;
            }
        }
        self.end = self.end.max(part.end);
        self.precision = self.precision.max(part.precision);
    }

    /// True if RTS or CTS was heard.
    pub const fn is_protected(&self) -> bool {
        self.rts.is_some() || self.cts.is_some()
    }

    /// True if nothing of the exchange was heard but RTS and CTS.
    pub const fn is_protection_alone(&self) -> bool {
        self.ppdu.is_none() && self.response.is_none()
    }

    /// True if no part of the exchange names a station.
    pub const fn is_anonymous(&self) -> bool {
        self.sender.is_none() && self.receiver.is_none()
    }
}
