//! Whom a serving end lets in, while it runs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use airlane_apps::multipath::trunk::{Acceptor, PeerId};
use airlane_base::InputError;
use airlane_runtime::{RuntimeExt, RuntimeHandle};

use super::clients::Clients;
use super::key::Key;
use super::knock::{Door, Memory};
use super::knock_log::KnockLog;
use super::status::BegunBy;
use crate::date;
use crate::rate_limited_log::RateLimitedLog;

/// Between two looks at the list of clients.
const LOOK: Duration = Duration::from_secs(1);

/// What a serving end is told of its clients.
#[derive(Clone, Debug, Default)]
pub struct AdmissionConfig {
    /// The file with its clients; without one those alone are let in who have its own key.
    pub clients: Option<PathBuf>,
    /// The folder where it notes down first packets that it has taken, so that it takes none again when
    /// it is started again. Without one it refuses, instead, those that were made before it was.
    pub state: Option<PathBuf>,
}

/// Whom a serving end lets in.
pub(super) struct Admission {
    pub(super) clients: Clients,
    pub(super) begun: BegunBy,
}

impl Admission {
    /// As it is told, with what takes first packets.
    ///
    /// # Errors
    /// If the file with the clients cannot be read.
    pub(super) fn open(
        key: &Key,
        config: AdmissionConfig,
    ) -> Result<(Arc<Self>, Arc<Door>), InputError> {
        let clients = Clients::open(key, config.clients)?;
        let admission = Arc::new(Self { clients, begun: BegunBy::default() });
        let now = date::now_ms();
        let log = config.state.map(|folder| KnockLog::open(&folder, key.file_name(), now));
        let memory = match log {
            Some(Ok(log)) => Memory::Log(log),
            Some(Err(e)) => {
                tracing::warn!(
                    "first packets are not noted down, so those made before now are refused, and \
                     clients whose clocks are behind have to wait: {e}"
                );
                Memory::Since(now)
            }
            None => Memory::Since(now),
        };
        let door = Arc::new(Door::new(admission.clone(), memory));
        Ok((admission, door))
    }

    /// Whether a line of a client is served.
    pub(super) fn admits(&self, peer: PeerId, warnings: &Arc<RateLimitedLog>) -> bool {
        let Some(name) = self.clients.name(peer) else { return false };
        if self.clients.is_shared(peer) {
            warnings.warn(
                "shared key",
                format_args!(
                    "a client has this end's own key, with which it can pose as this end: \
                     `airlane tunnel key --client NAME` makes a key for it"
                ),
            );
        }
        tracing::debug!("a line of {name}");
        true
    }

    /// Reads the list of clients again when it has changed, and ends what those have that are none any
    /// more.
    pub(super) async fn watch(
        self: Arc<Self>,
        (runtime, warnings): (RuntimeHandle, Arc<RateLimitedLog>),
        acceptor: Arc<Acceptor>,
    ) {
        loop {
            runtime.sleep(LOOK).await;
            match self.clients.refresh() {
                Ok(gone) => {
                    for (name, peer) in gone {
                        acceptor.end_peer(peer);
                        self.begun.forget(peer);
                        tracing::info!("{name}: its key was revoked, and its lines are ended");
                    }
                }
                Err(e) => warnings.warn("clients", format_args!("the list of clients stays: {e}")),
            }
        }
    }
}
