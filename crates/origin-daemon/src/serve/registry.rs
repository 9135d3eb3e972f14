//! What the pages and metrics show beside the sessions themselves: a history per session, and where
//! the clients of the open connections are.
//!
//! The origins' [`Sessions`](airlane_origin::sessions::Sessions) have the identity, state,
//! weight and figures of every session; the registry reads them and never changes one, but that it
//! has those forgotten that are over.
//!
//! # Data flow
//!
//! - `Events`, the observer of the origins, tells of connections that open and close.
//! - Once a second [`on_tick`](Registry::on_tick) adds a point to the history of every live
//!   session.
//! - [`view`](Registry::view) and [`view_all`](Registry::view_all) combine sessions, histories and
//!   addresses for the pages and for `/metrics`.
//!
//! # Invariants
//!
//! - No lock is held for more than [`SLICE`] sessions, and none while another one is waited for:
//!   requests wait for the lock of the sessions. So what is told of different sessions is not of
//!   one moment; of each it is.
//! - A history belongs to the session with its number, not to the key: a new session under an old
//!   key starts a new history.
//! - Sessions that are over have no history and no view, even before `Sessions` forgets them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::Bound;
use std::time::Duration;

use airlane_base::Time;
use airlane_minerva::Update;
use airlane_origin::ClientConnection;
use airlane_origin::sessions::{Session, SessionKey, Sessions, SharedSessions};
use airlane_quic::ControlHandle;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use parking_lot::Mutex;

use super::history::History;
use super::session_view::SessionView;

/// At most so many sessions have a history; further ones are shown without.
const MAX_HISTORIES: usize = 20_000;
/// Sessions that are looked at under one lock: for a small part of a millisecond.
const SLICE: usize = 64;
/// From one slice to the next: requests have their turn meanwhile, and the work is spread.
const BREATH: Duration = Duration::from_millis(1);

/// Histories of sessions, and open connections.
#[derive(Debug)]
pub struct Registry {
    sessions: SharedSessions,
    /// True if the server compares weighted sessions with unweighted ones (`--experiment-share`).
    split: bool,
    histories: Mutex<BTreeMap<SessionKey, History>>,
    /// Knows the current addresses of clients, which QUIC lets change.
    connections: Mutex<BTreeMap<u64, ControlHandle>>,
}

/// State of a session that a history samples.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    /// The session's number.
    pub(super) session: u64,
    /// The connection of its last request.
    pub(super) client: ClientConnection,
    pub(super) began: Time,
    /// Bytes of bodies.
    pub(super) bytes: u64,
    /// The last update of its weight.
    pub(super) update: Option<Update>,
    pub(super) buffer_s: Option<f64>,
    pub(super) quality: Option<f64>,
    pub(super) mean_qoe: Option<f64>,
}

impl Sample {
    fn new(now: Time, session: &Session, update: Option<Update>) -> Self {
        Self {
            session: session.number(),
            client: *session.client(),
            began: session.began(),
            bytes: session.bytes(),
            update,
            buffer_s: session.buffer_s(now),
            quality: session.quality(),
            mean_qoe: session.mean_qoe(),
        }
    }
}

/// Selection of the points of histories.
#[derive(Clone, Copy, Debug)]
pub struct Points {
    /// Only those that are newer than this, in seconds.
    pub since_s: f64,
    /// No more than this of each session, the newest ones.
    pub most: usize,
}

impl Points {
    /// None.
    pub const NONE: Self = Self { since_s: f64::INFINITY, most: 0 };
}

impl Registry {
    /// No histories yet of these sessions. `split`: the server compares weighted sessions with plain
    /// ones.
    pub fn new(sessions: SharedSessions, split: bool) -> Self {
        Self { sessions, split, histories: Mutex::default(), connections: Mutex::default() }
    }

    pub(super) fn on_connected(&self, client: &ClientConnection, control: Option<&ControlHandle>) {
        if let Some(control) = control {
            self.connections.lock().insert(client.id, control.clone());
        }
    }

    pub(super) fn on_disconnected(&self, client: &ClientConnection) {
        self.connections.lock().remove(&client.id);
    }

    /// Has sessions forgotten that are over, and adds to the history of every other one. It takes a
    /// while if there are many.
    pub async fn on_tick(&self, runtime: &RuntimeHandle) {
        let mut behind = None;
        loop {
            behind = self.on_tick_of(runtime.now(), behind.as_ref());
            if behind.is_none() {
                return;
            }
            runtime.sleep(BREATH).await;
        }
    }

