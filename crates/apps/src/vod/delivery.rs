//! Reports a response to a session's request to the sessions, while it is handed over to the
//! connection.

use std::sync::Arc;

use airlane_minerva::Progress;
use airlane_runtime::RuntimeHandle;

use super::provider::WeightPolicy;
use super::sessions::{PendingResponse, SharedSessions};
use super::weigher::Weigher;
use crate::content::Part;

/// The response to a request for a part of a title. Dropping it reports the end of the response.
pub(super) struct Delivery {
    pub(super) sessions: SharedSessions,
    pub(super) runtime: RuntimeHandle,
    /// That of the connection, if the origin sets its weight.
    pub(super) weigher: Option<Arc<Weigher>>,
    pub(super) weighing: Option<Arc<dyn WeightPolicy>>,
    pub(super) response: PendingResponse,
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
    /// `bytes` of the body are handed over to the connection.
    pub(super) fn on_body_handed_over(&self, bytes: u64) {
        // Only shares count pending bytes.
        if self.response.has_share() {
            let (now, totals) = (self.runtime.now(), self.totals());
            self.response.on_body_handed_over(now, totals, bytes);
        }
    }

    /// `bytes` of the body were handed over in all.
    pub(super) fn end(self, bytes: u64) {
        self.sessions.lock().on_body_end(self.runtime.now(), &self.response, bytes);
    }

    /// The estimates for the session, once its rate was measured.
    pub(super) fn estimates(&self) -> Option<Estimates> {
        let rate_bps = self.response.rate_bps()?;
        let bitrate_bps = self.weighing.as_ref()?.suggestion_bps(&self.part.title, rate_bps)?;
        let throughput_kbps = (rate_bps / 1e3) as u64;
        Some(Estimates { throughput_kbps, bitrate_kbps: bitrate_bps / 1000 })
    }

    /// The connection's totals; zero on a connection whose weight the origin does not set.
    fn totals(&self) -> Progress {
        self.weigher.as_ref().map(|w| w.progress()).unwrap_or_default()
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        let (now, totals) = (self.runtime.now(), self.totals());
        self.sessions.lock().on_response_end(now, &self.response, totals);
    }
}
