//! Minerva's place in the origin: from requests to the weight of a connection.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use airlane_minerva::{Progress, Request, SentCurve};
use airlane_quic::{ControlHandle, ControlStats};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use tokio::sync::Notify;

use super::OriginEvents;
use super::provider::Provider;
use super::sessions::Sessions;
use crate::cmcd::Cmcd;
use crate::content::Object;

/// Bytes of a full packet that are not body: first byte, packet number (2), tag (16) and STREAM
/// frame (about 8); a player without a connection id of its own, as Chromium is, adds none.
pub const PACKET_OVERHEAD_BYTES: u64 = 27;

/// One connection and its sessions.
pub(super) struct Weigher {
    provider: Arc<Provider>,
    control: ControlHandle,
    runtime: RuntimeHandle,
    sessions: Mutex<Sessions>,
    joined: Notify,
}

/// A request of a session, until its response ends.
pub(super) struct Watched {
    weigher: Arc<Weigher>,
    session: String,
}

impl Weigher {
    pub(super) fn new(
        provider: Arc<Provider>,
        control: ControlHandle,
        runtime: RuntimeHandle,
    ) -> Arc<Self> {
        let (sessions, joined) = (Mutex::default(), Notify::new());
        Arc::new(Self { provider, control, runtime, sessions, joined })
    }

    /// A request for an object came with what the player says of itself.
    pub(super) fn on_request(self: &Arc<Self>, object: &Object, cmcd: &Cmcd) -> Watched {
        let session = cmcd.session.clone().unwrap_or_default();
        let request = Request {
            chunk: object.chunk,
            rung: object.rung,
            buffer: cmcd.buffer.unwrap_or_default(),
            stalled: cmcd.stalled.unwrap_or_default(),
        };
        let curve = cmcd.value.as_deref().and_then(|text| SentCurve::from_text(text).ok());
        let new = || self.provider.controller(&object.video.name, cmcd);
        let (now, totals) = (self.runtime.now(), self.progress());
        let mut sessions = self.sessions();
        let joined = sessions.on_request(now, &session, totals, (request, curve), new);
        // The first one starts at the weight that the connection has.
        let weight = sessions.weight().filter(|_| joined && sessions.are_several());
        drop(sessions);
        if let Some(weight) = weight {
            self.control.set_weight(weight);
        }
        self.joined.notify_one();
        Watched { weigher: self.clone(), session }
    }

    /// Sets weights for as long as it is polled.
    pub(super) async fn run(self: Arc<Self>, peer: SocketAddr, events: Arc<dyn OriginEvents>) {
        loop {
            let next = self.sessions().next_event();
            match next {
                None => self.joined.notified().await,
                Some(at) => {
                    tokio::select! {
                        biased;
                        () = self.runtime.sleep_until(at) => self.update(peer, &*events),
                        () = self.joined.notified() => {}
                    }
                }
            }
        }
    }

    fn update(&self, peer: SocketAddr, events: &dyn OriginEvents) {
        let (now, totals) = (self.runtime.now(), self.progress());
        let mut sessions = self.sessions();
        let updates = sessions.poll(now, totals);
        let weight = sessions.weight().filter(|_| !updates.is_empty());
        drop(sessions);
        if let Some(weight) = weight {
            self.control.set_weight(weight);
        }
        for (session, update) in &updates {
            events.weighed(peer, session, update);
        }
    }

    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn progress(&self) -> Progress {
        progress(&self.control.stats(), self.provider.payload_bytes)
    }
}

impl Watched {
    /// So many bytes of the body were handed to the connection.
    pub(super) fn handed(&self, bytes: u64) {
        let (now, totals) = (self.weigher.runtime.now(), self.weigher.progress());
        self.weigher.sessions().on_handed(now, &self.session, totals, bytes);
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