    /// The same for a slice of the sessions: the first ones behind `behind`. The last of them;
    /// `None` if no others follow.
    pub fn on_tick_of(&self, now: Time, behind: Option<&SessionKey>) -> Option<SessionKey> {
        let (samples, last) = {
            let mut sessions = self.sessions.lock();
            let keys = slice(&sessions, behind);
            sessions.expire(now, &keys);
            let sample = |key: &SessionKey| {
                let session = sessions.get(key).filter(|s| !s.is_over(now))?;
                Some((key.clone(), Sample::new(now, session, sessions.last_update(key))))
            };
            let samples: BTreeMap<_, _> = keys.iter().filter_map(sample).collect();
            (samples, keys.last().filter(|_| keys.len() == SLICE).cloned())
        };
        let mut peers = self.peers(samples.values().map(|s| s.client.id));
        let mut histories = self.histories.lock();
        let begin = behind.map_or(Bound::Unbounded, Bound::Excluded);
        let end = last.as_ref().map_or(Bound::Unbounded, Bound::Included);
        let is_over = |key: &SessionKey, history: &mut History| {
            samples.get(key).is_none_or(|sample| !history.is_of(sample.session))
        };
        let over = histories.extract_if((begin.cloned(), end.cloned()), is_over);
        over.for_each(drop);
        for (key, sample) in samples {
            if !histories.contains_key(&key) {
                if histories.len() >= MAX_HISTORIES {
                    continue;
                }
                histories.insert(key.clone(), History::new(&sample));
            }
            if let Some(history) = histories.get_mut(&key) {
                let connection = sample.client.id;
                let peer = peers.remove(&connection).or_else(|| history.peer(connection));
                history.on_tick(now, &sample, peer.unwrap_or(sample.client.peer));
            }
        }
        last
    }

    /// The view of one session, if it lives.
    pub fn view(&self, now: Time, key: &SessionKey, points: Points) -> Option<SessionView> {
        let view = self.begin_view(now, &self.sessions.lock(), key)?;
        let control = self.connections.lock().get(&view.connection).cloned();
        let peer = control.and_then(|control| control.remote_addr());
        Some(self.end_view(&self.histories.lock(), key, view, peer, points))
    }

    /// The views of the sessions that live whose players send this id, 64 at most.
    pub fn view_named(&self, now: Time, id: &str, points: Points) -> Vec<SessionView> {
        let keys = {
            let sessions = self.sessions.lock();
            // The least key with this id.
            let least = SessionKey::of(id, 0);
            let has_least = sessions.get(&least).map(|_| least.clone());
            let others = sessions.after(Some(&least)).map(|(key, _)| key);
            let others = others.take_while(|key| key.id() == id).take(SLICE - 1).cloned();
            has_least.into_iter().chain(others).collect::<Vec<_>>()
        };
        keys.iter().filter_map(|key| self.view(now, key, points)).collect()
    }

    /// Views of all sessions that live, for `each`, one by one. It takes a while if there are many.
    pub async fn view_all(
        &self,
        runtime: &RuntimeHandle,
        points: Points,
        mut each: impl FnMut(SessionView) + Send,
    ) {
        let mut behind: Option<SessionKey> = None;
        loop {
            behind = self.view_of(runtime.now(), behind.as_ref(), points, &mut each);
            if behind.is_none() {
                return;
            }
            runtime.sleep(BREATH).await;
        }
    }

    /// The same for a slice of the sessions: the first ones behind `behind`. The last of them;
    /// `None` if no others follow.
    fn view_of(
        &self,
        now: Time,
        behind: Option<&SessionKey>,
        points: Points,
        each: &mut impl FnMut(SessionView),
    ) -> Option<SessionKey> {
        let (begun, last) = {
            let sessions = self.sessions.lock();
            let keys = slice(&sessions, behind);
            let last = keys.last().filter(|_| keys.len() == SLICE).cloned();
            let begin = |key| Some((self.begin_view(now, &sessions, &key)?, key));
            let begun: Vec<_> = keys.into_iter().filter_map(begin).collect();
            (begun, last)
        };
        let peers = self.peers(begun.iter().map(|(view, _)| view.connection));
        let views: Vec<_> = {
            let histories = self.histories.lock();
            let end = |(view, key): (SessionView, _)| {
                let peer = peers.get(&view.connection).copied();
                self.end_view(&histories, &key, view, peer, points)
            };
            begun.into_iter().map(end).collect()
        };
        views.into_iter().for_each(each);
        last
    }

    fn begin_view(&self, now: Time, sessions: &Sessions, key: &SessionKey) -> Option<SessionView> {
        let session = sessions.get(key).filter(|s| !s.is_over(now))?;
        Some(SessionView::new(now, key, session, sessions.last_update(key), self.split))
    }

    fn end_view(
        &self,
        histories: &BTreeMap<SessionKey, History>,
        key: &SessionKey,
        mut view: SessionView,
        peer: Option<SocketAddr>,
        points: Points,
    ) -> SessionView {
        let history = histories.get(key).filter(|h| h.is_of(view.number));
        if let Some(peer) = peer.or_else(|| history?.peer(view.connection)) {
            view.peer = peer.to_string();
        }
        if let Some(history) = history {
            view.rate_bps = view.rate_bps.or(history.rate_bps());
            view.history = history.points(points.since_s, points.most);
        }
        view
    }

