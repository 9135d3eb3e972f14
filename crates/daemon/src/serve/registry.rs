//! What the pages and metrics show beside the sessions themselves: a history per session, the open
//! connections, and counts since the start.
//!
//! The origins' [`Sessions`](airlane_apps::vod::sessions::Sessions) have the identity, state,
//! weight and figures of every session; the registry reads them and never changes one.
//!
//! # Data flow
//!
//! - `Events`, the observer of the origins, calls the `on_*` methods: they count.
//! - Once a second [`on_tick`](Registry::on_tick) adds a point to the history of every live
//!   session.
//! - [`views`](Registry::views) combines sessions, histories and addresses for `/airlane/sessions`;
//!   `metrics.rs` prints the totals and the open connections for `/metrics`.
//!
//! # Invariants
//!
//! - A history belongs to the session with its number, not to the key: a new session under an old
//!   key starts a new history.
//! - Sessions that are over have no history and no view, even before `Sessions` forgets them.
//! - Whoever needs both locks takes the registry's first (`Site::registry`), then that of
//!   `Sessions`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use airlane_apps::vod::sessions::{Session, SessionKey, Sessions};
use airlane_apps::vod::{Carrier, ClientConnection, Responded};
use airlane_base::Time;
use airlane_quic::ControlHandle;

use super::history::History;
use super::session_view::{Context, SessionView};

/// At most so many sessions have a history; further ones are shown without.
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
    /// Connections opened, by carrier.
    pub(super) connections: BTreeMap<Carrier, u64>,
    /// Responses, by carrier and status.
    pub(super) responses: BTreeMap<(Carrier, u16), u64>,
    /// Bytes of bodies, by carrier.
    pub(super) bytes: BTreeMap<Carrier, u64>,
    /// Responses that were cut short.
    pub(super) cut_short: u64,
    /// Reports that players posted.
    pub(super) reports: u64,
    /// Weights of sessions set.
    pub(super) updates: u64,
    /// Time spent on computing and setting them.
    pub(super) updating: Duration,
}

/// A connection that is open.
#[derive(Debug)]
struct Open {
    carrier: Carrier,
    /// Knows the client's current address, which QUIC lets change; none over TCP.
    control: Option<ControlHandle>,
}

/// Which sessions to show.
#[derive(Clone, Copy, Debug)]
pub(super) struct Query<'a> {
    /// The session with this id; `None`: all.
    pub(super) id: Option<&'a str>,
    /// Only points of their histories that are newer than this, in seconds.
    pub(super) since_s: f64,
    /// Whether the server compares weighted sessions with plain ones (`--ab`).
    pub(super) split: bool,
}

impl Registry {
    pub(super) fn on_connected(
        &mut self,
        client: &ClientConnection,
        control: Option<&ControlHandle>,
    ) {
        let carrier = client.carrier;
        *self.totals.connections.entry(carrier).or_default() += 1;
        self.connections.insert(client.id, Open { carrier, control: control.cloned() });
    }

    pub(super) fn on_disconnected(&mut self, client: &ClientConnection) {
        self.connections.remove(&client.id);
    }

    /// Connections that are open, by carrier.
    pub(super) fn open(&self, carrier: Carrier) -> usize {
        self.connections.values().filter(|v| v.carrier == carrier).count()
    }

    pub(super) fn on_reported(&mut self) {
        self.totals.reports += 1;
    }

    pub(super) fn on_weight_set(&mut self) {
        self.totals.updates += 1;
    }

    pub(super) fn on_weights_updated(&mut self, took: Duration) {
        self.totals.updating += took;
    }

    pub(super) fn on_responded(&mut self, client: &ClientConnection, responded: &Responded<'_>) {
        let Responded { status, bytes, whole, .. } = *responded;
        *self.totals.responses.entry((client.carrier, status.as_u16())).or_default() += 1;
        *self.totals.bytes.entry(client.carrier).or_default() += bytes;
        self.totals.cut_short += u64::from(!whole);
    }

    /// Adds to the history of every live session, and drops the histories of sessions that are
    /// over.
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
                history.on_tick(now, session, sessions.last_update(key), peer);
            }
        }
    }

    /// Views of the live sessions that `query` names.
    pub(super) fn views(
        &self,
        now: Time,
        sessions: &Sessions,
        query: Query<'_>,
    ) -> Vec<SessionView> {
        let Query { id, since_s, split } = query;
        let wanted = |key: &SessionKey| match id {
            None => true,
            Some(id) => key.id() == id,
        };
        let shown = sessions.iter().filter(|(key, s)| wanted(key) && !s.is_over(now));
        let view = |(key, session): (&SessionKey, &Session)| {
            let history = self.histories.get(key).filter(|h| h.is_of(session));
            let (update, peer) = (sessions.last_update(key), self.peer(key, session));
            let context = Context { key, update, history, peer, now, since_s, split };
            SessionView::new(session, context)
        };
        shown.map(view).collect()
    }

    /// The address of a session's client: the current one of its open connection, else the last one
    /// in the history, else the one at connecting.
    fn peer(&self, key: &SessionKey, session: &Session) -> SocketAddr {
        let control =
            self.connections.get(&session.client().id).and_then(|open| open.control.as_ref());
        control
            .and_then(ControlHandle::remote_addr)
            .or_else(|| self.histories.get(key)?.peer(session))
            .unwrap_or(session.client().peer)
    }
}
