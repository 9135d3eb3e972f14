//! The playback sessions of an origin: which there are, what their players report, and the weight
//! of each.
//!
//! # Model
//!
//! - A [`Session`] is one player's viewing of one title. Its [`SessionKey`] is the id that the
//!   player sends (CMCD `sid`), with the connection that it began on: the same id from elsewhere
//!   neither sees nor moves it. With its **token** (`token`), which the answer to its first request
//!   has, a player goes on with it on another connection. Its [`State`] says whether it has a weight.
//! - A **connection** carries the requests of any number of sessions. If the origin sets its weight
//!   (HTTP/3 under Minerva), it is *managed*: it has **shares** (`share`), one for each session
//!   that requested video on it. A share has a weight; the connection's weight is the sum over its
//!   shares.
//! - A share needs to know what was delivered to its session, but a connection counts bytes and
//!   busy time for all together. So every event first divides what the connection did since the
//!   last event among its shares (`Shares::divide_progress`).
//!
//! # Data flow
//!
//! ```text
//! request  -> on_request: session, state, share, weight    -> PendingResponse
//! body     -> PendingResponse::on_body_handed_over (bytes in the send buffer), on_taken
//!             ... on_body_end, on_response_end
//! report   -> on_report: buffer, playback rate, stalls
//! timer    -> ConnectionShares::poll: the weights that are due -> Updates; end_shares
//! anybody  <- iter, get, last_update, weight
//! ```
//!
//! `Origin` calls these for its connections, `Weigher` polls and applies the weights to the
//! connection's controller. There is a lock for all sessions, and one per connection for its shares:
//! bodies and weights, which are most of the events, take the second alone. `Sessions` never acts
//! itself: time and the connection's totals are arguments, so it is deterministic. Pages and metrics
//! only read it.
//!
//! # Invariants
//!
//! - A session has at most one share of each connection, and only while that connection is open.
//! - `Session::shares` and the connections' `Shares` name each other: both change together, but
//!   that a poll ends shares first, and `end_shares` then tells their sessions.
//! - A session whose last request came on a connection is in that connection's `sessions`, and in
//!   no other's.
//! - A key may return with another title, or after its session was forgotten. Numbers do not
//!   return: a [`PendingResponse`] counts for the session with its number only.
//! - In sum, shares have at most what the connection delivered since their first joined; a share
//!   has all that is delivered while it is the only one.
//! - Whatever changes the sum of the weights, the next request or poll returns the new sum
//!   (`Shares::changed_weight`).
//! - `silent` lists the sessions without a share, and no others.
//! - There are at most [`Bounds::sessions`] sessions, except that those with a share are never
//!   evicted. Where many lost their shares, each that begins takes the place of several, until
//!   there are no more than that.

mod delivery_tracker;
mod request;
mod session;
mod share;
mod silent;
#[cfg(test)]
mod tests;
mod token;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::Time;
use airlane_minerva::{Progress, Update};
use parking_lot::{Mutex, MutexGuard};

use super::events::{Carrier, ClientConnection};
use super::provider::{SessionPolicy, WeightPolicy};
use crate::cmcd::Cmcd;
use crate::store::PartRole;

pub use super::provider::WeightRule;
pub(super) use delivery_tracker::Taken;
pub use request::{Accepted, PartRequest, PendingResponse};
pub use session::{LastPicture, Session, SessionKey, State};
pub(super) use share::ConnectionShares;
use silent::Silent;
use token::Tokens;

/// A session that was silent for so long is over.
pub const SESSION_TIMEOUT: Duration = Duration::from_secs(60);

/// Maximum numbers of sessions that are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Sessions in all. When another begins, the sessions without a share that were silent for
    /// longest are forgotten. Sessions with a share stay: the connections bound their number.
    pub sessions: usize,
    /// Shares of one connection. Further sessions on it have no weight.
    pub shares: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { sessions: 20_000, shares: 32 }
    }
}

/// The sessions of an origin, and the connections that they are on.
#[derive(Debug, Default)]
pub struct Sessions {
    bounds: Bounds,
    by_key: BTreeMap<SessionKey, Session>,
    /// The keys of the sessions by their numbers, which tokens name.
    by_number: BTreeMap<u64, SessionKey>,
    /// Those without a share.
    silent: Silent,
    tokens: Option<Tokens>,
    connections: BTreeMap<u64, Connection>,
    /// Connections opened so far, which is the number of the next one.
    opened: u64,
    /// Sessions begun so far, which is the number of the next one.
    begun: u64,
}

