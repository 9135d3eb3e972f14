//! The serving end: takes subflows, and connects to where their streams are for.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use airlane_base::Seed;
use airlane_multipath::MultipathStream;
use airlane_multipath::{AcceptedStream, Channels, SessionLimits, SessionServer};
use airlane_quic::Endpoint;
use airlane_runtime::real_time::TokioRuntime;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::Bytes;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::admission::{Admission, AdmissionConfig};
use super::datagrams;
use super::descriptors::DescriptorPlan;
use super::key::Key;
use super::listen;
use super::pump::{ByteCounts, InitialBytes, PumpError, pump};
use super::quic::{self, Congestion};
use super::request::{Reply, Target, TunnelRequest};
use super::rules::{Rules, TargetPolicy};
use super::status::{self, SubflowStatus, TunnelStatus};
use super::stop::{Stop, until};
use super::target_connector::{ConnectError, Holder, TargetConnection, TargetConnector};
use super::tcp::TcpAcceptor;
use crate::error::TunnelError;
use airlane_host::RateLimitedLog;
use airlane_host::date;
use airlane_host::host_id;

/// Time in which clients may hear that QUIC ends.
const FAREWELL: Duration = Duration::from_secs(1);

/// Configuration of a serving end.
#[derive(Clone, Debug)]
pub struct TunnelServerConfig {
    /// Addresses to listen at, over TCP and UDP.
    pub listen: Vec<SocketAddr>,
    /// Its key.
    pub key: Key,
    /// Further clients that may use it.
    pub admission: AdmissionConfig,
    /// Rules on the targets that they may be connected to.
    pub rules: Rules,
    /// The congestion controller of subflows over QUIC.
    pub congestion: Congestion,
    /// Address at which it shows its status over HTTP.
    pub status: Option<SocketAddr>,
    /// Limits on what it holds.
    pub bounds: SessionLimits,
}

/// A serving end that runs.
pub struct TunnelServer {
    addresses: Vec<SocketAddr>,
    endpoints: Vec<Arc<Endpoint>>,
    acceptor: Arc<SessionServer>,
    shared: Arc<Shared>,
    status: Option<SocketAddr>,
    stop: Stop,
}

impl std::fmt::Debug for TunnelServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TunnelServer").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}

/// State that all streams share.
struct Shared {
    admission: Arc<Admission>,
    connector: TargetConnector,
    warnings: Arc<RateLimitedLog>,
    passed: ByteCounts,
    runtime: RuntimeHandle,
    datagrams: datagrams::Counts,
    connections: AtomicU64,
    associations: AtomicU64,
    refused: AtomicU64,
}

