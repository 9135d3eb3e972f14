//! Playback sessions: one model of each, from its first request until it is forgotten.
//!
//! [`Sessions`] owns every session of an origin. A [`Session`] is one player's viewing of one title
//! and says in which [`State`] it is. A connection whose weight the origin sets is divided into
//! shares (`share`): each session that asked for pictures there has one, with a weight of its own,
//! and the connection's weight is their sum.
//!
//! Everything here is pure: time and the connection's totals are passed in. The origin applies the
//! weights (`weigher`), and whoever shows sessions reads them ([`Sessions::iter`]).

mod session;
mod share;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use airlane_base::Time;
use airlane_minerva::{Progress, Update};

use super::events::{Carrier, Visitor};
use super::provider::{Terms, Treatment, Weighing};
use crate::cmcd::Cmcd;
use crate::content::{Part, PartRole};

pub use session::{LastPicture, Session, SessionKey, State};
use share::Shares;
pub use share::WeightRule;

/// A session that was silent for so long is over.
pub const SILENCE: Duration = Duration::from_secs(60);

/// How many sessions are kept at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Sessions. When one begins beyond that, those without a share of a connection that were silent
    /// for longest are forgotten; those with a share stay, whose number the connections bound.
    pub sessions: usize,
    /// Shares of one connection. Further sessions are served without.
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
    connections: BTreeMap<u64, Connection>,
    /// Connections that were opened: the number of the next one.
    opened: u64,
    /// Sessions that began: the number of the next one.
    begun: u64,
}

/// An open connection.
#[derive(Debug)]
struct Connection {
    visitor: Visitor,
    /// The sessions whose last request came on it.
    sessions: BTreeSet<SessionKey>,
    /// How its weight is divided; `None`: the origin does not set it.
    shares: Option<Shares>,
}

/// A request for a part of a title.
#[derive(Clone, Copy, Debug)]
pub struct PartRequest<'a> {
    /// What is asked for.
    pub part: &'a Part,
    /// What the player says of itself.
    pub cmcd: &'a Cmcd,
}

/// What a request did to its session.
#[derive(Clone, Debug, PartialEq)]
pub struct Accepted {
    /// To be handed back with what happens to the answer.
    pub ticket: Ticket,
    /// Whether it began the session.
    pub begins: bool,
    /// How the session is treated.
    pub treatment: Treatment,
    /// The weight to set on the connection, if it changed.
    pub weight: Option<f64>,
}

/// Stands for an answer on its way, so that its bytes count for the session that asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    connection: u64,
    key: SessionKey,
    /// Number of the session: a later one may have the same key.
    session: u64,
    /// Whether the session had a share of the connection when it asked.
    shares: bool,
}

impl Ticket {
    /// Whether the answer counts for a share of the connection's weight.
    pub fn has_share(&self) -> bool {
        self.shares
    }
}

/// The weights that were due on a connection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Updates {
    /// By session.
    pub sessions: Vec<(SessionKey, Update)>,
    /// The weight to set on the connection, if one was.
    pub weight: Option<f64>,
}

impl Sessions {
    /// None yet, and no more than `bounds` at any time.
    pub fn new(bounds: Bounds) -> Self {
        Self { bounds, ..Self::default() }
    }

    /// A client connected. `managed`: the origin sets the connection's weight.
    pub fn on_connect(&mut self, peer: SocketAddr, carrier: Carrier, managed: bool) -> Visitor {
        let visitor = Visitor { id: self.opened, peer, carrier };
        self.opened += 1;
        let shares = managed.then(Shares::default);
        let connection = Connection { visitor, sessions: BTreeSet::new(), shares };
        self.connections.insert(visitor.id, connection);
        visitor
    }

    /// A connection ended, and all shares of it. Sessions whose players named themselves stay: the
    /// player may come back on another connection.
    pub fn on_disconnect(&mut self, connection: u64) {
        let Some(Connection { sessions, shares, .. }) = self.connections.remove(&connection) else {
            return;
        };
        let shares = shares.unwrap_or_default();
        for key in shares.keys() {
            if let Some(session) = self.by_key.get_mut(key) {
                session.shares.remove(&connection);
            }
        }
        for key in sessions {
            if matches!(key, SessionKey::Nameless(_)) {
                self.forget(&key);
            } else if let Some(session) = self.by_key.get_mut(&key) {
                session.state = State::Left(shares.update(&key));
            }
        }
    }

