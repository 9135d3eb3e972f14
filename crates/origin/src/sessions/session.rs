//! One playback session.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use airlane_abr::TitleModel;
use airlane_base::Time;
use airlane_minerva::{Request, Update};

use super::super::events::ClientConnection;
use super::super::provider::{Cohort, SessionPolicy};
use super::super::viewer::Viewer;
use super::{PartRequest, SESSION_TIMEOUT};
use crate::store::PartRole;

/// The assumed length of chunks of titles without a quality table, for the player's buffer.
const UNKNOWN_CHUNK: Duration = Duration::from_secs(4);

/// Identifies a session: the id that its player sends (CMCD `sid`), if it sends one, and the
/// connection that it began on. The same id from elsewhere is another session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionKey {
    pub(super) id: Arc<str>,
    connection: u64,
}

impl SessionKey {
    /// The key of a session that begins on a connection; `id` is empty if the player sends none.
    pub fn of(id: &str, connection: u64) -> Self {
        Self { id: id.into(), connection }
    }

    /// The id that the player sends; empty if none.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The number of the connection that it began on.
    pub fn connection(&self) -> u64 {
        self.connection
    }
}

/// Share of a session in the connection of its last request, which gives it a weight.
///
/// | from | on | to |
/// |---|---|---|
/// | any, or none | first request on a connection that is not managed | `Unweighted` |
/// | any, or none | first request on a managed connection | `Waiting`, or `Sharing` if it has a share there |
/// | `Waiting`, `Refused`, `Unweighted` on a managed connection | a request for video | `Sharing`, `Refused` or `Unweighted` |
/// | `Sharing` | silent for [`SESSION_TIMEOUT`] while other sessions share the connection | `Waiting` |
/// | any | the connection ends | `Left` if its player has shown its token, else forgotten |
/// | any without a share | silent for [`SESSION_TIMEOUT`] | forgotten |
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum State {
    /// It has no weight: the connection is not managed, or the policy has no rule for the session.
    Unweighted,
    /// It has no share of the connection yet, or no longer; its next request for video decides.
    Waiting,
    /// It has a share of the connection.
    Sharing,
    /// It has no share, because the connection has as many as it may.
    Refused,
    /// The connection ended; with the last update of the session's weight.
    Left(Option<Update>),
}

/// The last chunk of video that a player requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastPicture {
    /// Its position in the ladder.
    pub rung: usize,
    /// Its number, from 0.
    pub chunk: usize,
    /// The player's buffer at the request or at the last report, if the player sends it, and when
    /// that was.
    pub buffer: Option<(Duration, Time)>,
}

/// One player's viewing of one title.
#[derive(Debug)]
pub struct Session {
    /// Its number among all sessions of the origin.
    pub(super) number: u64,
    /// The connection that its last request came on.
    pub(super) client: ClientConnection,
    pub(super) state: State,
    pub(super) title: Arc<str>,
    pub(super) cohort: Cohort,
    setting: Option<Arc<TitleModel>>,
    abr: Option<String>,
    pub(super) viewer: Viewer,
    began: Time,
    /// The time of its last request, its last report, or the end of its last body.
    pub(super) last_activity: Time,
    /// Responses that have not ended.
    pub(super) responses: u32,
    pub(super) last_picture: Option<LastPicture>,
    pub(super) bytes: u64,
    /// Connections of which it has a share: one, unless the player uses several at once.
    pub(super) shares: BTreeSet<u64>,
    /// Since when it is listed among the silent sessions, which [`Silent`](super::silent::Silent) sets.
    pub(super) listed: Option<Time>,
    /// Its player showed its token, and so can go on with it on another connection.
    pub(super) resumable: bool,
    /// Sum of equation 1 over `chunks` chunks.
    qoe: f64,
    chunks: u32,
    quality: Option<f64>,
    stalls: u32,
    stalled: Duration,
}

impl Session {
    pub(super) fn new(
        number: u64,
        client: ClientConnection,
        request: PartRequest<'_>,
        terms: SessionPolicy,
        now: Time,
    ) -> Self {
        Self {
            number,
            client,
            state: State::Waiting,
            title: request.part.title.clone(),
            cohort: terms.cohort,
            setting: terms.setting,
            abr: request.cmcd.abr.clone(),
            viewer: Viewer::default(),
            began: now,
            last_activity: now,
            responses: 0,
            last_picture: None,
            bytes: 0,
            shares: BTreeSet::new(),
            listed: None,
            resumable: false,
            qoe: 0.0,
            chunks: 0,
            quality: None,
            stalls: 0,
            stalled: Duration::ZERO,
        }
    }

