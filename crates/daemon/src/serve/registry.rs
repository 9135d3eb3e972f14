//! What is known of every session, for pages, metrics and logs.
//!
//! It is told by the origin, keeps a bounded history and forgets sessions that are over. Weights
//! do not depend on it.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use airlane_abr::Setting;
use airlane_apps::cmcd::Cmcd;
use airlane_apps::content::PartRole;
use airlane_apps::vod::{Asked, Carrier, Responded, Viewer, Visitor};
use airlane_base::Time;
use airlane_minerva::Update;
use airlane_quic::ControlHandle;
use serde::Serialize;

use super::groups::{Arm, Groups, UNKNOWN_CHUNK};

/// Sessions that are kept: beyond, the one that was silent for longest goes.
const MAX_SESSIONS: usize = 20_000;
/// A session that was silent for so long is over.
const OVER: Duration = Duration::from_secs(60);
/// Points of a session's history, one per [`EVERY`]: ten minutes.
const MAX_POINTS: usize = 600;
/// How often a session's state is noted.
const EVERY: Duration = Duration::from_secs(1);

/// All sessions.
#[derive(Debug, Default)]
pub(super) struct Registry {
    by_key: BTreeMap<Key, Known>,
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
    /// Sessions that began.
    pub(super) sessions: u64,
}

/// A connection that is open.
#[derive(Debug)]
struct Open {
    carrier: Carrier,
    /// Knows where the client is; none over TCP, where it stays.
    control: Option<ControlHandle>,
}

/// A player's id, or, for one that names none, its connection.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Named(String),
    Nameless(u64),
}

impl Key {
    fn of(session: &str, connection: u64) -> Self {
        if session.is_empty() {
            Self::Nameless(connection)
        } else {
            Self::Named(session.to_owned())
        }
    }
}

/// What is known of a session.
#[derive(Debug)]
struct Known {
    visitor: Visitor,
    /// Where the client was last.
    peer: SocketAddr,
    title: Arc<str>,
    arm: Arm,
    abr: Option<String>,
    setting: Option<Arc<Setting>>,
    viewer: Viewer,
    began: Time,
    seen: Time,
    /// The last chunk of the picture: rung, number, buffer as it was asked for.
    chunk: Option<(usize, usize, Option<Duration>)>,
    rate_bps: Option<f64>,
    weight: Option<f64>,
    bytes: u64,
    /// Sum of equation 1 and number of chunks, the quality of the last, stalls.
    qoe: f64,
    chunks: u32,
    quality: Option<f64>,
    stalls: u32,
    stalled: Duration,
    /// Bytes at the last point of the history.
    noted: (Time, u64),
    history: VecDeque<Point>,
}

/// A point of a session's history: time in seconds, rate in bit/s, weight, buffer in seconds,
/// quality, mean QoE.
type Point = (f64, Option<f64>, Option<f64>, Option<f64>, Option<f64>, Option<f64>);

