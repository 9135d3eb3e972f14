//! Minerva's place in the origin: from requests to the weight of a connection.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use airlane_minerva::Progress;
use airlane_quic::{ControlHandle, ControlStats};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use tokio::sync::Notify;

use super::events::{OriginEvents, Visitor};
use super::provider::Weighing;
use super::sessions::{Admission, Sessions};
use crate::cmcd::Cmcd;
use crate::content::Part;

/// Bytes of a full packet that are not body: first byte, packet number (2), tag (16) and STREAM
/// frame (about 8); a player without a connection id of its own, as Chromium is, adds none.
pub const PACKET_OVERHEAD_BYTES: u64 = 27;

/// One connection and its sessions.
pub(super) struct Weigher {
    weighing: Arc<dyn Weighing>,
    control: ControlHandle,
    runtime: RuntimeHandle,
    sessions: Mutex<Sessions>,
    joined: Notify,
}

/// A request of a session, until its response ends.
pub(super) struct Watched {
    weigher: Arc<Weigher>,
    session: String,
    part: Part,
}

/// What a server expects of a session (CTA-5006).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outlook {
    /// The throughput that the player can count on.
    pub(super) throughput_kbps: u64,
    /// No rung above it should be chosen.
    pub(super) bitrate_kbps: u64,
}

impl Weigher {
    pub(super) fn new(
        weighing: Arc<dyn Weighing>,
        control: ControlHandle,
        runtime: RuntimeHandle,
    ) -> Arc<Self> {
        let (sessions, joined) = (Mutex::default(), Notify::new());
        Arc::new(Self { weighing, control, runtime, sessions, joined })
    }

    /// A request for a part of a title came with what the player says of itself. `None` if it is none
    /// of a session's; else also whether it begins one.
    pub(super) fn on_request(
        self: &Arc<Self>,
        part: &Part,
        cmcd: &Cmcd,
    ) -> Option<(Watched, bool)> {
        let session = cmcd.session.clone().unwrap_or_default();
        let new = || self.weighing.entry(&part.title, &session, cmcd);
        let (now, totals) = (self.runtime.now(), self.progress());
        let mut sessions = self.sessions();
        let admission = sessions.on_request(now, &session, totals, (&part.role, cmcd), new);
        let joined = admission == Admission::New;
        let weight = sessions.weight().filter(|_| joined && !sessions.begin_as_it_is());
        drop(sessions);
        if admission == Admission::None {
            return None;
        }
        if let Some(weight) = weight {
            self.control.set_weight(weight);
        }
        self.joined.notify_one();
        Some((Watched { weigher: self.clone(), session, part: part.clone() }, joined))
    }

    /// The player of a session posted something of itself.
    pub(super) fn on_report(&self, session: &str, cmcd: &Cmcd) {
        self.sessions().on_report(self.runtime.now(), session, cmcd);
    }

    /// Sets weights for as long as it is polled.
    pub(super) async fn run(self: Arc<Self>, visitor: Visitor, events: Arc<dyn OriginEvents>) {
        loop {
            let next = self.sessions().next_event();
            match next {
                None => self.joined.notified().await,
                Some(at) => {
                    tokio::select! {
                        biased;
                        () = self.runtime.sleep_until(at) => self.update(&visitor, &*events),
                        () = self.joined.notified() => {}
                    }
                }
            }
        }
    }

    fn update(&self, visitor: &Visitor, events: &dyn OriginEvents) {
        let (now, totals) = (self.runtime.now(), self.progress());
        let mut sessions = self.sessions();
        let updates = sessions.poll(now, totals);
        let weight = sessions.weight().filter(|_| !updates.is_empty());
        drop(sessions);
        if let Some(weight) = weight {
            self.control.set_weight(weight);
        }
        for (session, update) in &updates {
            events.weighed(visitor, session, update);
        }
        events.updated(self.runtime.now() - now);
    }

    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn progress(&self) -> Progress {
        progress(&self.control.stats(), self.weighing.payload_bytes())
    }
}

impl Watched {
    /// So many bytes of the body were handed to the connection.
    pub(super) fn handed(&self, bytes: u64) {
        let (now, totals) = (self.weigher.runtime.now(), self.weigher.progress());
        self.weigher.sessions().on_handed(now, &self.session, totals, bytes);
    }

    /// What the session can expect, once its rate was measured.
    pub(super) fn outlook(&self) -> Option<Outlook> {
        let rate_bps = self.weigher.sessions().rate_bps(&self.session)?;
        let bitrate_bps = self.weigher.weighing.suggestion_bps(&self.part.title, rate_bps)?;
        let throughput_kbps = (rate_bps / 1e3) as u64;
        Some(Outlook { throughput_kbps, bitrate_kbps: bitrate_bps / 1000 })
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let (now, totals) = (self.weigher.runtime.now(), self.weigher.progress());
        self.weigher.sessions().on_response_end(now, &self.session, totals);
    }
}

/// A connection's totals in body bytes.
fn progress(stats: &ControlStats, payload_bytes: u64) -> Progress {
    let body = payload_bytes.saturating_sub(PACKET_OVERHEAD_BYTES);
    let acked_bytes =
        u128::from(stats.acked_bytes) * u128::from(body) / u128::from(payload_bytes.max(1));
    Progress {
        acked_bytes: u64::try_from(acked_bytes).unwrap_or(u64::MAX),
        busy: stats.busy,
        min_rtt: stats.rtt.map_or(Duration::ZERO, |r| r.min),
    }
}
