//! The sessions of one connection: each has a weight of its own, and the connection their sum.

use std::collections::BTreeMap;
use std::time::Duration;

use airlane_base::Time;
use airlane_minerva::{Minerva, Progress, Request, SentCurve, Update};

/// Sessions of one connection that get a weight; further ones are served without.
const MOST: usize = 32;

/// A session that has not asked for anything for so long is over, if there are others.
const IDLE: Duration = Duration::from_secs(60);

/// The sessions of one connection, by their ids.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    by_id: BTreeMap<String, Session>,
    /// The connection's totals when they were last divided.
    seen: Progress,
    at: Time,
}

#[derive(Debug)]
struct Session {
    minerva: Minerva,
    /// Its part of what the connection did.
    progress: Progress,
    /// Bytes of its bodies that were handed to the connection and not counted as delivered yet.
    pending: u64,
    /// Responses on their way to the connection.
    responses: u32,
    asked: Time,
}

impl Sessions {
    /// A request of the session `id`. `new` makes the controller of a session that is not known;
    /// without one the request changes nothing. Whether the session is a new one.
    pub(super) fn on_request(
        &mut self,
        now: Time,
        id: &str,
        totals: Progress,
        (request, curve): (Request, Option<SentCurve>),
        new: impl FnOnce() -> Option<Minerva>,
    ) -> bool {
        self.divide(now, totals);
        let fresh = !self.by_id.contains_key(id);
        if fresh {
            if self.by_id.len() == MOST {
                return false;
            }
            let Some(minerva) = new() else { return false };
            let progress = Progress { min_rtt: totals.min_rtt, ..Progress::default() };
            let session = Session { minerva, progress, pending: 0, responses: 0, asked: now };
            self.by_id.insert(id.to_owned(), session);
            self.alone(totals);
        }
        if let Some(session) = self.by_id.get_mut(id) {
            session.asked = now;
            session.responses += 1;
            session.minerva.on_request(now, request, session.progress);
            if let Some(curve) = curve {
                session.minerva.on_curve(curve);
            }
        }
        fresh
    }

    /// So many bytes of a session's body were handed to the connection.
    pub(super) fn on_handed(&mut self, now: Time, id: &str, totals: Progress, bytes: u64) {
        self.divide(now, totals);
        if let Some(session) = self.by_id.get_mut(id) {
            session.pending += bytes;
        }
    }

    /// A response of a session was handed over, or given up.
    pub(super) fn on_response_end(&mut self, now: Time, id: &str, totals: Progress) {
        self.divide(now, totals);
        if let Some(session) = self.by_id.get_mut(id) {
            session.responses = session.responses.saturating_sub(1);
        }
    }

    /// When [`Self::poll`] wants to be called next.
    pub(super) fn next_event(&self) -> Option<Time> {
        self.by_id.values().filter_map(|s| s.minerva.next_event()).min()
    }

    /// The new weights that are due, each with its session.
    pub(super) fn poll(&mut self, now: Time, totals: Progress) -> Vec<(String, Update)> {
        self.divide(now, totals);
        let mut updates = Vec::new();
        for (id, session) in &mut self.by_id {
            if let Some(update) = session.minerva.poll(now, session.progress) {
                updates.push((id.clone(), update));
            }
        }
        if self.by_id.len() > 1 {
            self.by_id.retain(|_, s| s.responses > 0 || now - s.asked < IDLE);
        }
        updates
    }

    /// The connection's weight: the sum of its sessions'. `None` without one.
    pub(super) fn weight(&self) -> Option<f64> {
        let weights = self.by_id.values().map(|s| s.minerva.weight());
        (!self.by_id.is_empty()).then(|| weights.sum())
    }

    /// Whether there is more than one.
    pub(super) fn are_several(&self) -> bool {
        self.by_id.len() > 1
    }

    /// A session that is alone has done all that the connection did.
    fn alone(&mut self, totals: Progress) {
        if let [session] = self.by_id.values_mut().collect::<Vec<_>>().as_mut_slice() {
            session.progress = totals;
        }
    }

    /// Divides what the connection did since the last time: bytes in proportion to what each
    /// session has on its way, time to each that has something.
    fn divide(&mut self, now: Time, totals: Progress) {
        let acked = totals.acked_bytes.saturating_sub(self.seen.acked_bytes);
        let busy = totals.busy.saturating_sub(self.seen.busy).min(now - self.at);
        (self.seen, self.at) = (totals, now);
        let pending: u64 = self.by_id.values().map(|s| s.pending).sum();
        for session in self.by_id.values_mut() {
            session.progress.min_rtt = totals.min_rtt;
            if session.responses > 0 || session.pending > 0 {
                session.progress.busy += busy;
            }
            let part = u128::from(acked) * u128::from(session.pending);
            let part = part.checked_div(u128::from(pending)).unwrap_or(0);
            let part = u64::try_from(part).unwrap_or(u64::MAX).min(session.pending);
            session.pending -= part;
            session.progress.acked_bytes += part;
        }
        self.alone(totals);
    }
}
