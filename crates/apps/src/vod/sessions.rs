//! The sessions of one connection: each has a weight of its own, and the connection their sum.

use std::collections::BTreeMap;
use std::time::Duration;

use airlane_base::Time;
use airlane_minerva::{Minerva, Progress, SentCurve, Update};

use super::viewer::Viewer;
use crate::cmcd::Cmcd;
use crate::content::PartRole;

/// Sessions of one connection that get a weight; further ones are served without.
const MOST: usize = 32;

/// A session that has not asked for anything for so long is over, if there are others.
const IDLE: Duration = Duration::from_secs(60);

/// How a session's weight is found.
#[derive(Clone, Debug)]
pub enum Regime {
    /// It follows the viewer's experience.
    Minerva(Box<Minerva>),
    /// It stays as it is.
    Fixed(f64),
}

/// What is known of a session when it begins.
#[derive(Clone, Debug)]
pub struct Entry {
    /// How its weight is found.
    pub regime: Regime,
    /// Length of the title's chunks.
    pub chunk: Duration,
}

/// What a request does to the sessions of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It is none of a session's.
    None,
    /// It is of a session that is known.
    Known,
    /// It begins one.
    New,
}

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
    regime: Regime,
    chunk: Duration,
    viewer: Viewer,
    /// The rate of the last update, bits per second.
    rate_bps: Option<f64>,
    /// Its part of what the connection did.
    progress: Progress,
    /// Bytes of its bodies that were handed to the connection and not counted as delivered yet.
    pending: u64,
    /// Responses on their way to the connection.
    responses: u32,
    asked: Time,
}

impl Sessions {
    /// A request of the session `id` for a part of a title. `new` makes the entry of a session that
    /// is not known; without one the request changes nothing.
    pub(super) fn on_request(
        &mut self,
        now: Time,
        id: &str,
        totals: Progress,
        (role, cmcd): (&PartRole, &Cmcd),
        new: impl FnOnce() -> Option<Entry>,
    ) -> Admission {
        self.divide(now, totals);
        let fresh = !self.by_id.contains_key(id);
        if fresh {
            // Sound and headers alone make no session: nothing is known of the picture.
            if self.by_id.len() == MOST || !matches!(role, PartRole::Picture { .. }) {
                return Admission::None;
            }
            let Some(Entry { regime, chunk }) = new() else { return Admission::None };
            let progress = Progress { min_rtt: totals.min_rtt, ..Progress::default() };
            let session = Session {
                regime,
                chunk,
                viewer: Viewer::default(),
                rate_bps: None,
                progress,
                pending: 0,
                responses: 0,
                asked: now,
            };
            self.by_id.insert(id.to_owned(), session);
            self.alone(totals);
        }
        if let Some(session) = self.by_id.get_mut(id) {
            session.asked = now;
            session.responses += 1;
            if let PartRole::Picture { rung, chunk } = *role {
                session.on_chunk(now, (rung, chunk), cmcd);
            }
        }
        if fresh { Admission::New } else { Admission::Known }
    }

    /// The player of a session says something of itself.
    pub(super) fn on_report(&mut self, now: Time, id: &str, cmcd: &Cmcd) {
        if let Some(session) = self.by_id.get_mut(id)
            && session.viewer.on_report(cmcd)
            && let Regime::Minerva(minerva) = &mut session.regime
        {
            minerva.on_watching(now, session.viewer.watching(), cmcd.buffer);
        }
    }

    /// The rate that a session was last found to have, bits per second.
    pub(super) fn rate_bps(&self, id: &str) -> Option<f64> {
        self.by_id.get(id)?.rate_bps
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
        self.by_id.values().filter_map(|s| s.regime.next_event()).min()
    }

    /// The new weights that are due, each with its session.
    pub(super) fn poll(&mut self, now: Time, totals: Progress) -> Vec<(String, Update)> {
        self.divide(now, totals);
        let mut updates = Vec::new();
        for (id, session) in &mut self.by_id {
            let Regime::Minerva(minerva) = &mut session.regime else { continue };
            if let Some(update) = minerva.poll(now, session.progress) {
                session.rate_bps = Some(update.smoothed_bps);
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
        let weights = self.by_id.values().map(|s| s.regime.weight());
        (!self.by_id.is_empty()).then(|| weights.sum())
    }

    /// Whether there is one alone that begins at whatever weight its connection has.
    pub(super) fn begin_as_it_is(&self) -> bool {
        self.by_id.len() == 1 && self.by_id.values().all(|s| matches!(s.regime, Regime::Minerva(_)))
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

impl Session {
    /// The player asks for a chunk of the picture.
    fn on_chunk(&mut self, now: Time, what: (usize, usize), cmcd: &Cmcd) {
        let before = self.viewer.watching();
        let request = self.viewer.on_request(now, what, self.chunk, cmcd);
        let Regime::Minerva(minerva) = &mut self.regime else { return };
        if self.viewer.watching() != before {
            minerva.on_watching(now, self.viewer.watching(), None);
        }
        minerva.on_request(now, request, self.progress);
        if let Some(curve) = cmcd.value.as_deref().and_then(|text| SentCurve::from_text(text).ok())
        {
            minerva.on_curve(curve);
        }
    }
}

impl Regime {
    fn weight(&self) -> f64 {
        match self {
            Self::Minerva(minerva) => minerva.weight(),
            Self::Fixed(weight) => *weight,
        }
    }

    fn next_event(&self) -> Option<Time> {
        match self {
            Self::Minerva(minerva) => minerva.next_event(),
            Self::Fixed(_) => None,
        }
    }
}
