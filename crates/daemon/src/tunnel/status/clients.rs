//! The clients of a serving end, as figures show them.

use std::collections::BTreeMap;

use airlane_apps::multipath::trunk::{PeerId, TrunkView};
use parking_lot::Mutex;
use serde::Serialize;

use crate::tunnel::clients::{Clients, SHARED};

/// A client of a serving end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClientStatus {
    /// Its name; `(shared key)` stands for all who have the serving end's own key.
    pub name: String,
    /// Lines that it has.
    pub lines: usize,
    /// Connections and associations that it has open.
    pub streams: usize,
    /// Connections and associations that it has begun.
    pub connections_total: u64,
    /// Bytes sent to it on the lines that it has.
    pub sent_bytes: u64,
    /// Bytes received from it on the lines that it has.
    pub received_bytes: u64,
}

/// Connections and associations that each client has begun.
#[derive(Debug, Default)]
pub(in crate::tunnel) struct BegunBy(Mutex<BTreeMap<PeerId, u64>>);

impl BegunBy {
    pub(in crate::tunnel) fn count(&self, peer: PeerId) {
        *self.0.lock().entry(peer).or_default() += 1;
    }

    /// Forgets a client that is none any more.
    pub(in crate::tunnel) fn forget(&self, peer: PeerId) {
        self.0.lock().remove(&peer);
    }

    /// All clients that have keys of their own, and those that have the serving end's if there were any.
    pub(in crate::tunnel) fn status(
        &self,
        clients: &Clients,
        trunks: &[TrunkView],
    ) -> Vec<ClientStatus> {
        let begun = self.0.lock();
        let of = |(name, peer): (String, PeerId)| {
            let own = || trunks.iter().filter(move |trunk| trunk.peer == peer);
            let lines = || own().flat_map(|trunk| &trunk.lines);
            ClientStatus {
                name,
                lines: lines().count(),
                streams: own().map(|trunk| trunk.streams).sum(),
                connections_total: begun.get(&peer).copied().unwrap_or_default(),
                sent_bytes: lines().map(|(_, sent, _)| sent).sum(),
                received_bytes: lines().map(|(_, _, received)| received).sum(),
            }
        };
        let mut all: Vec<ClientStatus> = clients.all().into_iter().map(of).collect();
        let shared = of((SHARED.to_owned(), clients.shared_peer()));
        if shared.lines > 0 || shared.connections_total > 0 {
            all.push(shared);
        }
        all
    }
}
