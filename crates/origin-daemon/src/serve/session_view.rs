//! A session as the pages show it.

use airlane_base::Time;
use airlane_minerva::Update;
use airlane_origin::sessions::{Session, SessionKey, State};
use airlane_origin::{Carrier, Cohort};
use serde::Serialize;

use super::history::{Point, rounded};

/// A session as the pages show it.
#[derive(Clone, Debug, Serialize)]
pub struct SessionView {
    /// The player's id; empty if it names none.
    pub id: String,
    /// The session's number.
    #[serde(skip)]
    pub(super) number: u64,
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
    /// Reason for which Minerva does not set the session's weight, if it does not.
    pub why: Option<&'static str>,
    /// In a comparison: `minerva` or `cubic`.
    pub arm: Option<&'static str>,
    /// The algorithm that the player names.
    pub abr: Option<String>,
    /// Time at which the session began, in seconds since the server did.
    pub began_s: f64,
    /// The time of its last request, report or end of a response.
    pub seen_s: f64,
    /// Position in the ladder of the last chunk requested, and how many rungs there are.
    pub rung: Option<usize>,
    /// See [`rung`](Self::rung).
    pub rungs: Option<usize>,
    /// Number of that chunk.
    pub chunk: Option<usize>,
    /// Buffer that the player reported last, in a request or a report, less what was played since,
    /// in seconds; what was delivered since is not added. `None` if it reports none.
    pub buffer_s: Option<f64>,
    /// Seconds of video watched per second.
    pub pace: f64,
    /// True if the player is hidden (CMCD `bg`).
    pub hidden: bool,
    /// The rate, bits per second: as Minerva measured it, or bytes over the last second.
    pub rate_bps: Option<f64>,
    /// Its weight.
    pub weight: Option<f64>,
    /// The measure of quality that it is weighed by.
    pub metric: Option<&'static str>,
    /// Quality of the last chunk asked for.
    pub quality: Option<f64>,
    /// Mean of equation 1 over the chunks asked for.
    pub qoe: Option<f64>,
    /// Time stalled, as the player says or its buffer shows.
    pub stalled_s: f64,
    /// Number of stalls.
    pub stalls: u32,
    /// Bytes of bodies.
    pub bytes: u64,
    /// One point per second: time, rate, weight, buffer, quality, QoE.
    pub history: Vec<Point>,
}

/// The arm of a comparison that a session is in.
pub(super) fn arm(session: &Session) -> Option<&'static str> {
    match session.cohort() {
        _ if session.client().carrier != Carrier::Http3 => None,
        Cohort::Minerva => Some("minerva"),
        Cohort::Control => Some("cubic"),
        Cohort::Plain | Cohort::NoCmcd | Cohort::NoTable => None,
    }
}

/// Method by which a session's weight is set, and the reason for which Minerva does not set it.
fn regime(session: &Session) -> (&'static str, Option<&'static str>) {
    if session.client().carrier != Carrier::Http3 {
        return ("unmanaged", Some("it came over TCP"));
    }
    match (session.cohort(), session.state()) {
        (Cohort::Minerva, State::Refused) => {
            ("plain", Some("its connection has as many weighed sessions as it may"))
        }
        (Cohort::Minerva, _) => ("minerva", None),
        (Cohort::Control, _) => ("plain", Some("it is the comparison's plain half")),
        (Cohort::Plain, _) => ("plain", Some("the server sets no weights")),
        (Cohort::NoCmcd, _) => ("plain", Some("its player sends no CMCD")),
        (Cohort::NoTable, _) => ("plain", Some("its title has no quality table")),
    }
}

impl SessionView {
    /// That of a session at `now`, without its history and with the address that its client
    /// connected from. `update` is the last one of its weight; `split`: the server compares weighted
    /// sessions with plain ones.
    pub(super) fn new(
        now: Time,
        key: &SessionKey,
        session: &Session,
        update: Option<Update>,
        split: bool,
    ) -> Self {
        let watching = session.viewer().watching();
        let (regime, why) = regime(session);
        let (stalls, stalled) = session.stalls();
        let picture = session.last_picture();
        Self {
            id: key.id().to_owned(),
            number: session.number(),
            connection: session.client().id,
            peer: session.client().peer.to_string(),
            carrier: session.client().carrier.name(),
            title: session.title().to_owned(),
            regime,
            why,
            arm: arm(session).filter(|_| split),
            abr: session.abr().map(str::to_owned),
            began_s: rounded(session.began().as_secs_f64()),
            seen_s: rounded(session.last_activity().as_secs_f64()),
            rung: picture.map(|p| p.rung),
            rungs: session.setting().map(|s| s.rungs()),
            chunk: picture.map(|p| p.chunk),
            buffer_s: session.buffer_s(now),
            pace: watching.pace,
            hidden: !watching.visible,
            rate_bps: update.map(|u| u.smoothed_bps),
            weight: update.map(|u| u.weight),
            metric: session.setting().map(|s| s.view().metric().name()),
            quality: session.quality(),
            qoe: session.mean_qoe(),
            stalled_s: stalled.as_secs_f64(),
            stalls,
            bytes: session.bytes(),
            history: Vec::new(),
        }
    }
}
