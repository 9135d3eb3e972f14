//! The serving end: takes lines, and connects to where their streams are for.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use airlane_apps::multipath::MultipathStream;
use airlane_apps::multipath::trunk::{Acceptor, Bounds, Channels, Opened};
use airlane_base::{InputError, Seed};
use airlane_runtime::real_time::TokioRuntime;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::Bytes;
use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::key::Key;
use super::knock::Door;
use super::pump::{Beginning, Passed, PumpError, pump};
use super::request::{Reply, Target, TunnelRequest};
use super::rules::Rules;
use super::seldom::Seldom;
use super::tcp::TcpDoor;
use crate::date;
use crate::error::DaemonError;

/// How long it may take to reach a target, its name included.
const REACH: Duration = Duration::from_secs(15);
/// How long a stop waits for what is on its way.
const FAREWELL: Duration = Duration::from_millis(200);

/// What a serving end is told.
#[derive(Clone, Debug)]
pub struct TunnelServeRequest {
    /// Where to listen, over TCP and UDP.
    pub listen: Vec<SocketAddr>,
    /// The key that clients must have.
    pub key: Key,
    /// Where they may connect to.
    pub rules: Rules,
    /// What it holds at most.
    pub bounds: Bounds,
}

/// A serving end that runs.
pub struct TunnelServer {
    runtime: RuntimeHandle,
    addresses: Vec<SocketAddr>,
    acceptor: Arc<Acceptor>,
    shared: Arc<Shared>,
}

impl std::fmt::Debug for TunnelServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TunnelServer").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}

/// What all streams share.
struct Shared {
    rules: Rules,
    seldom: Arc<Seldom>,
    passed: Passed,
    connections: AtomicU64,
    refused: AtomicU64,
}

impl TunnelServer {
    /// Starts one on the tokio runtime of this thread. It serves when this returns.
    ///
    /// # Errors
    /// If an address cannot be listened at.
    pub async fn start(request: TunnelServeRequest) -> Result<Self, DaemonError> {
        let runtime = TokioRuntime::new(Seed(date::now_ms()));
        let seldom = Arc::new(Seldom::new(runtime.clone()));
        let shared = Arc::new(Shared {
            rules: request.rules,
            seldom: seldom.clone(),
            passed: Passed::default(),
            connections: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        });
        let begun = {
            let (shared, runtime) = (shared.clone(), runtime.clone());
            move |opened: Opened| {
                let shared = shared.clone();
                runtime.spawn("tunnel target", async move { shared.serve(opened).await });
            }
        };
        let acceptor = Acceptor::new(runtime.clone(), request.bounds, begun);
        let tls = request.key.server_tls()?.server_config(&[])?;
        let door = TcpDoor::new(
            runtime.clone(),
            Arc::new(Door::new(request.key.knock())),
            TlsAcceptor::from(Arc::new(tls)),
            seldom,
        );
        let mut addresses: Vec<SocketAddr> = Vec::new();
        for mut at in request.listen {
            if let (0, Some(first)) = (at.port(), addresses.first()) {
                at.set_port(first.port());
            }
            let refused = |e: io::Error| {
                InputError::new(
                    format!("cannot listen there: {e}"),
                    "choose another address or port",
                )
                .at_key(at.to_string())
            };
            let listener = TcpListener::bind(at).await.map_err(refused)?;
            addresses.push(listener.local_addr().map_err(refused)?);
            let opened = serve_lines(&runtime, &acceptor);
            runtime.spawn("tunnel over tcp", door.clone().serve(listener, opened));
        }
        Ok(Self { runtime, addresses, acceptor, shared })
    }

    /// Where it listens.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Connections to targets so far.
    pub fn connections(&self) -> u64 {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// Streams that are open, of all clients.
    pub fn streams(&self) -> usize {
        self.acceptor.trunks().iter().map(|trunk| trunk.streams).sum()
    }

    /// Ends everything.
    pub async fn stop(self) {
        self.acceptor.end();
        self.runtime.sleep(FAREWELL).await;
    }
}

/// Serves each line that comes.
fn serve_lines(
    runtime: &RuntimeHandle,
    acceptor: &Arc<Acceptor>,
) -> impl Fn(Channels) + Send + Sync + Clone + 'static {
    let (runtime, acceptor) = (runtime.clone(), acceptor.clone());
    move |channels| {
        let acceptor = acceptor.clone();
        runtime.spawn("tunnel line", async move {
            let ended = acceptor.serve(channels).await;
            tracing::debug!("a line ended: {ended}");
        });
    }
}

impl Shared {
    async fn serve(&self, opened: Opened) {
        let Opened { stream, request } = opened;
        let served = match TunnelRequest::decode(&request) {
            Some(TunnelRequest::Connect(target)) => self.connect(&target, stream).await,
            Some(TunnelRequest::Datagrams) | None => {
                self.refuse(stream, Reply::UnknownCommand).await
            }
        };
        if let Err(e) = served {
            tracing::debug!("a connection to a target ended: {e}");
        }
    }

    async fn connect(&self, target: &Target, stream: MultipathStream) -> Result<(), PumpError> {
        let reached = timeout(REACH, self.reach(target)).await.unwrap_or(Err(Reply::TimedOut));
        let connection = match reached {
            Ok(connection) => connection,
            Err(reply) => {
                if reply == Reply::NotAllowed {
                    let message =
                        format!("a client asked for {target}, which the rules do not allow");
                    self.seldom.warn("not allowed", &message);
                }
                return self.refuse(stream, reply).await;
            }
        };
        self.connections.fetch_add(1, Ordering::Relaxed);
        stream.write(Bytes::from_static(&[Reply::Done as u8])).await?;
        let beginning = Beginning { said: Bytes::new(), came: Some(Vec::new()) };
        pump(connection, stream, beginning, &self.passed).await
    }

    /// A connection to the first address of a target that is allowed and answers.
    async fn reach(&self, target: &Target) -> Result<TcpStream, Reply> {
        let found = lookup_host((target.host.as_str(), target.port)).await;
        let addresses: Vec<SocketAddr> = found.map_err(|_| Reply::NoHost)?.collect();
        let mut reply = if addresses.is_empty() { Reply::NoHost } else { Reply::NotAllowed };
        for address in addresses {
            // The address that was checked is the one that is connected to: a name may mean
            // another the next time.
            if !self.rules.allow(target, address.ip()) {
                continue;
            }
            match TcpStream::connect(address).await {
                Ok(connection) => return Ok(connection),
                Err(e) => reply = reply_to(&e),
            }
        }
        Err(reply)
    }

    async fn refuse(&self, stream: MultipathStream, reply: Reply) -> Result<(), PumpError> {
        self.refused.fetch_add(1, Ordering::Relaxed);
        stream.write(Bytes::copy_from_slice(&[reply as u8])).await?;
        stream.finish();
        // What the application has said is of no use; but it must hear of the refusal.
        let rest = async {
            while !stream.read().await?.is_empty() {}
            stream.over().await
        };
        // Who does not end its side by then has heard of it all the same.
        match timeout(REACH, rest).await {
            Ok(ended) => Ok(ended?),
            Err(_) => Ok(()),
        }
    }
}

/// How a client hears of a failure.
fn reply_to(error: &io::Error) -> Reply {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Reply::Refused,
        io::ErrorKind::NetworkUnreachable => Reply::NoNetwork,
        io::ErrorKind::HostUnreachable => Reply::NoHost,
        io::ErrorKind::TimedOut => Reply::TimedOut,
        _ => Reply::Failed,
    }
}