/// A session as the pages show it.
#[derive(Clone, Debug, Serialize)]
pub struct SessionView {
    /// The player's id; empty if it names none.
    pub id: String,
    /// The connection's number.
    pub connection: u64,
    /// The client's address: where it is now, if it moved.
    pub peer: String,
    /// `h3`, `h2` or `http/1.1`.
    pub carrier: &'static str,
    /// The title.
    pub title: String,
    /// `minerva`, `plain`, or `unmanaged` over TCP.
    pub regime: &'static str,
    /// Why it is not weighed, if it is not.
    pub why: Option<&'static str>,
    /// In a comparison: `minerva` or `cubic`.
    pub arm: Option<&'static str>,
    /// The algorithm that the player names.
    pub abr: Option<String>,
    /// When it began, seconds since the server did.
    pub began_s: f64,
    /// When it was heard of last.
    pub seen_s: f64,
    /// Position in the ladder of the last chunk asked for, and how many there are.
    pub rung: Option<usize>,
    /// See [`rung`](Self::rung).
    pub rungs: Option<usize>,
    /// Number of that chunk.
    pub chunk: Option<usize>,
    /// The player's buffer when it asked, less what was watched since, in seconds.
    pub buffer_s: Option<f64>,
    /// Seconds of video watched per second.
    pub pace: f64,
    /// Whether nobody sees the picture.
    pub hidden: bool,
    /// The rate, bits per second: as Minerva measured it, or bytes over the last second.
    pub rate_bps: Option<f64>,
    /// Its weight.
    pub weight: Option<f64>,
    /// Quality of the last chunk asked for.
    pub quality: Option<f64>,
    /// Mean of equation 1 over the chunks asked for.
    pub qoe: Option<f64>,
    /// Time stalled, as the player says or its buffer shows.
    pub stalled_s: f64,
    /// How often.
    pub stalls: u32,
    /// Bytes of bodies.
    pub bytes: u64,
    /// One point per second: time, rate, weight, buffer, quality, QoE.
    pub history: Vec<Point>,
}

impl Registry {
    pub(super) fn on_connected(&mut self, visitor: &Visitor, control: Option<&ControlHandle>) {
        let carrier = visitor.carrier;
        *self.totals.connections.entry(carrier).or_default() += 1;
        self.connections.insert(visitor.id, Open { carrier, control: control.cloned() });
    }

    pub(super) fn on_disconnected(&mut self, visitor: &Visitor) {
        self.connections.remove(&visitor.id);
        self.by_key.remove(&Key::Nameless(visitor.id));
    }

    /// Connections that are open, by carrier.
    pub(super) fn open(&self, carrier: Carrier) -> usize {
        self.connections.values().filter(|v| v.carrier == carrier).count()
    }

    /// A part of a title was asked for. Whether that begins a session.
    pub(super) fn on_asked(
        &mut self,
        visitor: &Visitor,
        asked: &Asked<'_>,
        groups: &Groups,
    ) -> bool {
        let key = Key::of(asked.session, visitor.id);
        let title = &asked.part.title;
        let fresh = self.by_key.get(&key).is_none_or(|k| k.title != *title);
        if fresh {
            if self.by_key.len() >= MAX_SESSIONS {
                self.forget_one();
            }
            self.totals.sessions += 1;
            let known = Known::new(visitor, asked, groups);
            self.by_key.insert(key.clone(), known);
        }
        if let Some(known) = self.by_key.get_mut(&key) {
            known.on_asked(visitor, asked);
        }
        fresh
    }

    /// A player says something of itself between requests.
    pub(super) fn on_reported(&mut self, at: Time, report: &Cmcd) {
        self.totals.reports += 1;
        let session = report.session.as_deref().filter(|s| !s.is_empty());
        let key = session.map(|s| Key::Named(s.to_owned()));
        let Some(known) = key.and_then(|k| self.by_key.get_mut(&k)) else { return };
        known.seen = at;
        known.viewer.on_report(report);
        if let (Some(buffer), Some(chunk)) = (report.buffer, &mut known.chunk) {
            chunk.2 = Some(buffer);
        }
    }

    pub(super) fn on_weighed(&mut self, visitor: &Visitor, session: &str, update: &Update) {
        self.totals.updates += 1;
        if let Some(known) = self.by_key.get_mut(&Key::of(session, visitor.id)) {
            known.rate_bps = Some(update.smoothed_bps);
            known.weight = Some(update.weight);
        }
    }

    pub(super) fn on_updated(&mut self, took: Duration) {
        self.totals.updating += took;
    }

    pub(super) fn on_responded(&mut self, visitor: &Visitor, responded: &Responded<'_>) {
        let Responded { at, status, bytes, whole, session, .. } = *responded;
        *self.totals.responses.entry((visitor.carrier, status.as_u16())).or_default() += 1;
        *self.totals.bytes.entry(visitor.carrier).or_default() += bytes;
        self.totals.cut_short += u64::from(!whole);
        let Some(session) = session else { return };
        if let Some(known) = self.by_key.get_mut(&Key::of(session, visitor.id)) {
            known.bytes += bytes;
            known.seen = known.seen.max(at);
        }
    }

