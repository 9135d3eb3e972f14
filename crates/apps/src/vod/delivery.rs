//! An answer of a session on its way to the connection.

use std::sync::Arc;

use airlane_minerva::Progress;
use airlane_runtime::RuntimeHandle;

use super::provider::Weighing;
use super::sessions::{SharedSessions, Ticket};
use super::weigher::Weigher;
use crate::content::Part;

/// The answer to a request for a part of a title, until it is dropped.
pub(super) struct Delivery {
    pub(super) sessions: SharedSessions,
    pub(super) runtime: RuntimeHandle,
    /// That of the connection, if the origin sets its weight.
    pub(super) weigher: Option<Arc<Weigher>>,
    pub(super) weighing: Option<Arc<dyn Weighing>>,
    pub(super) ticket: Ticket,
    pub(super) part: Part,
}

/// What the server estimates for a session, as CMSD tells players (CTA-5006).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Estimates {
    /// The throughput that the player can count on.
    pub(super) throughput_kbps: u64,
    /// No rung above it should be chosen.
    pub(super) bitrate_kbps: u64,
}

impl Delivery {
    /// So many bytes of the body are handed to the connection.
    pub(super) fn on_handed(&self, bytes: u64) {
        // Only shares count what is on its way.
        if self.ticket.has_share() {
            let (now, totals) = (self.runtime.now(), self.totals());
            self.sessions.lock().on_handed(now, &self.ticket, totals, bytes);
        }
    }

    /// The answer was handed over, `bytes` of its body, whole or not.
    pub(super) fn end(self, bytes: u64) {
        self.sessions.lock().on_answered(self.runtime.now(), &self.ticket, bytes);
    }

    /// The estimates for the session, once its rate was measured.
    pub(super) fn estimates(&self) -> Option<Estimates> {
        let rate_bps = self.sessions.lock().rate_bps(&self.ticket)?;
        let bitrate_bps = self.weighing.as_ref()?.suggestion_bps(&self.part.title, rate_bps)?;
        let throughput_kbps = (rate_bps / 1e3) as u64;
        Some(Estimates { throughput_kbps, bitrate_kbps: bitrate_bps / 1000 })
    }

    /// What the connection did so far; nothing is counted on one whose weight is not set.
    fn totals(&self) -> Progress {
        self.weigher.as_ref().map(|w| w.progress()).unwrap_or_default()
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        let (now, totals) = (self.runtime.now(), self.totals());
        self.sessions.lock().on_response_end(now, &self.ticket, totals);
    }
}
