//! Association of transmissions to frame exchanges, and when one is over.
//!
//! What follows within SIFS belongs to the same exchange. The duration field says how long an exchange goes
//! on, whether or not its other frames are heard.

use std::time::Duration;

use airlane_base::Time;
use airlane_wifi::{Association, FrameExchange, Part, PartKind, Role, Timing, Vector, mac};

/// The association by duration fields.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByDuration {
    /// Longest gap that is SIFS: below the shortest that contending leaves.
    within: Duration,
    /// Time from an RTS to the data behind it, where the CTS is not heard.
    without_cts: Duration,
}

impl ByDuration {
    pub fn new(timing: &Timing) -> Self {
        let within = timing.sifs + timing.slot / 2;
        let cts = Vector::ofdm(4).duration(mac::CTS);
        Self { within, without_cts: 2 * timing.sifs + cts + within }
    }

    /// True if an exchange is over at `now`, if nothing else was heard.
    pub fn is_over(self, exchange: &FrameExchange, now: Time) -> bool {
        now > exchange.end.max(exchange.announced) + self.within
    }

    /// True if what begins at `next` follows within SIFS on an exchange that ended at `until`.
    pub fn follows(self, until: Time, next: Time) -> bool {
        next >= until - self.within / 4 && next <= until + self.within
    }
}

impl Association for ByDuration {
    fn role(&self, exchange: &FrameExchange, part: &Part<'_>) -> Option<Role> {
        let follows = part.begin <= exchange.end + self.within;
        if !follows && part.begin > exchange.announced + self.within {
            return None;
        }
        let (is_protection, is_answered) =
            (exchange.is_protection_alone(), exchange.response.is_some());
        let is_from = |address| exchange.sender.is_none_or(|sender| Some(sender) == address);
        let (role, continues) = match part.kind {
            // What goes on longer than a PPDU that is known is another one, which it collided with.
            PartKind::Unread if part.begin < exchange.end => {
                let role = if is_protection { Role::Ppdu } else { Role::Overlap };
                (role, exchange.is_anonymous() || part.end <= exchange.end)
            }
            PartKind::Unread if is_protection => (Role::Ppdu, true),
            PartKind::Unread => (Role::Response, !is_answered),
            PartKind::Rts(_) => return None,
            PartKind::Cts(_) => (Role::Cts, is_protection && follows),
            PartKind::Response(frame) => {
                (Role::Response, !is_answered && is_from(Some(frame.receiver)))
            }
            PartKind::Ppdu { frames, .. } => {
                // Behind RTS and a CTS that was not heard; later it is another attempt.
                let is_next = part.begin <= exchange.end + self.without_cts;
                (Role::Ppdu, is_protection && is_next && is_from(frames[0].transmitter))
            }
        };
        continues.then_some(role)
    }

    /// Collisions are one use of the air, whoever sent.
    fn stays_open(&self, _exchange: &FrameExchange, _at: Time) -> bool {
        false
    }
}
