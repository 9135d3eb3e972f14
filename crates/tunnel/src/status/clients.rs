//! The clients of a serving end, as figures show them.

use std::collections::BTreeMap;

use airlane_multipath::{PeerId, SessionStatus};
use parking_lot::Mutex;
use serde::Serialize;

use crate::clients::{Clients, SHARED};

/// A client of a serving end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClientStatus {
    /// Its name; `(shared key)` stands for all who have the serving end's own key.
    pub name: String,
    /// Subflows that it has.
    #[serde(rename = "lines")]
    pub subflows: usize,
    /// Connections and associations that it has open.
    pub streams: usize,
    /// Connections and associations that it has begun.
    pub connections_total: u64,
    /// Bytes sent to it on the subflows that it has.
    pub sent_bytes: u64,
    /// Bytes received from it on the subflows that it has.
    pub received_bytes: u64,
}

/// Connections and associations that each client has begun.
#[derive(Debug, Default)]
pub(crate) struct ConnectionCounts(Mutex<BTreeMap<PeerId, u64>>);

impl ConnectionCounts {
    pub(crate) fn count(&self, peer: PeerId) {
        *self.0.lock().entry(peer).or_default() += 1;
    }

    /// Forgets a client that is none any more.
    pub(crate) fn forget(&self, peer: PeerId) {
        self.0.lock().remove(&peer);
    }

    /// All clients that have keys of their own, and those that have the serving end's if there were any.
    pub(crate) fn status(
        &self,
        clients: &Clients,
        sessions: &[SessionStatus],
    ) -> Vec<ClientStatus> {
        let begun = self.0.lock();
        let of = |(name, peer): (String, PeerId)| {
            let own = || sessions.iter().filter(move |session| session.peer == peer);
            let subflows = || own().flat_map(|session| &session.subflows);
            ClientStatus {
                name,
                subflows: subflows().count(),
                streams: own().map(|session| session.streams).sum(),
                connections_total: begun.get(&peer).copied().unwrap_or_default(),
                sent_bytes: subflows().map(|(_, sent, _)| sent).sum(),
                received_bytes: subflows().map(|(_, _, received)| received).sum(),
            }
        };
        let mut all: Vec<ClientStatus> = clients.all().into_iter().map(of).collect();
        let shared = of((SHARED.to_owned(), clients.shared_peer()));
        if shared.subflows > 0 || shared.connections_total > 0 {
            all.push(shared);
        }
        all
    }
}
