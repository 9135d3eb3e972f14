//! Applies Minerva's weight of one connection to its congestion controller.

use std::sync::Arc;

use airlane_minerva::Progress;
use airlane_quic::{Connection, ControlHandle, ControlProgress};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use tokio::sync::Notify;

use super::events::{ClientConnection, OriginEvents};
use super::provider::WeightPolicy;
use super::sessions::{ConnectionShares, SharedSessions};

/// Bytes of a full packet that are not body: first byte, packet number (2), tag (16) and STREAM
/// frame (about 8); a player without a connection id of its own, as Chromium is, adds none.
pub const PACKET_OVERHEAD_BYTES: u64 = 27;

/// Polls the sessions when a weight is due, and sets the connection's weight.
pub(super) struct Weigher {
    client: ClientConnection,
    weighing: Arc<dyn WeightPolicy>,
    connection: Connection,
    control: ControlHandle,
    runtime: RuntimeHandle,
    sessions: SharedSessions,
    shares: ConnectionShares,
    changed: Notify,
}

impl Weigher {
    pub(super) fn new(
        client: ClientConnection,
        weighing: Arc<dyn WeightPolicy>,
        connection: Connection,
        runtime: RuntimeHandle,
        (sessions, shares): (SharedSessions, ConnectionShares),
    ) -> Arc<Self> {
        let (control, changed) = (connection.control().clone(), Notify::new());
        Arc::new(Self { client, weighing, connection, control, runtime, sessions, shares, changed })
    }

    /// A session made a request, after which an update may be due earlier: its number, its weight
    /// among those of the connection if it has a share, and the connection's weight if that changed.
    pub(super) fn on_request(&self, session: u64, share: Option<f64>, weight: Option<f64>) {
        if let Some(share) = share {
            self.connection.set_group_weight(group(session), share);
        }
        if let Some(weight) = weight {
            self.control.set_weight(weight);
        }
        self.look_again();
    }

    /// An update may be due earlier than it was.
    pub(super) fn look_again(&self) {
        self.changed.notify_one();
    }

    /// Sets weights when they are due; never ends.
    pub(super) async fn run(self: Arc<Self>, events: Arc<dyn OriginEvents>) {
        loop {
            match self.shares.next_event() {
                None => self.changed.notified().await,
                Some(at) => {
                    tokio::select! {
                        biased;
                        () = self.runtime.sleep_until(at) => self.update(&*events),
                        () = self.changed.notified() => {}
                    }
                }
            }
        }
    }

    fn update(&self, events: &dyn OriginEvents) {
        let (now, totals) = (self.runtime.now(), self.progress());
        let updates = self.shares.poll(now, totals);
        if !updates.ended.is_empty() {
            self.sessions.lock().end_shares(self.client.id, updates.ended);
        }
        if let Some(weight) = updates.weight {
            self.control.set_weight(weight);
        }
        for (session, share) in updates.shares {
            self.connection.set_group_weight(group(session), share);
        }
        for (session, update) in &updates.sessions {
            events.weight_set(&self.client, session.id(), update);
        }
        events.weights_updated(self.runtime.now() - now);
    }

    /// The connection's totals, in body bytes.
    pub(super) fn progress(&self) -> Progress {
        progress(self.control.progress(), self.weighing.payload_bytes())
    }
}

/// The group of a session's answers on its connection; group 0 has those of no session.
pub(super) fn group(session: u64) -> u64 {
    session + 1
}

/// A connection's totals in body bytes.
fn progress(control: ControlProgress, payload_bytes: u64) -> Progress {
    let body = payload_bytes.saturating_sub(PACKET_OVERHEAD_BYTES);
    let acked_bytes =
        u128::from(control.acked_bytes) * u128::from(body) / u128::from(payload_bytes.max(1));
    Progress {
        acked_bytes: u64::try_from(acked_bytes).unwrap_or(u64::MAX),
        busy: control.busy,
        min_rtt: control.min_rtt.unwrap_or_default(),
    }
}