impl TunnelServer {
    /// Starts one on the tokio runtime of this thread. It serves when this returns.
    ///
    /// # Errors
    /// If an address cannot be listened at.
    pub async fn start(config: TunnelServerConfig) -> Result<Self, TunnelError> {
        let runtime = TokioRuntime::new(Seed(date::now_ms()));
        let warnings = RateLimitedLog::new(runtime.clone());
        let granted = host_id::raise_descriptors();
        let max = config.bounds.max_descriptors.or(granted).unwrap_or(usize::MAX);
        let descriptors = DescriptorPlan::of(max);
        let (admission, verifier) = Admission::open(&config.key, config.admission)?;
        // First packets of the millisecond of the start may be refused, and nobody is to make one then.
        runtime.sleep(Duration::from_millis(2)).await;
        let shared = Arc::new(Shared {
            admission: admission.clone(),
            connector: TargetConnector::new(
                runtime.clone(),
                TargetPolicy::new(runtime.clone(), config.rules),
                (descriptors.targets, config.bounds.reach_timeout),
                warnings.clone(),
            ),
            warnings: warnings.clone(),
            passed: ByteCounts::default(),
            runtime: runtime.clone(),
            datagrams: datagrams::Counts::default(),
            connections: AtomicU64::new(0),
            associations: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        });
        let begun = {
            let (shared, runtime) = (shared.clone(), runtime.clone());
            move |opened: AcceptedStream| {
                let shared = shared.clone();
                runtime.spawn("tunnel target", async move { shared.serve(opened).await });
            }
        };
        let acceptor = SessionServer::new(runtime.clone(), config.bounds, begun);
        let tls = admission.clients.server_tls()?.server_config(&[])?;
        let stop = Stop::new(false);
        let watching =
            admission.clone().watch((runtime.clone(), warnings.clone()), acceptor.clone());
        runtime.spawn("tunnel clients", until(&stop, watching));
        let tcp = TcpAcceptor::new(
            runtime.clone(),
            verifier.clone(),
            TlsAcceptor::from(Arc::new(tls)),
            warnings.clone(),
            descriptors,
        );
        let (mut addresses, mut endpoints): (Vec<SocketAddr>, Vec<_>) = Default::default();
        for mut at in config.listen {
            if let (0, Some(first)) = (at.port(), addresses.first()) {
                at.set_port(first.port());
            }
            let opened = serve_lines(&runtime, (&acceptor, &admission), &warnings);
            // With port 0 the system's choice for TCP may be taken for UDP: it chooses again.
            let mut tries = if at.port() == 0 { 16 } else { 1 };
            let (listener, endpoint) = loop {
                let listener = listen::tcp(at)?;
                let local = listener.local_addr().map_err(|e| listen::refused(at, &e))?;
                let ways = (verifier.clone(), warnings.clone());
                match quic::serve(
                    &runtime,
                    (local, config.congestion),
                    admission.clients.server_tls()?,
                    ways,
                    opened.clone(),
                ) {
                    Ok(endpoint) => break (listener, endpoint),
                    Err(e) if tries == 1 => return Err(listen::refused(at, &e).into()),
                    Err(_) => tries -= 1,
                }
            };
            addresses.push(endpoint.local_addr());
            endpoints.push(endpoint);
            runtime.spawn("tunnel over tcp", until(&stop, tcp.clone().serve(listener, opened)));
        }
        let mut status = None;
        if let Some(at) = config.status {
            let listener = listen::tcp(at)?;
            status = Some(listener.local_addr().map_err(|e| listen::refused(at, &e))?);
            let (shared, acceptor) = (shared.clone(), acceptor.clone());
            let figures = Arc::new(move || shared.status(&acceptor));
            let serving = status::serve(runtime.clone(), listener, figures);
            runtime.spawn("tunnel figures", until(&stop, serving));
        }
        Ok(Self { addresses, endpoints, acceptor, shared, status, stop })
    }

    /// Addresses at which it listens.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Connections to targets so far.
    pub fn connections(&self) -> u64 {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// Streams that are open, of all clients.
    pub fn streams(&self) -> usize {
        self.acceptor.sessions().iter().map(|session| session.streams).sum()
    }

    /// Address at which it shows its status.
    pub fn status_address(&self) -> Option<SocketAddr> {
        self.status
    }

    /// Status: counts of what it has done and is doing.
    pub fn status(&self) -> TunnelStatus {
        self.shared.status(&self.acceptor)
    }

    /// Ends everything; clients are told so.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        self.acceptor.close().await;
        for endpoint in &self.endpoints {
            endpoint.close(0, "the server stops");
            // Clients that do not answer are not waited for.
            let _ = timeout(FAREWELL, endpoint.wait_idle()).await;
        }
    }
}

/// Serves each subflow that comes.
fn serve_lines(
    runtime: &RuntimeHandle,
    (acceptor, admission): (&Arc<SessionServer>, &Arc<Admission>),
    warnings: &Arc<RateLimitedLog>,
) -> impl Fn(Channels) + Send + Sync + Clone + 'static {
    let (runtime, acceptor) = (runtime.clone(), acceptor.clone());
    let (admission, warnings) = (admission.clone(), warnings.clone());
    move |channels| {
        if !admission.admits(channels.peer, &warnings) {
            return;
        }
        let acceptor = acceptor.clone();
        runtime.spawn("tunnel subflow", async move {
            let ended = acceptor.serve(channels).await;
            tracing::debug!("a subflow ended: {ended}");
        });
    }
}