    /// A part of a title is asked for on `connection`, which did `totals` so far. `weighing` decides
    /// on sessions; without it none has a weight. `None`: the connection is not open.
    pub fn on_request(
        &mut self,
        now: Time,
        connection: u64,
        totals: Progress,
        request: PartRequest<'_>,
        weighing: Option<&dyn Weighing>,
    ) -> Option<Accepted> {
        let visitor = self.connections.get(&connection)?.visitor;
        self.divide(now, connection, totals);
        let PartRequest { part, cmcd } = request;
        let key = SessionKey::of(cmcd.session.as_deref().unwrap_or_default(), connection);
        let terms = |key: &SessionKey| match weighing {
            Some(weighing) => weighing.terms(&part.title, key.id(), cmcd),
            None => Terms::PLAIN,
        };
        let begins = self.by_key.get(&key).is_none_or(|s| s.title != part.title);
        if begins {
            // Another title is another session, whatever its player calls it.
            self.forget(&key);
            self.make_room();
            let session = Session::new(self.begun, visitor, request, terms(&key), now);
            self.begun += 1;
            self.by_key.insert(key.clone(), session);
        }
        self.move_to(&key, visitor);
        let mut joined = false;
        if matches!(part.role, PartRole::Picture { .. })
            && let Some(session) = self.by_key.get_mut(&key)
            && let Some(open) = self.connections.get_mut(&connection)
            && let Some(shares) = &mut open.shares
            && !shares.has(&key)
        {
            // What is known of the picture decides: until it is asked for there is no share.
            let terms = terms(&key);
            let treatment = terms.treatment;
            session.set_terms(terms);
            let rule = || weighing.and_then(|w| w.rule(&part.title, treatment, cmcd));
            session.state = if shares.len() >= self.bounds.shares {
                State::Refused
            } else if let Some(rule) = rule() {
                shares.join(key.clone(), session.number, rule, totals);
                session.shares.insert(connection);
                joined = true;
                State::Sharing
            } else {
                State::Unweighted
            };
        }
        let session = self.by_key.get_mut(&key)?;
        let shares = self.connections.get_mut(&connection).and_then(|c| c.shares.as_mut());
        session.heard = now;
        session.answers += 1;
        let watching = session.viewer.watching();
        let picture = session.on_picture(now, request);
        let share = shares.and_then(|shares| {
            shares.on_request(now, &key, picture.map(|p| (p, watching, &session.viewer)), cmcd);
            shares.has(&key).then_some(shares)
        });
        let weight = share.as_ref().filter(|s| joined && !s.begins_at_any_weight());
        Some(Accepted {
            begins,
            treatment: session.treatment,
            weight: weight.and_then(|s| s.weight()),
            ticket: Ticket { connection, session: session.number, shares: share.is_some(), key },
        })
    }

    /// So many bytes of an answer's body are handed to the connection.
    pub fn on_handed(&mut self, now: Time, ticket: &Ticket, totals: Progress, bytes: u64) {
        self.divide(now, ticket.connection, totals);
        if let Some(shares) = self.shares_of(ticket) {
            shares.on_handed(&ticket.key, bytes);
        }
    }

    /// An answer was handed over or given up.
    pub fn on_response_end(&mut self, now: Time, ticket: &Ticket, totals: Progress) {
        self.divide(now, ticket.connection, totals);
        if let Some(shares) = self.shares_of(ticket) {
            shares.on_response_end(&ticket.key);
        }
        if let Some(session) = self.session_of(ticket) {
            session.answers = session.answers.saturating_sub(1);
        }
    }

    /// An answer was handed over, `bytes` of its body, whole or not.
    pub fn on_answered(&mut self, now: Time, ticket: &Ticket, bytes: u64) {
        if let Some(session) = self.session_of(ticket) {
            session.bytes += bytes;
            session.heard = session.heard.max(now);
        }
    }

    /// A player says something of itself between requests.
    pub fn on_report(&mut self, now: Time, report: &Cmcd) {
        let Some(id) = report.session.as_deref().filter(|id| !id.is_empty()) else { return };
        let key = SessionKey::Named(id.into());
        let Some(session) = self.by_key.get_mut(&key) else { return };
        session.heard = now;
        if let (Some(buffer), Some(last)) = (report.buffer, &mut session.last_picture) {
            last.buffer = Some(buffer);
        }
        if session.viewer.on_report(report) {
            let watching = session.viewer.watching();
            for connection in &session.shares {
                let open = self.connections.get_mut(connection);
                if let Some(shares) = open.and_then(|c| c.shares.as_mut()) {
                    shares.on_watching(now, &key, watching, report.buffer);
                }
            }
        }
    }

    /// When [`Self::poll`] wants to be called next for a connection.
    pub fn next_event(&self, connection: u64) -> Option<Time> {
        self.connections.get(&connection)?.shares.as_ref()?.next_event()
    }

    /// Sets the weights that are due on a connection, and ends shares of sessions that are over if
    /// there are others.
    pub fn poll(&mut self, now: Time, connection: u64, totals: Progress) -> Updates {
        self.divide(now, connection, totals);
        let open = self.connections.get_mut(&connection);
        let Some(shares) = open.and_then(|c| c.shares.as_mut()) else { return Updates::default() };
        let sessions = shares.poll(now);
        let ended = shares.end_silent(now);
        let weight = shares.weight().filter(|_| !sessions.is_empty());
        for key in ended {
            let Some(session) = self.by_key.get_mut(&key) else { continue };
            session.shares.remove(&connection);
            if session.visitor.id == connection {
                session.state = State::Waiting;
            }
        }
        Updates { sessions, weight }
    }