    /// Notes the state of every session, and forgets those that are over.
    pub(super) fn on_tick(&mut self, now: Time) {
        self.by_key.retain(|_, known| now - known.seen < OVER);
        for known in self.by_key.values_mut() {
            // When the connection is closed, nobody can be asked any more.
            known.peer = known.address(&self.connections);
            known.note(now);
        }
    }

    /// The arm of a comparison that a session is in.
    pub(super) fn arm(&self, visitor: &Visitor, session: &str) -> Option<&'static str> {
        self.by_key.get(&Key::of(session, visitor.id))?.arm_name()
    }

    /// The sessions, all or the one called `id`, with their history after `since_s`.
    pub(super) fn views(
        &self,
        now: Time,
        id: Option<&str>,
        since_s: f64,
        split: bool,
    ) -> Vec<SessionView> {
        let wanted = |key: &&Key| match id {
            None => true,
            Some(id) => matches!(key, Key::Named(name) if name == id),
        };
        let entries = self.by_key.iter().filter(|(key, _)| wanted(key));
        entries
            .map(|(key, known)| {
                let peer = known.address(&self.connections);
                known.view((key, peer), now, since_s, split)
            })
            .collect()
    }

    fn forget_one(&mut self) {
        let oldest = self.by_key.iter().min_by_key(|(_, k)| k.seen).map(|(key, _)| key.clone());
        if let Some(key) = oldest {
            self.by_key.remove(&key);
        }
    }
}

impl Known {
    fn new(visitor: &Visitor, asked: &Asked<'_>, groups: &Groups) -> Self {
        let title = &asked.part.title;
        Self {
            visitor: *visitor,
            peer: visitor.peer,
            title: title.clone(),
            arm: groups.arm(title, asked.session, asked.cmcd),
            abr: asked.cmcd.abr.clone(),
            setting: groups.setting(title, asked.cmcd).cloned(),
            viewer: Viewer::default(),
            began: asked.at,
            seen: asked.at,
            chunk: None,
            rate_bps: None,
            weight: None,
            bytes: 0,
            qoe: 0.0,
            chunks: 0,
            quality: None,
            stalls: 0,
            stalled: Duration::ZERO,
            noted: (asked.at, 0),
            history: VecDeque::new(),
        }
    }

    fn on_asked(&mut self, visitor: &Visitor, asked: &Asked<'_>) {
        if self.visitor.id != visitor.id {
            (self.visitor, self.peer) = (*visitor, visitor.peer);
        }
        self.seen = asked.at;
        let PartRole::Picture { rung, chunk } = asked.part.role else { return };
        let length = self.setting.as_ref().map_or(UNKNOWN_CHUNK, |s| s.chunk());
        let request = self.viewer.on_request(asked.at, (rung, chunk), length, asked.cmcd);
        let stall = request.stalled.saturating_sub(self.stalled);
        self.stalls += u32::from(!stall.is_zero());
        self.stalled = self.stalled.max(request.stalled);
        let before = self.chunk.map(|(rung, ..)| rung).filter(|_| !request.after_seek);
        if let Some(setting) = &self.setting
            && chunk < setting.chunks()
            && rung < setting.rungs()
        {
            let previous = before.filter(|&b| b < setting.rungs());
            self.qoe += setting.chunk_qoe(chunk, rung, stall.as_secs_f64(), previous);
            self.chunks += 1;
            self.quality = Some(setting.quality(chunk)[rung]);
        }
        self.chunk = Some((rung, chunk, asked.cmcd.buffer.map(|_| request.buffer)));
    }