impl Shared {
    fn status(&self, acceptor: &SessionServer) -> TunnelStatus {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let sessions = acceptor.sessions();
        let name = |peer| self.admission.clients.name(peer).unwrap_or_default();
        let subflows = sessions.iter().flat_map(|session| {
            session.subflows.iter().map(|(interface, sent_bytes, received_bytes)| SubflowStatus {
                name: format!(
                    "{} session {} interface {interface}",
                    name(session.peer),
                    session.serial
                ),
                state: "up",
                sent_bytes: *sent_bytes,
                received_bytes: *received_bytes,
                ..SubflowStatus::default()
            })
        });
        TunnelStatus {
            end: "serve",
            uptime_s: self.runtime.now().as_secs_f64(),
            streams: sessions.iter().map(|session| session.streams).sum(),
            target_sockets: self.connector.sockets(),
            connections_total: of(&self.connections) + of(&self.associations),
            refused_total: of(&self.refused),
            into_bytes: of(&self.passed.into),
            out_bytes: of(&self.passed.out),
            datagrams_into: of(&self.datagrams.into),
            datagrams_out: of(&self.datagrams.out),
            datagrams_dropped: of(&self.datagrams.dropped),
            datagrams_refused: of(&self.datagrams.refused),
            clients: self.admission.begun.status(&self.admission.clients, &sessions),
            subflows: subflows.collect(),
            warnings: self.warnings.totals(),
        }
    }

    async fn serve(&self, opened: AcceptedStream) {
        let AcceptedStream { stream, request, peer, .. } = opened;
        self.admission.begun.count(peer);
        let served = match TunnelRequest::decode(&request) {
            Some(TunnelRequest::Connect(target)) => self.connect(peer, &target, stream).await,
            Some(TunnelRequest::Datagrams) => self.relay(peer, stream).await,
            None => self.refuse(stream, Reply::UnknownCommand).await,
        };
        if let Err(e) = served {
            tracing::debug!("a connection to a target ended: {e}");
        }
    }

    async fn connect(
        &self,
        holder: Holder,
        target: &Target,
        stream: MultipathStream,
    ) -> Result<(), PumpError> {
        let reached = tokio::select! {
            biased;
            // Of a stream that is given up nothing stays.
            e = stream.failed() => return Err(e.into()),
            reached = self.connector.connect(holder, target) => reached,
        };
        let TargetConnection { connection, permit } = match reached {
            Ok(reached) => reached,
            Err(ConnectError::NotAllowed(why)) => {
                self.warnings.warn(
                    "not allowed",
                    format_args!("a client asked for {target}, which is not allowed: {why}"),
                );
                return self.refuse(stream, Reply::NotAllowed).await;
            }
            Err(ConnectError::Failed(reply)) => return self.refuse(stream, reply).await,
        };
        self.connections.fetch_add(1, Ordering::Relaxed);
        stream.write(Bytes::from_static(&[Reply::Done as u8])).await?;
        let beginning = InitialBytes { said: Bytes::new(), came: Some(Vec::new()) };
        let pumped = pump(connection, stream, beginning, &self.passed).await;
        drop(permit);
        pumped
    }

    async fn relay(&self, holder: Holder, stream: MultipathStream) -> Result<(), PumpError> {
        self.associations.fetch_add(1, Ordering::Relaxed);
        let permit = tokio::select! {
            biased;
            e = stream.failed() => return Err(e.into()),
            permit = timeout(self.connector.timeout, self.connector.permit(holder, datagrams::SOCKETS)) => permit,
        };
        let Ok(_permit) = permit else { return self.refuse(stream, Reply::TimedOut).await };
        let sockets = match datagrams::Sockets::bind() {
            Ok(sockets) => sockets,
            Err(e) => {
                self.connector.warn_of_descriptors(&e);
                return self.refuse(stream, Reply::Failed).await;
            }
        };
        stream.write(Bytes::from_static(&[Reply::Done as u8])).await?;
        datagrams::relay(
            (stream, sockets),
            (&self.connector, holder),
            (&self.runtime, &self.datagrams),
        )
        .await
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
        match timeout(self.connector.timeout, rest).await {
            Ok(ended) => Ok(ended?),
            Err(_) => Ok(()),
        }
    }
}
