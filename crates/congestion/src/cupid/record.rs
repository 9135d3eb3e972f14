//! What the path has shown of the receiver's word, for as long as the connection lasts.
//!
//! A receiver can report anything. Once a rate that it granted lost a fifth of a round, its word is refuted:
//! what it grants is capped at a multiple of what arrives, and that the air is full explains nothing any
//! more. Pauses, of reports or of sending, leave that as it is.

use std::time::Duration;

use airlane_base::Rate;

/// Maximum grant of a refuted receiver, in multiples of the rate that has arrived of late: twice lets
/// a flow grow within some rounds where there is room, and costs others one round in which a share
/// doubles.
const MAX_MULTIPLE: f64 = 2.0;
/// By what part of itself the rate that has arrived of late falls in a round that brings less.
const FORGET: f64 = 0.125;
/// Rounds behind a silence in which losses are still those of what was granted before it.
const TRAILING_ROUNDS: u32 = 2;

/// Record of whether the path carries what the receiver grants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    is_refuted: bool,
    /// Rate that arrived in the best of the last rounds.
    delivered: Rate,
    trailing: u32,
}

impl Record {
    pub fn new() -> Self {
        Self { is_refuted: false, delivered: Rate::ZERO, trailing: 0 }
    }

    pub fn is_refuted(&self) -> bool {
        self.is_refuted
    }

    /// Notes that the path does not carry what was granted: a fifth of it was lost, or all.
    pub fn refute(&mut self) {
        self.is_refuted = true;
    }

    /// A round is over, in which so much arrived.
    pub fn on_round(&mut self, delivered: Rate) {
        self.delivered = delivered.max(self.delivered.scale(1.0 - FORGET));
    }

    /// Reports stopped while rates were granted.
    pub fn on_silence(&mut self) {
        self.trailing = TRAILING_ROUNDS + 1;
    }

    /// A round is over in which nothing was granted; whether its losses are those of an earlier grant.
    pub fn is_trailing_round(&mut self) -> bool {
        let is_trailing = self.trailing > 0;
        self.trailing = self.trailing.saturating_sub(1);
        is_trailing
    }

    /// Rate to send at if `granted` is reported, with so many bytes per round trip as any flow may send.
    pub fn capped(&self, granted: Rate, (bytes, rtt): (u64, Duration)) -> Rate {
        if !self.is_refuted {
            return granted;
        }
        granted.min(self.delivered.scale(MAX_MULTIPLE).max(Rate::of(bytes, rtt)))
    }

    /// Bytes that may be taken for what the path holds, of those in flight.
    pub fn flight(&self, in_flight: u64, (bytes, rtt): (u64, Duration)) -> u64 {
        if !self.is_refuted {
            return in_flight;
        }
        in_flight.min(self.delivered.scale(MAX_MULTIPLE).bytes_in(rtt).max(bytes))
    }
}
