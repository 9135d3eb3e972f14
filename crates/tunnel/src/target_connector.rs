//! Connections of the serving end to targets, and what these may take of the machine.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use airlane_multipath::PeerId;
use airlane_runtime::RuntimeHandle;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::descriptors::is_out_of_descriptors;
use super::request::{Reply, Target};
use super::rules::{NotAllowed, TargetPolicy};
use airlane_host::RateLimitedLog;
use airlane_host::Resolver;
use airlane_host::happy_eyeballs::{interleave, race};
use airlane_host::{FairPermit, FairPermits};

/// Time in which the addresses of a name are to be known.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(10);
/// Sockets that connect at once at most, of all clients.
const MAX_CONNECTING: usize = 256;

/// Client that opened a stream, for its part of what all share.
pub(crate) type Holder = PeerId;

/// Permit of sockets to targets.
pub(crate) type SocketPermit = FairPermit<Holder>;

/// Connector to targets.
pub(crate) struct TargetConnector {
    runtime: RuntimeHandle,
    policy: TargetPolicy,
    /// Time in which a target is to be reached.
    pub(crate) timeout: Duration,
    resolver: Resolver<Holder>,
    connecting: Arc<FairPermits<Holder>>,
    sockets: Arc<FairPermits<Holder>>,
    warnings: Arc<RateLimitedLog>,
}

/// A connection to a target.
pub(crate) struct TargetConnection {
    pub(crate) connection: TcpStream,
    /// To be kept for as long as the connection.
    pub(crate) permit: SocketPermit,
}

/// Reason why there is no connection to a target.
#[derive(Debug)]
pub(crate) enum ConnectError {
    /// None of its addresses is allowed.
    NotAllowed(NotAllowed),
    /// It has no address, or none of those that are allowed answers.
    Failed(Reply),
}

impl TargetConnector {
    /// Connects where `policy` allows, with no more than `max_sockets` sockets at a time, each within
    /// `timeout`.
    pub(crate) fn new(
        runtime: RuntimeHandle,
        policy: TargetPolicy,
        (max_sockets, timeout): (usize, Duration),
        warnings: Arc<RateLimitedLog>,
    ) -> Self {
        Self {
            timeout,
            resolver: Resolver::system(runtime.clone()),
            runtime,
            policy,
            connecting: FairPermits::new(MAX_CONNECTING.min(max_sockets)),
            sockets: FairPermits::new(max_sockets),
            warnings,
        }
    }

    /// A connection to the first address of a target that is allowed and answers. The addresses that
    /// were checked are those that are connected to: a name may stand for others the next time.
    ///
    /// Dropped, it leaves nothing behind.
    ///
    /// # Errors
    /// If there is none in time.
    pub(crate) async fn connect(
        &self,
        holder: Holder,
        target: &Target,
    ) -> Result<TargetConnection, ConnectError> {
        let connected = timeout(self.timeout, async {
            let allowed = self.allowed(holder, target, LOOKUP_TIMEOUT).await?;
            let attempt = |address| self.attempt(holder, address);
            let connected = race(&self.runtime, &interleave(allowed), attempt).await;
            connected.map_err(|failed| ConnectError::Failed(reply_to(&failed)))
        });
        connected.await.unwrap_or(Err(ConnectError::Failed(Reply::TimedOut)))
    }

    /// The addresses of a target that are allowed, one at least.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) async fn allowed(
        &self,
        holder: Holder,
        target: &Target,
        timeout: Duration,
    ) -> Result<Vec<SocketAddr>, ConnectError> {
        let name = (target.host.as_str(), target.port);
        let found = self.resolver.addresses(holder, name, timeout).await.map_err(|e| {
            if is_out_of_descriptors(&e) {
                self.warn_of_descriptors(&e);
            }
            let is_late = e.kind() == io::ErrorKind::TimedOut;
            ConnectError::Failed(if is_late { Reply::TimedOut } else { Reply::NoHost })
        })?;
        let (mut allowed, mut why): (Vec<SocketAddr>, _) =
            (Vec::new(), ConnectError::Failed(Reply::NoHost));
        for address in found {
            match self.policy.check(target, address.ip()) {
                Ok(()) => allowed.push(address),
                Err(not_allowed) => why = ConnectError::NotAllowed(not_allowed),
            }
        }
        if allowed.is_empty() { Err(why) } else { Ok(allowed) }
    }

    async fn attempt(&self, holder: Holder, address: SocketAddr) -> io::Result<TargetConnection> {
        let _connecting = self.connecting.acquire(holder, 1).await;
        let permit = self.permit(holder, 1).await;
        let connection = TcpStream::connect(address).await.inspect_err(|e| {
            if is_out_of_descriptors(e) {
                self.warn_of_descriptors(e);
            }
        })?;
        Ok(TargetConnection { connection, permit })
    }

    /// Number of sockets to targets, those included that connect.
    pub(crate) fn sockets(&self) -> usize {
        self.sockets.taken()
    }

    /// A permit for so many sockets, when it is the client's turn.
    pub(crate) async fn permit(&self, holder: Holder, sockets: usize) -> SocketPermit {
        if let Some(permit) = self.sockets.try_acquire(holder, sockets) {
            return permit;
        }
        self.warn_of_descriptors(&"a client has as many connections to targets as it may");
        self.sockets.acquire(holder, sockets).await
    }

    /// Warns that there are no descriptors for a target.
    pub(crate) fn warn_of_descriptors(&self, problem: &dyn std::fmt::Display) {
        let message = format_args!("a target waits or is not reached: {problem}");
        self.warnings.warn("descriptors", message);
    }
}

/// Reply to a client about failures: of that of a host that answered, if one did.
fn reply_to(failed: &[io::Error]) -> Reply {
    let replies = failed.iter().map(|error| match error.kind() {
        io::ErrorKind::ConnectionRefused => Reply::Refused,
        io::ErrorKind::NetworkUnreachable => Reply::NoNetwork,
        io::ErrorKind::HostUnreachable => Reply::NoHost,
        io::ErrorKind::TimedOut => Reply::TimedOut,
        _ => Reply::Failed,
    });
    let rank = |reply: &Reply| match reply {
        Reply::Refused => 3,
        Reply::TimedOut => 2,
        Reply::NoHost => 1,
        _ => 0,
    };
    replies.max_by_key(rank).unwrap_or(Reply::Failed)
}