    /// Addresses of the clients, for those of the connections that are open over QUIC.
    fn peers(&self, of: impl Iterator<Item = u64>) -> BTreeMap<u64, SocketAddr> {
        let controls: Vec<_> = {
            let connections = self.connections.lock();
            of.filter_map(|id| Some((id, connections.get(&id)?.clone()))).collect()
        };
        controls
            .into_iter()
            .filter_map(|(id, control)| Some((id, control.remote_addr()?)))
            .collect()
    }
}

/// The keys of the first sessions behind `behind`.
fn slice(sessions: &Sessions, behind: Option<&SessionKey>) -> Vec<SessionKey> {
    sessions.after(behind).take(SLICE).map(|(key, _)| key.clone()).collect()
}

#[cfg(test)]
mod tests {
    use airlane_minerva::Progress;
    use airlane_origin::Carrier;
    use airlane_origin::cmcd::Cmcd;
    use airlane_origin::sessions::PartRequest;
    use airlane_origin::store::{Part, PartRole};

    use super::*;
    use airlane_runtime::virtual_time;

    const ALL: Points = Points { since_s: -1.0, most: usize::MAX };

    /// Sessions with one connection, of number 0.
    fn connected() -> SharedSessions {
        let sessions = SharedSessions::default();
        sessions.lock().on_connect(([192, 0, 2, 1], 443).into(), Carrier::Http2, None);
        sessions
    }

    /// A session asks for a chunk of `title` on that connection. The answer ends at once, unless
    /// `goes_on`.
    fn ask(sessions: &SharedSessions, now: Time, id: &str, title: &str, goes_on: bool) {
        let mut sessions = sessions.lock();
        let part = Part { title: title.into(), role: PartRole::Picture { rung: 0, chunk: 0 } };
        let cmcd = Cmcd::parse(&format!("sid=\"{id}\",bl=9000"));
        let request = PartRequest { part: &part, cmcd: &cmcd, token: None };
        let accepted = sessions.on_request(now, 0, Progress::default(), request, None);
        if !goes_on {
            let response = accepted.unwrap().response;
            sessions.on_response_end(now, &response, Progress::default());
        }
    }

    fn key(id: &str) -> SessionKey {
        SessionKey::of(id, 0)
    }

    #[test]
    fn every_session_is_looked_at_each_second_however_many_there_are() {
        virtual_time::run_alone(|runtime| async move {
            let sessions = connected();
            let registry = Registry::new(sessions.clone(), false);
            // Several slices, the last of which is not full, and one that is.
            for count in [3 * SLICE, 3 * SLICE + 10] {
                for n in 0..count {
                    ask(&sessions, runtime.now(), &format!("{n:04}"), "film", true);
                }
                registry.on_tick(&runtime).await;
                runtime.sleep(Duration::from_secs(1)).await;
                registry.on_tick(&runtime).await;
                let mut seen = Vec::new();
                registry.view_all(&runtime, ALL, |view| seen.push(view)).await;
                assert_eq!(seen.len(), count);
                for (n, view) in seen.iter().enumerate() {
                    assert_eq!(view.id, format!("{n:04}"));
                    let alone = registry.view(runtime.now(), &key(&view.id), ALL).unwrap();
                    assert!(!view.history.is_empty() && alone.history == view.history);
                }
            }
            assert!(registry.view(runtime.now(), &key("nobody"), ALL).is_none());
        });
    }

    #[test]
    fn a_history_is_that_of_its_session_and_goes_with_it() {
        virtual_time::run_alone(|runtime| async move {
            let sessions = connected();
            let registry = Registry::new(sessions.clone(), false);
            let points = |id: &str| {
                let view = registry.view(runtime.now(), &key(id), ALL);
                view.map(|view| view.history.len())
            };
            ask(&sessions, runtime.now(), "ends", "film", false);
            ask(&sessions, runtime.now(), "stays", "film", true);
            for _ in 0..50 {
                runtime.sleep(Duration::from_secs(1)).await;
                registry.on_tick(&runtime).await;
            }
            assert_eq!((points("ends"), points("stays")), (Some(50), Some(50)));
            // Another title under the same id is another session.
            ask(&sessions, runtime.now(), "stays", "news", true);
            registry.on_tick(&runtime).await;
            runtime.sleep(Duration::from_secs(1)).await;
            registry.on_tick(&runtime).await;
            assert_eq!(points("stays"), Some(1));
            runtime.sleep(Duration::from_secs(10)).await;
            assert_eq!(points("ends"), None, "it is over");
            registry.on_tick(&runtime).await;
            assert_eq!(registry.histories.lock().len(), 1);
            assert_eq!(sessions.lock().count(), 1, "it is forgotten");
        });
    }
}
