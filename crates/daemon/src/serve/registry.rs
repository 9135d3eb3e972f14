//! What pages, metrics and logs show of sessions: a view over the origin's
//! [`Sessions`](airlane_apps::vod::sessions::Sessions), with histories and counts of its own.
//!
//! Nothing here decides on a session: the origin's sessions have their identity, state, weight and
//! figures, and weights do not depend on the view.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use airlane_apps::vod::sessions::{Session, SessionKey, Sessions};
use airlane_apps::vod::{Carrier, Responded, Visitor};
use airlane_base::Time;
use airlane_quic::ControlHandle;

use super::history::History;
use super::session_view::{Context, SessionView};

/// Sessions that have a history.
const MAX_HISTORIES: usize = 20_000;

/// Histories of sessions, open connections, and counts.
#[derive(Debug, Default)]
pub(super) struct Registry {
    histories: BTreeMap<SessionKey, History>,
    connections: BTreeMap<u64, Open>,
    pub(super) totals: Totals,
}

/// Counts since the server started.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    /// Connections that came, by carrier.
    pub(super) connections: BTreeMap<Carrier, u64>,
    /// Answers, by carrier and status.
    pub(super) responses: BTreeMap<(Carrier, u16), u64>,
    /// Bytes of bodies, by carrier.
    pub(super) bytes: BTreeMap<Carrier, u64>,
    /// Answers that were cut short.
    pub(super) cut_short: u64,
    /// Reports that players posted.
    pub(super) reports: u64,
    /// Weights that were set.
    pub(super) updates: u64,
    /// Time that setting them took, and looking whether to.
    pub(super) updating: Duration,
}

/// A connection that is open.
#[derive(Debug)]
struct Open {
    carrier: Carrier,
    /// Knows where the client is; none over TCP, where it stays.
    control: Option<ControlHandle>,
}

/// Which sessions are asked after.
#[derive(Clone, Copy, Debug)]
pub(super) struct Query<'a> {
    /// The one of this id; `None`: all.
    pub(super) id: Option<&'a str>,
    /// Of their histories only what is newer, in seconds.
    pub(super) since_s: f64,
    /// Whether a comparison is under way.
    pub(super) split: bool,
}

impl Registry {
    pub(super) fn on_connected(&mut self, visitor: &Visitor, control: Option<&ControlHandle>) {
        let carrier = visitor.carrier;
        *self.totals.connections.entry(carrier).or_default() += 1;
        self.connections.insert(visitor.id, Open { carrier, control: control.cloned() });
    }

    pub(super) fn on_disconnected(&mut self, visitor: &Visitor) {
        self.connections.remove(&visitor.id);
    }

    /// Connections that are open, by carrier.
    pub(super) fn open(&self, carrier: Carrier) -> usize {
        self.connections.values().filter(|v| v.carrier == carrier).count()
    }

    pub(super) fn on_reported(&mut self) {
        self.totals.reports += 1;
    }

    pub(super) fn on_weighed(&mut self) {
        self.totals.updates += 1;
    }

    pub(super) fn on_updated(&mut self, took: Duration) {
        self.totals.updating += took;
    }

    pub(super) fn on_responded(&mut self, visitor: &Visitor, responded: &Responded<'_>) {
        let Responded { status, bytes, whole, .. } = *responded;
        *self.totals.responses.entry((visitor.carrier, status.as_u16())).or_default() += 1;
        *self.totals.bytes.entry(visitor.carrier).or_default() += bytes;
        self.totals.cut_short += u64::from(!whole);
    }

    /// Adds to the history of every session, and drops those of sessions that are over.
    pub(super) fn on_tick(&mut self, now: Time, sessions: &Sessions) {
        self.histories.retain(|key, history| {
            sessions.get(key).is_some_and(|s| history.is_of(s) && !s.is_over(now))
        });
        for (key, session) in sessions.iter().filter(|(_, s)| !s.is_over(now)) {
            let peer = self.peer(key, session);
            if !self.histories.contains_key(key) {
                if self.histories.len() >= MAX_HISTORIES {
                    continue;
                }
                self.histories.insert(key.clone(), History::new(session));
            }
            if let Some(history) = self.histories.get_mut(key) {
                history.on_tick(now, session, sessions.update(key), peer);
            }
        }
    }

    /// The sessions that are not over.
    pub(super) fn views(
        &self,
        now: Time,
        sessions: &Sessions,
        query: Query<'_>,
    ) -> Vec<SessionView> {
        let Query { id, since_s, split } = query;
        let wanted = |key: &SessionKey| match id {
            None => true,
            Some(id) => matches!(key, SessionKey::Named(name) if **name == *id),
        };
        let shown = sessions.iter().filter(|(key, s)| wanted(key) && !s.is_over(now));
        let view = |(key, session): (&SessionKey, &Session)| {
            let history = self.histories.get(key).filter(|h| h.is_of(session));
            let (update, peer) = (sessions.update(key), self.peer(key, session));
            let context = Context { key, update, history, peer, now, since_s, split };
            SessionView::new(session, context)
        };
        shown.map(view).collect()
    }

    /// Where a session's client is, or was when its connection was last open.
    fn peer(&self, key: &SessionKey, session: &Session) -> SocketAddr {
        let control =
            self.connections.get(&session.visitor().id).and_then(|open| open.control.as_ref());
        control
            .and_then(ControlHandle::remote_addr)
            .or_else(|| self.histories.get(key)?.peer(session))
            .unwrap_or(session.visitor().peer)
    }
}