    /// The length of its title's chunks.
    pub(super) fn chunk(&self) -> Duration {
        self.setting.as_ref().map_or(UNKNOWN_CHUNK, |s| s.chunk())
    }

    pub(super) fn set_terms(&mut self, terms: SessionPolicy) {
        (self.cohort, self.setting) = (terms.cohort, terms.setting);
    }

    /// The player requests a part. Returns what follows from the request if it is a chunk of video.
    pub(super) fn on_picture(&mut self, now: Time, wanted: PartRequest<'_>) -> Option<Request> {
        let PartRole::Picture { rung, chunk } = wanted.part.role else { return None };
        let request = self.viewer.on_request(now, (rung, chunk), self.chunk(), wanted.cmcd);
        let stall = request.stalled.saturating_sub(self.stalled);
        self.stalls += u32::from(!stall.is_zero());
        self.stalled = self.stalled.max(request.stalled);
        let before = self.last_picture.map(|last| last.rung).filter(|_| !request.after_seek);
        if let Some(setting) = &self.setting
            && chunk < setting.chunks()
            && rung < setting.rungs()
        {
            let before = before.filter(|&b| b < setting.rungs());
            self.qoe += setting.chunk_qoe(chunk, rung, stall.as_secs_f64(), before);
            self.chunks += 1;
            self.quality = Some(setting.quality(chunk)[rung]);
        }
        let buffer = wanted.cmcd.buffer.map(|_| (request.buffer, now));
        self.last_picture = Some(LastPicture { rung, chunk, buffer });
        Some(request)
    }

    /// Its number among all sessions of the origin. It distinguishes sessions that had the same
    /// key.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The connection that its last request came on.
    pub fn client(&self) -> &ClientConnection {
        &self.client
    }

    /// State of its share of that connection.
    pub fn state(&self) -> State {
        self.state
    }

    /// The title.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Cohort of the session, which decides its treatment.
    pub fn cohort(&self) -> Cohort {
        self.cohort
    }

    /// The title as its viewer sees it, if it has a quality table.
    pub fn setting(&self) -> Option<&TitleModel> {
        self.setting.as_deref()
    }

    /// The bitrate algorithm that the player named at the first request.
    pub fn abr(&self) -> Option<&str> {
        self.abr.as_deref()
    }

    /// The state of its player, from its reports.
    pub fn viewer(&self) -> &Viewer {
        &self.viewer
    }

    /// The time of its first request.
    pub fn began(&self) -> Time {
        self.began
    }

    /// The time of its last request, its last report, or the end of its last body.
    pub fn last_activity(&self) -> Time {
        self.last_activity
    }

    /// True if it is over: silent for [`SESSION_TIMEOUT`], and all its responses have ended.
    pub fn is_over(&self, now: Time) -> bool {
        self.responses == 0 && now - self.last_activity >= SESSION_TIMEOUT
    }

    /// The last chunk of video requested.
    pub fn last_picture(&self) -> Option<LastPicture> {
        self.last_picture
    }

    /// The player's buffer as last reported, less what was watched since.
    pub fn buffer_s(&self, now: Time) -> Option<f64> {
        let (buffer, at) = self.last_picture?.buffer?;
        let watched = (now - at).as_secs_f64() * self.viewer.watching().pace;
        Some((buffer.as_secs_f64() - watched).max(0.0))
    }

    /// Bytes of the bodies of all responses sent.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Mean of equation 1 over the chunks requested, in the unit of the quality.
    pub fn mean_qoe(&self) -> Option<f64> {
        (self.chunks > 0).then(|| self.qoe / f64::from(self.chunks))
    }

    /// Quality of the last chunk requested.
    pub fn quality(&self) -> Option<f64> {
        self.quality
    }

    /// Number of stalls, and their duration in all.
    pub fn stalls(&self) -> (u32, Duration) {
        (self.stalls, self.stalled)
    }
}