/// An open connection.
#[derive(Debug)]
struct Connection {
    client: ClientConnection,
    /// The sessions whose last request came on it.
    sessions: BTreeSet<SessionKey>,
    /// Sessions that began on other connections and go on here, by their ids.
    adopted: BTreeMap<Arc<str>, SessionKey>,
    /// The shares of its weight; `None` if the origin does not set its weight (it is not managed).
    shares: Option<ConnectionShares>,
}

impl Sessions {
    /// No sessions yet, and no more than `bounds` at any time.
    pub fn new(bounds: Bounds) -> Self {
        Self { bounds, ..Self::default() }
    }

    /// The same, where sessions have tokens, made from `secret`.
    #[must_use]
    pub fn with_tokens(self, secret: &[u8; 32]) -> Self {
        Self { tokens: Some(Tokens::new(secret)), ..self }
    }

    /// A client connected. `managed` is the weight that its connection begins with, if the origin sets
    /// it.
    pub fn on_connect(
        &mut self,
        peer: SocketAddr,
        carrier: Carrier,
        managed: Option<f64>,
    ) -> ClientConnection {
        let client = ClientConnection { id: self.opened, peer, carrier };
        self.opened += 1;
        let shares = managed.map(ConnectionShares::new);
        let (sessions, adopted) = Default::default();
        let connection = Connection { client, sessions, adopted, shares };
        self.connections.insert(client.id, connection);
        client
    }

    /// A connection ended, with all its shares. Sessions whose players have shown their tokens stay:
    /// they may continue on another connection.
    pub fn on_disconnect(&mut self, connection: u64) {
        let Some(Connection { sessions, shares, .. }) = self.connections.remove(&connection) else {
            return;
        };
        let shares = shares.as_ref().map(ConnectionShares::lock);
        for key in shares.iter().flat_map(|shares| shares.keys()) {
            if let Some(session) = self.by_key.get_mut(key) {
                session.shares.remove(&connection);
                self.silent.update(session);
            }
        }
        for key in sessions {
            match self.by_key.get_mut(&key) {
                Some(session) if session.resumable => {
                    let update = shares.as_ref().and_then(|shares| shares.last_update(&key));
                    session.state = State::Left(update);
                }
                _ => self.forget(&key),
            }
        }
    }

    /// A part of a title is requested on `connection`, whose totals are `totals`. `weighing`
    /// decides which sessions have a weight; without it none has. `None`: the connection is not
    /// open.
    pub fn on_request(
        &mut self,
        now: Time,
        connection: u64,
        totals: Progress,
        request: PartRequest<'_>,
        weighing: Option<&dyn WeightPolicy>,
    ) -> Option<Accepted> {
        let open = self.connections.get(&connection)?;
        let (client, connection_shares) = (open.client, open.shares.clone());
        if let Some(shares) = &connection_shares {
            shares.lock().divide_progress(now, totals);
        }
        let PartRequest { part, cmcd, token } = request;
        let key = self.key_of(connection, cmcd.session.as_deref().unwrap_or_default(), token);
        let terms = |key: &SessionKey| match weighing {
            Some(weighing) => weighing.terms(&part.title, key.id(), cmcd),
            None => SessionPolicy::PLAIN,
        };
        let begins = self.by_key.get(&key).is_none_or(|s| s.title != part.title);
        if begins {
            // Another title is another session, even under the same id.
            self.forget(&key);
            self.evict_silent();
            let session = Session::new(self.begun, client, request, terms(&key), now);
            self.by_number.insert(self.begun, key.clone());
            self.begun += 1;
            self.by_key.insert(key.clone(), session);
        }
        self.move_to(&key, client);
        // Locked from here on: whether a session has a share must not change meanwhile.
        let mut shares = connection_shares.as_ref().map(ConnectionShares::lock);
        if matches!(part.role, PartRole::Picture { .. })
            && let Some(session) = self.by_key.get_mut(&key)
            && let Some(shares) = &mut shares
            && !shares.has(&key)
        {
            // Only a request for video gives a share: its CMCD tells algorithm and metric.
            let terms = terms(&key);
            let cohort = terms.cohort;
            session.set_terms(terms);
            let rule = || weighing.and_then(|w| w.rule(&part.title, cohort, cmcd));
            session.state = if shares.len() >= self.bounds.shares {
                State::Refused
            } else if let Some(rule) = rule() {
                shares.join(now, (key.clone(), session.number), rule, session.chunk(), totals);
                session.shares.insert(connection);
                State::Sharing
            } else {
                State::Unweighted
            };
        }
        let session = self.by_key.get_mut(&key)?;
        session.last_activity = now;
        self.silent.update(session);
        session.responses += 1;
        let watching = session.viewer.watching();
        let picture = session.on_picture(now, request);
        let (mut share_weight, mut weight) = (None, None);
        if let Some(shares) = &mut shares {
            shares.on_request(now, &key, picture.map(|p| (p, watching, &session.viewer)), cmcd);
            share_weight = shares.share_weight(&key);
            weight = shares.changed_weight();
        }
        drop(shares);
        let tokens = self.tokens.as_ref().filter(|_| begins);
        Some(Accepted {
            begins,
            cohort: session.cohort,
            weight,
            share_weight,
            token: tokens.map(|t| t.token(session.number)),
            response: PendingResponse {
                session: session.number,
                shares: connection_shares.filter(|_| share_weight.is_some()),
                picture: picture.is_some(),
                key,
            },
        })
    }

