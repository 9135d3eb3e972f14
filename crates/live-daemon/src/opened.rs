//! Sessions with a sender, at whichever of its addresses answers first.

use std::net::SocketAddr;
use std::time::Duration;

use airlane_base::InputError;
use airlane_live::LiveError;
use airlane_live::media_path::{MediaPath, MediaPaths};
use airlane_live::wire::Answer;
use airlane_quic::{Connection, Endpoint, Tls};
use airlane_runtime::RuntimeHandle;
use tokio::net::lookup_host;

use super::{path, paths, transport};
use crate::DaemonError;
use airlane_host::happy_eyeballs::{interleave, race};

/// Silence of a sender after which it is asked whether it is there. So a NAT or a relay that was
/// restarted, and the sender behind it, hear soon where this end is.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_millis(250);

/// A sender as it was asked for.
#[derive(Clone, Debug)]
pub(super) struct Peer {
    pub(super) runtime: RuntimeHandle,
    /// `HOST:PORT`.
    pub(super) server: String,
    /// Accept any certificate.
    pub(super) insecure: bool,
}

/// A session with it, over a socket of its own.
pub(super) struct Opened {
    pub(super) path: MediaPath,
    pub(super) connection: Connection,
    pub(super) answer: Answer,
    _paths: MediaPaths,
    pub(super) endpoint: Endpoint,
}

impl Peer {
    /// Says what is wrong with its name.
    pub(super) fn check(&self) -> Result<(), InputError> {
        let port = self.server.rsplit_once(':').filter(|(host, _)| !host.is_empty());
        if port.is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
            return Ok(());
        }
        let expected = "expected HOST:PORT of a sender, such as 127.0.0.1:4435";
        Err(InputError::new(format!("found \"{}\"", self.server), expected))
    }

    /// The name that its certificate should have.
    fn host(&self) -> &str {
        let host = self.server.rsplit_once(':').map_or("", |(host, _)| host);
        host.trim_start_matches('[').trim_end_matches(']')
    }

    /// Opens a session at the first address of the name that answers (RFC 8305). The name is looked up
    /// each time.
    pub(super) async fn open(&self) -> Result<Opened, DaemonError> {
        let found = lookup_host(&self.server).await;
        let found = found.map_err(|e| DaemonError::Unreachable(format!("{}: {e}", self.server)))?;
        let addresses = interleave(found);
        match race(&self.runtime, &addresses, |address| self.open_at(address)).await {
            Ok(opened) => Ok(opened),
            Err(mut reasons) if reasons.len() == 1 => Err(reasons.remove(0).1),
            Err(reasons) if reasons.is_empty() => {
                Err(DaemonError::Unreachable(format!("{}: no address", self.server)))
            }
            Err(reasons) => {
                let each = reasons.iter().map(|(address, why)| format!("{address}: {why}"));
                let each = each.collect::<Vec<_>>().join("; ");
                Err(DaemonError::Unreachable(format!("{} does not answer: {each}", self.server)))
            }
        }
    }

    async fn open_at(&self, address: SocketAddr) -> Result<Opened, (SocketAddr, DaemonError)> {
        self.try_open(address).await.map_err(|why| (address, why))
    }

    async fn try_open(&self, address: SocketAddr) -> Result<Opened, DaemonError> {
        let any = match address {
            SocketAddr::V4(_) => SocketAddr::from(([0, 0, 0, 0], 0)),
            SocketAddr::V6(_) => SocketAddr::from(([0_u16; 8], 0)),
        };
        let tls = Tls { identity: None, trust: airlane_certificate::trust(self.insecure) };
        let endpoint = Endpoint::client(&self.runtime, any, transport(tls))?;
        let paths = paths(&endpoint, 1)?;
        let connection = endpoint.connect(address, self.host()).await?;
        let config = path(Some(KEEP_ALIVE_INTERVAL));
        let asked = paths.connect(&connection, &config, &b""[..]);
        let (path, answer) = asked.await.map_err(LiveError::from)?;
        let answer = Answer::decode(&answer)?;
        Ok(Opened { path, connection, answer, _paths: paths, endpoint })
    }
}

impl Opened {
    /// Ends the session, which another has taken the place of.
    pub(super) fn leave(self) {
        self.connection.close(crate::ENDED, "watched elsewhere");
    }
}