    /// Where the client is, or was when its connection was last open.
    fn address(&self, connections: &BTreeMap<u64, Open>) -> SocketAddr {
        let control = connections.get(&self.visitor.id).and_then(|c| c.control.as_ref());
        control.and_then(ControlHandle::remote_addr).unwrap_or(self.peer)
    }

    fn buffer_s(&self, now: Time) -> Option<f64> {
        let (_, _, buffer) = self.chunk?;
        let watched = (now - self.seen).as_secs_f64() * self.viewer.watching().pace;
        Some((buffer?.as_secs_f64() - watched).max(0.0))
    }

    fn mean_qoe(&self) -> Option<f64> {
        (self.chunks > 0).then(|| self.qoe / f64::from(self.chunks))
    }

    fn note(&mut self, now: Time) {
        let (at, bytes) = self.noted;
        let passed = now - at;
        if passed < EVERY {
            return;
        }
        if self.weight.is_none() {
            let delivered = self.bytes.saturating_sub(bytes) as f64;
            self.rate_bps = Some(delivered * 8.0 / passed.as_secs_f64());
        }
        self.noted = (now, self.bytes);
        if self.history.len() == MAX_POINTS {
            self.history.pop_front();
        }
        let t = rounded(now.as_secs_f64(), 1e3);
        let part = |x: Option<f64>| x.map(|x| rounded(x, 1e3));
        let rate = self.rate_bps.map(f64::round);
        let buffer = self.buffer_s(now);
        let point =
            (t, rate, part(self.weight), part(buffer), part(self.quality), part(self.mean_qoe()));
        self.history.push_back(point);
    }

    /// The arm of a comparison that it is in.
    fn arm_name(&self) -> Option<&'static str> {
        match self.arm {
            _ if self.visitor.carrier != Carrier::Http3 => None,
            Arm::Minerva => Some("minerva"),
            Arm::Control => Some("cubic"),
            _ => None,
        }
    }

    fn view(
        &self,
        (key, peer): (&Key, SocketAddr),
        now: Time,
        since_s: f64,
        split: bool,
    ) -> SessionView {
        let watching = self.viewer.watching();
        let unmanaged = self.visitor.carrier != Carrier::Http3;
        let (regime, why) = match self.arm {
            _ if unmanaged => ("unmanaged", Some("it came over TCP")),
            Arm::Minerva => ("minerva", None),
            Arm::Control => ("plain", Some("it is the comparison's plain half")),
            Arm::Plain => ("plain", Some("the server weighs nobody")),
            Arm::Silent => ("plain", Some("its player sends no CMCD")),
            Arm::Unmeasured => ("plain", Some("its title has no quality table")),
        };
        let arm = self.arm_name().filter(|_| split);
        SessionView {
            id: match key {
                Key::Named(id) => id.clone(),
                Key::Nameless(_) => String::new(),
            },
            connection: self.visitor.id,
            peer: peer.to_string(),
            carrier: self.visitor.carrier.name(),
            title: self.title.to_string(),
            regime,
            why,
            arm,
            abr: self.abr.clone(),
            began_s: rounded(self.began.as_secs_f64(), 1e3),
            seen_s: rounded(self.seen.as_secs_f64(), 1e3),
            rung: self.chunk.map(|(rung, ..)| rung),
            rungs: self.setting.as_ref().map(|s| s.rungs()),
            chunk: self.chunk.map(|(_, chunk, _)| chunk),
            buffer_s: self.buffer_s(now),
            pace: watching.pace,
            hidden: !watching.visible,
            rate_bps: self.rate_bps,
            weight: self.weight,
            quality: self.quality,
            qoe: self.mean_qoe(),
            stalled_s: self.stalled.as_secs_f64(),
            stalls: self.stalls,
            bytes: self.bytes,
            history: self.history.iter().filter(|p| p.0 > since_s).copied().collect(),
        }
    }
}

fn rounded(x: f64, steps: f64) -> f64 {
    (x * steps).round() / steps
}