    /// A response ended: all of it was handed over, or it was given up. Called once per response.
    /// Whether the connection's shares have to be polled soon.
    pub fn on_response_end(
        &mut self,
        now: Time,
        response: &PendingResponse,
        totals: Progress,
    ) -> bool {
        response.with_shares(now, totals, |shares| {
            shares.on_response_end(&response.key, response.picture);
        });
        if let Some(session) = session_of(&mut self.by_key, response) {
            session.responses = session.responses.saturating_sub(1);
        }
        response.shares.as_ref().is_some_and(|shares| shares.lock().is_ending())
    }

    /// `bytes` of a response's body were handed over in all, whether that is the whole of it or
    /// not. Called before [`Self::on_response_end`], unless the response was given up.
    pub fn on_body_end(&mut self, now: Time, response: &PendingResponse, bytes: u64) {
        if let Some(session) = session_of(&mut self.by_key, response) {
            session.bytes += bytes;
            session.last_activity = session.last_activity.max(now);
            self.silent.update(session);
        }
    }

    /// A player reports between requests (CMCD event mode), on `connection`.
    pub fn on_report(&mut self, now: Time, connection: u64, token: Option<&str>, report: &Cmcd) {
        let Some(id) = report.session.as_deref().filter(|id| !id.is_empty()) else { return };
        let key = self.key_of(connection, id, token);
        let Some(session) = self.by_key.get_mut(&key) else { return };
        session.last_activity = now;
        self.silent.update(session);
        if let (Some(buffer), Some(last)) = (report.buffer, &mut session.last_picture) {
            last.buffer = Some((buffer, now));
        }
        if session.viewer.on_report(report) {
            let watching = session.viewer.watching();
            for connection in &session.shares {
                let open = self.connections.get(connection);
                if let Some(shares) = open.and_then(|c| c.shares.as_ref()) {
                    shares.lock().on_watching(now, &key, watching, report.buffer);
                }
            }
        }
    }

    /// The shares of an open connection, if it is managed.
    pub(super) fn shares(&self, connection: u64) -> Option<ConnectionShares> {
        self.connections.get(&connection)?.shares.clone()
    }

    /// Shares of a connection ended, as [`ConnectionShares::poll`] said. The connection may have
    /// ended meanwhile, or a request may have given a session a share again.
    pub(super) fn end_shares(&mut self, connection: u64, ended: Vec<SessionKey>) {
        let shares = self.shares(connection);
        let shares = shares.as_ref().map(ConnectionShares::lock);
        let has_none = |key: &SessionKey| shares.as_ref().is_none_or(|s| !s.has(key));
        for key in ended.into_iter().filter(has_none) {
            let Some(session) = self.by_key.get_mut(&key) else { continue };
            session.shares.remove(&connection);
            self.silent.update(session);
            if session.client.id == connection && session.state == State::Sharing {
                session.state = State::Waiting;
            }
        }
    }

    /// Forgets those of these sessions that are over and have no share: with thousands of them it would
    /// take milliseconds to look at all at once. The only share of a connection stays while the
    /// connection is open, however long its session is silent.
    pub fn expire(&mut self, now: Time, keys: &[SessionKey]) {
        for key in keys {
            if self.by_key.get(key).is_some_and(|s| s.shares.is_empty() && s.is_over(now)) {
                self.forget(key);
            }
        }
    }

