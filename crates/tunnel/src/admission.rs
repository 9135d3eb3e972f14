//! Whom a serving end lets in, while it runs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::InputError;
use airlane_multipath::{PeerId, SessionServer};
use airlane_runtime::{RuntimeExt, RuntimeHandle};

use super::auth_token::{ReplayMemory, TokenVerifier};
use super::clients::Clients;
use super::key::Key;
use super::replay_log::ReplayLog;
use super::status::ConnectionCounts;
use airlane_host::RateLimitedLog;
use airlane_host::date;

/// Between two looks at the list of clients.
const LOOK: Duration = Duration::from_secs(1);

/// Configuration of the clients of a serving end.
#[derive(Clone, Debug, Default)]
pub struct AdmissionConfig {
    /// The file with its clients; without one those alone are let in who have its own key.
    pub clients: Option<PathBuf>,
    /// The folder where it notes down first packets that it has taken, so that it takes none again when
    /// it is started again. Without one it refuses, instead, those that were made before it was.
    pub state: Option<PathBuf>,
}

/// Admission of clients at a serving end.
pub(crate) struct Admission {
    pub(crate) clients: Clients,
    pub(crate) begun: ConnectionCounts,
}

impl Admission {
    /// As it is told, with what takes first packets.
    ///
    /// # Errors
    /// If the file with the clients cannot be read.
    pub(crate) fn open(
        key: &Key,
        config: AdmissionConfig,
    ) -> Result<(Arc<Self>, Arc<TokenVerifier>), InputError> {
        let clients = Clients::open(key, config.clients)?;
        let admission = Arc::new(Self { clients, begun: ConnectionCounts::default() });
        let now = date::now_ms();
        let log = config.state.map(|folder| ReplayLog::open(&folder, key.file_name(), now));
        let memory = match log {
            Some(Ok(log)) => ReplayMemory::Log(log),
            Some(Err(e)) => {
                tracing::warn!(
                    "first packets are not noted down, so those made before now are refused, and \
                     clients whose clocks are behind have to wait: {e}"
                );
                ReplayMemory::Since(now)
            }
            None => ReplayMemory::Since(now),
        };
        let verifier = Arc::new(TokenVerifier::new(admission.clone(), memory));
        Ok((admission, verifier))
    }

    /// True if a subflow of a client is served.
    pub(crate) fn admits(&self, peer: PeerId, warnings: &Arc<RateLimitedLog>) -> bool {
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
        tracing::debug!("a subflow of {name}");
        true
    }

    /// Reads the list of clients again when it has changed, and ends what those have that are none any
    /// more.
    pub(crate) async fn watch(
        self: Arc<Self>,
        (runtime, warnings): (RuntimeHandle, Arc<RateLimitedLog>),
        acceptor: Arc<SessionServer>,
    ) {
        loop {
            runtime.sleep(LOOK).await;
            match self.clients.refresh() {
                Ok(gone) => {
                    for (name, peer) in gone {
                        acceptor.end_peer(peer);
                        self.begun.forget(peer);
                        tracing::info!("{name}: its key was revoked, and its subflows are ended");
                    }
                }
                Err(e) => warnings.warn("clients", format_args!("the list of clients stays: {e}")),
            }
        }
    }
}
