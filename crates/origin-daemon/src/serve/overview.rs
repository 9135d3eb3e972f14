//! All sessions, or one, as JSON for the pages.

use airlane_origin::sessions::SessionKey;
use airlane_runtime::RuntimeHandle;
use serde_json::json;
use tokio::sync::Mutex;

use super::config::Sharing;
use super::registry::{Points, Registry};
use super::session_view::SessionView;

/// Points of histories in an answer about all sessions: with more than 333 of them the older points
/// are left out. Some 9 MB of JSON.
const MAX_POINTS: usize = 200_000;

/// Bytes of a session with few points, about.
const VIEW_BYTES: usize = 600;

/// Selection of sessions.
#[derive(Clone, Copy, Debug)]
pub(super) enum SessionSelection<'a> {
    /// All of them.
    All,
    /// Those with this id.
    Id(&'a str),
    /// This one, if there is one.
    Key(Option<&'a SessionKey>),
}

/// Query for sessions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Query<'a> {
    /// Selected sessions.
    pub(super) of: SessionSelection<'a>,
    /// Only points of their histories that are newer than this, in seconds.
    pub(super) since_s: f64,
}

/// Answers about sessions.
#[derive(Debug)]
pub(super) struct Overview {
    sharing: Sharing,
    split: Option<f64>,
    /// Answers about all sessions are made one at a time: with thousands each takes megabytes.
    turn: Mutex<()>,
}

impl Overview {
    pub(super) fn new(sharing: Sharing, split: Option<f64>) -> Self {
        Self { sharing, split, turn: Mutex::default() }
    }

    /// The answer to `query`, with `sessions` sessions there.
    pub(super) async fn answer(
        &self,
        runtime: &RuntimeHandle,
        registry: &Registry,
        sessions: usize,
        query: Query<'_>,
    ) -> Vec<u8> {
        let policy = match self.sharing {
            Sharing::MaxMin => "max-min",
            Sharing::Proportional => "proportional",
            Sharing::Bounded(_) => "bounded",
            Sharing::Plain => "plain",
        };
        let now = runtime.now();
        let now_s = now.as_secs_f64();
        // Text and numbers are JSON; numbers that are not finite become null.
        let head = json!({ "now_s": now_s, "policy": policy, "ab": self.split }).to_string();
        let mut text = head.trim_end_matches('}').to_owned().into_bytes();
        text.extend_from_slice(b",\"sessions\":[");
        if matches!(query.of, SessionSelection::All) {
            // What grows by doubling would take twice as much for a moment.
            text.reserve(sessions * VIEW_BYTES);
        }
        let mut is_first = true;
        let mut add = |view: SessionView| {
            if !std::mem::take(&mut is_first) {
                text.push(b',');
            }
            // Writing to memory cannot fail.
            let _ = serde_json::to_writer(&mut text, &view);
        };
        let since_s = query.since_s;
        let whole = Points { since_s, most: usize::MAX };
        match query.of {
            SessionSelection::Id(id) => {
                registry.view_named(now, id, whole).into_iter().for_each(&mut add)
            }
            SessionSelection::Key(key) => {
                let view = key.and_then(|key| registry.view(now, key, whole));
                view.into_iter().for_each(&mut add);
            }
            SessionSelection::All => {
                let _turn = self.turn.lock().await;
                let most = (MAX_POINTS / sessions.max(1)).max(1);
                registry.view_all(runtime, Points { since_s, most }, &mut add).await;
            }
        }
        text.extend_from_slice(b"]}");
        text
    }
}