    /// The sessions behind `key` in the order of their keys, all if there is none: for whoever looks
    /// at some at a time.
    pub fn after<'a>(
        &'a self,
        key: Option<&SessionKey>,
    ) -> impl Iterator<Item = (&'a SessionKey, &'a Session)> + use<'a> {
        let begin = key.map_or(Bound::Unbounded, Bound::Excluded);
        self.by_key.range::<SessionKey, _>((begin, Bound::Unbounded))
    }

    /// All sessions, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&SessionKey, &Session)> {
        self.by_key.iter()
    }

    /// The key of the session that a player with this id has, or would begin, on a connection. With a
    /// token it is that of the token's session, which then goes on there.
    pub fn key_of(&mut self, connection: u64, id: &str, token: Option<&str>) -> SessionKey {
        if let Some(key) =
            token.and_then(|t| self.by_token(t)).filter(|key| key.id() == id).cloned()
        {
            if let Some(session) = self.by_key.get_mut(&key) {
                session.resumable = true;
            }
            if key.connection() != connection
                && let Some(open) = self.connections.get_mut(&connection)
                && (open.adopted.len() < self.bounds.shares || open.adopted.contains_key(&key.id))
            {
                open.adopted.insert(key.id.clone(), key.clone());
            }
            return key;
        }
        let adopted = self.connections.get(&connection).and_then(|c| c.adopted.get(id));
        // One that is over begins anew under a key of the connection's own.
        let adopted = adopted.filter(|key| self.by_key.contains_key(key));
        adopted.cloned().unwrap_or_else(|| SessionKey::of(id, connection))
    }

    /// The key of the session of a token; `None` if there is no such session.
    pub fn by_token(&self, token: &str) -> Option<&SessionKey> {
        self.by_number.get(&self.tokens.as_ref()?.session(token)?)
    }

    /// One session.
    pub fn get(&self, key: &SessionKey) -> Option<&Session> {
        self.by_key.get(key)
    }

    /// Number of sessions, those included that are over and not forgotten yet.
    pub fn count(&self) -> usize {
        self.by_key.len()
    }

    /// Sessions that began so far.
    pub fn begun(&self) -> u64 {
        self.begun
    }

    /// The last update of a session's weight on its connection, or before that ended. `None`: there
    /// was none yet, or the session has no weight.
    pub fn last_update(&self, key: &SessionKey) -> Option<Update> {
        let session = self.by_key.get(key)?;
        match session.state {
            State::Left(update) => update,
            _ => self.shares(session.client.id)?.lock().last_update(key),
        }
    }

    /// The weight of a connection: the sum of its shares'. `None` without one.
    pub fn weight(&self, connection: u64) -> Option<f64> {
        self.shares(connection)?.lock().weight()
    }

    /// The session's last request came on the connection `to`.
    fn move_to(&mut self, key: &SessionKey, to: ClientConnection) {
        let Some(session) = self.by_key.get_mut(key) else { return };
        if session.client.id != to.id
            && let Some(from) = self.connections.get_mut(&session.client.id)
        {
            from.sessions.remove(key);
        }
        let Some(open) = self.connections.get_mut(&to.id) else { return };
        let is_new = open.sessions.insert(key.clone());
        if is_new {
            session.client = to;
            session.state = match &open.shares {
                None => State::Unweighted,
                Some(shares) if shares.lock().has(key) => State::Sharing,
                Some(_) => State::Waiting,
            };
        }
    }

    /// Forgets a session and its shares.
    fn forget(&mut self, key: &SessionKey) {
        let Some(session) = self.by_key.remove(key) else { return };
        self.by_number.remove(&session.number);
        self.silent.remove(&session);
        if let Some(open) = self.connections.get_mut(&session.client.id) {
            open.sessions.remove(key);
        }
        for connection in session.shares {
            if let Some(shares) = self.shares(connection) {
                shares.lock().leave(key);
            }
        }
    }

    /// If there are too many sessions for another one, forgets those that were silent for longest, a few at
    /// a time. Sessions with a share stay: a client that makes up session ids must not displace them.
    fn evict_silent(&mut self) {
        /// More than one are too many where sessions lost their shares: each that begins makes up for it.
        const MAX: usize = 16;
        let excess = (self.by_key.len() + 1).saturating_sub(self.bounds.sessions);
        for _ in 0..excess.min(MAX) {
            let longest = self.silent.longest().and_then(|number| self.by_number.get(&number));
            let Some(key) = longest.cloned() else { return };
            self.forget(&key);
        }
    }
}

/// The session of a response, if it still exists.
fn session_of<'a>(
    by_key: &'a mut BTreeMap<SessionKey, Session>,
    response: &PendingResponse,
) -> Option<&'a mut Session> {
    by_key.get_mut(&response.key).filter(|s| s.number == response.session)
}

/// [`Sessions`] shared by several tasks, and by several origins of one server.
#[derive(Clone, Debug, Default)]
pub struct SharedSessions(Arc<Mutex<Sessions>>);

impl SharedSessions {
    /// These sessions.
    pub fn new(sessions: Sessions) -> Self {
        Self(Arc::new(Mutex::new(sessions)))
    }

    /// Locks them. The lock must not be held across an `await`.
    pub fn lock(&self) -> MutexGuard<'_, Sessions> {
        // A task that panicked does not end the sessions of others.
        self.0.lock()
    }
}
