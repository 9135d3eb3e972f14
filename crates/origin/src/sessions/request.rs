//! Requests of a session, and the responses to them that are being sent.

use airlane_base::Time;
use airlane_minerva::Progress;

use super::delivery_tracker::Taken;
use super::session::SessionKey;
use super::share::{ConnectionShares, Shares};
use crate::cmcd::Cmcd;
use crate::provider::Cohort;
use crate::store::Part;

/// A request for a part of a title.
#[derive(Clone, Copy, Debug)]
pub struct PartRequest<'a> {
    /// The part.
    pub part: &'a Part,
    /// The CMCD of the request.
    pub cmcd: &'a Cmcd,
    /// The token that came with it.
    pub token: Option<&'a str>,
}

/// The outcome of a request.
#[derive(Clone, Debug)]
pub struct Accepted {
    /// Identifies the response in the events that follow.
    pub response: PendingResponse,
    /// True if it began the session.
    pub begins: bool,
    /// Cohort of the session, which decides its treatment.
    pub cohort: Cohort,
    /// The weight to set on the connection now, if it changed.
    pub weight: Option<f64>,
    /// The weight of the session among those of the connection, if it has a share.
    pub share_weight: Option<f64>,
    /// The token of the session, at its first request, where there are tokens.
    pub token: Option<String>,
}

/// A response that is being sent. Its events are passed with it, so that its bytes count for the
/// session that made the request.
#[derive(Clone, Debug)]
pub struct PendingResponse {
    pub(super) key: SessionKey,
    /// The number of the session: a later session may have the same key.
    pub(super) session: u64,
    /// The shares of its connection, if the session had one of them at the request.
    pub(super) shares: Option<ConnectionShares>,
    /// It is to a request for a chunk of the picture.
    pub(super) picture: bool,
}

impl PendingResponse {
    /// True if its session had a share of the connection: only shares count bytes handed over.
    pub fn has_share(&self) -> bool {
        self.shares.is_some()
    }

    /// `bytes` of its body are handed over to the connection, whose totals are `totals`: they wait
    /// to be sent.
    pub fn on_body_handed_over(&self, now: Time, totals: Progress, bytes: u64) {
        self.with_shares(now, totals, |shares| shares.on_body_handed_over(&self.key, bytes));
    }

    /// The connection took bytes of the chunk of the picture that it holds.
    pub(crate) fn on_taken(&self, now: Time, taken: &Taken) {
        let Some(shares) = &self.shares else { return };
        let mut shares = shares.lock();
        if shares.is_of(&self.key, self.session) {
            shares.on_taken(now, &self.key, taken);
        }
    }

    /// The number of its session.
    pub fn session(&self) -> u64 {
        self.session
    }

    /// The rate last measured for its session on its connection, in bits per second.
    pub fn rate_bps(&self) -> Option<f64> {
        Some(self.shares.as_ref()?.lock().last_update(&self.key)?.smoothed_bps)
    }

    /// Divides the progress, then runs `f` if the session still has the share.
    pub(super) fn with_shares(&self, now: Time, totals: Progress, f: impl FnOnce(&mut Shares)) {
        let Some(shares) = &self.shares else { return };
        let mut shares = shares.lock();
        shares.divide_progress(now, totals);
        if shares.is_of(&self.key, self.session) {
            f(&mut shares);
        }
    }
}