    /// Forgets sessions that are over: silent for [`SILENCE`], without an answer on its way and
    /// without a share. A share lasts as long as its connection needs nobody else's.
    pub fn expire(&mut self, now: Time) {
        let over = |s: &Session| s.shares.is_empty() && s.is_over(now);
        let over = self.by_key.iter().filter(|(_, s)| over(s));
        let over: Vec<SessionKey> = over.map(|(key, _)| key.clone()).collect();
        for key in over {
            self.forget(&key);
        }
    }

    /// All sessions, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&SessionKey, &Session)> {
        self.by_key.iter()
    }

    /// One session.
    pub fn get(&self, key: &SessionKey) -> Option<&Session> {
        self.by_key.get(key)
    }

    /// Sessions that began so far.
    pub fn begun(&self) -> u64 {
        self.begun
    }

    /// What was last decided of a session's weight on the connection that it is on, or was until
    /// that ended. `None`: nothing was yet, or it has no weight of its own.
    pub fn update(&self, key: &SessionKey) -> Option<Update> {
        let session = self.by_key.get(key)?;
        match session.state {
            State::Left(update) => update,
            _ => self.connections.get(&session.visitor.id)?.shares.as_ref()?.update(key),
        }
    }

    /// The rate that was last measured for the session of an answer on the answer's connection, in
    /// bits per second.
    pub fn rate_bps(&self, ticket: &Ticket) -> Option<f64> {
        let shares = self.connections.get(&ticket.connection)?.shares.as_ref()?;
        Some(shares.update(&ticket.key)?.smoothed_bps)
    }

    /// The weight of a connection: the sum of its shares'. `None` without one.
    pub fn weight(&self, connection: u64) -> Option<f64> {
        self.connections.get(&connection)?.shares.as_ref()?.weight()
    }

    fn divide(&mut self, now: Time, connection: u64, totals: Progress) {
        let open = self.connections.get_mut(&connection);
        if let Some(shares) = open.and_then(|c| c.shares.as_mut()) {
            shares.divide(now, totals);
        }
    }

    /// The session that asked for an answer, if it is still there.
    fn session_of(&mut self, ticket: &Ticket) -> Option<&mut Session> {
        self.by_key.get_mut(&ticket.key).filter(|s| s.number == ticket.session)
    }

    /// The shares of an answer's connection, if the session that asked still has one.
    fn shares_of(&mut self, ticket: &Ticket) -> Option<&mut Shares> {
        let shares = self.connections.get_mut(&ticket.connection)?.shares.as_mut()?;
        (ticket.shares && shares.is_of(&ticket.key, ticket.session)).then_some(shares)
    }

    /// The session's last request came on the connection `to`.
    fn move_to(&mut self, key: &SessionKey, to: Visitor) {
        let Some(session) = self.by_key.get_mut(key) else { return };
        if session.visitor.id != to.id
            && let Some(from) = self.connections.get_mut(&session.visitor.id)
        {
            from.sessions.remove(key);
        }
        let Some(open) = self.connections.get_mut(&to.id) else { return };
        let is_new = open.sessions.insert(key.clone());
        if is_new {
            session.visitor = to;
            session.state = match &open.shares {
                None => State::Unweighted,
                Some(shares) if shares.has(key) => State::Sharing,
                Some(_) => State::Waiting,
            };
        }
    }

    /// Forgets a session and its shares.
    fn forget(&mut self, key: &SessionKey) {
        let Some(session) = self.by_key.remove(key) else { return };
        if let Some(open) = self.connections.get_mut(&session.visitor.id) {
            open.sessions.remove(key);
        }
        for connection in session.shares {
            let open = self.connections.get_mut(&connection);
            if let Some(shares) = open.and_then(|c| c.shares.as_mut()) {
                shares.leave(key);
            }
        }
    }

    /// Forgets the sessions that were silent for longest where there are too many for another one.
    /// Those with a share stay: strangers who invent sessions must not take it away.
    fn make_room(&mut self) {
        let excess = (self.by_key.len() + 1).saturating_sub(self.bounds.sessions);
        if excess == 0 {
            return;
        }
        let without = self.by_key.iter().filter(|(_, s)| s.shares.is_empty());
        let mut without: Vec<_> = without.map(|(key, s)| (s.heard, key)).collect();
        // A stranger can bring this about with every request: no sorting, and no copies of keys.
        if excess < without.len() {
            without.select_nth_unstable(excess);
        }
        let silent: Vec<_> = without.into_iter().take(excess).map(|(_, key)| key.clone()).collect();
        for key in silent {
            self.forget(&key);
        }
    }
}

/// [`Sessions`] that several tasks, and several origins of one server, work on.
#[derive(Clone, Debug, Default)]
pub struct SharedSessions(Arc<Mutex<Sessions>>);

impl SharedSessions {
    /// Locks them; not to be held while waiting.
    pub fn lock(&self) -> MutexGuard<'_, Sessions> {
        // A task that panicked ends alone: the sessions of others go on.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
