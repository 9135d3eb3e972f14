//! The history of a session's figures: a point per second, for ten minutes.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use airlane_apps::vod::sessions::Session;
use airlane_base::Time;
use airlane_minerva::Update;

/// Points kept, one per [`STEP`]: ten minutes.
const MAX_POINTS: usize = 600;
/// Time between two points, at least.
const STEP: Duration = Duration::from_secs(1);

/// A point: time in seconds, rate in bit/s, weight, buffer in seconds, quality, mean QoE.
pub(super) type Point = (f64, Option<f64>, Option<f64>, Option<f64>, Option<f64>, Option<f64>);

/// The last ten minutes of a session.
#[derive(Debug)]
pub(super) struct History {
    /// The number of the session.
    session: u64,
    /// Its connection, and the last known address of the client on it.
    peer: (u64, SocketAddr),
    /// Time of the last point, and the session's bytes then.
    last: (Time, u64),
    /// The rate by the bytes sent between the last two points, for sessions without a measured
    /// rate.
    rate_bps: Option<f64>,
    points: VecDeque<Point>,
}

impl History {
    pub(super) fn new(session: &Session) -> Self {
        Self {
            session: session.number(),
            peer: (session.client().id, session.client().peer),
            last: (session.began(), 0),
            rate_bps: None,
            points: VecDeque::new(),
        }
    }

    /// Whether it belongs to this session, and not to an earlier one with the same key.
    pub(super) fn is_of(&self, session: &Session) -> bool {
        self.session == session.number()
    }

    /// The last known address of the session's client, if the session is still on that connection.
    pub(super) fn peer(&self, session: &Session) -> Option<SocketAddr> {
        (self.peer.0 == session.client().id).then_some(self.peer.1)
    }

    pub(super) fn rate_bps(&self) -> Option<f64> {
        self.rate_bps
    }

    pub(super) fn points(&self) -> impl Iterator<Item = &Point> {
        self.points.iter()
    }

    /// Adds a point, if it is time for one.
    pub(super) fn on_tick(
        &mut self,
        now: Time,
        session: &Session,
        update: Option<Update>,
        peer: SocketAddr,
    ) {
        self.peer = (session.client().id, peer);
        let (at, bytes) = self.last;
        let passed = now - at;
        if passed < STEP {
            return;
        }
        let delivered = session.bytes().saturating_sub(bytes) as f64;
        self.rate_bps = Some(delivered * 8.0 / passed.as_secs_f64());
        self.last = (now, session.bytes());
        if self.points.len() == MAX_POINTS {
            self.points.pop_front();
        }
        let rate = update.map(|u| u.smoothed_bps).or(self.rate_bps);
        self.points.push_back((
            rounded(now.as_secs_f64()),
            rate.map(f64::round),
            update.map(|u| rounded(u.weight)),
            session.buffer_s(now).map(rounded),
            session.quality().map(rounded),
            session.mean_qoe().map(rounded),
        ));
    }
}

/// Rounds to thousandths.
pub(super) fn rounded(x: f64) -> f64 {
    (x * 1e3).round() / 1e3
}
