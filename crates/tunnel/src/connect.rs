//! The connecting end: has the interfaces, and takes the applications' connections.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use airlane_base::Seed;
use airlane_multipath::{InterfaceStatus, Session, SessionLimits};
use airlane_quic::{ConnectionLimiter, IdlePermit};
use airlane_runtime::real_time::TokioRuntime;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::client_key::ClientKey;
use super::datagrams;
use super::interface_spec::InterfaceSpec;
use super::interfaces::Interfaces;
use super::key::random;
use super::listen;
use super::pump::{ByteCounts, InitialBytes, PumpError, pump, reply};
use super::quic::Congestion;
use super::request::{Reply, Target, TunnelRequest};
use super::server_address::ServerAddress;
use super::socks::{self, Command, SocksError};
use super::status::{self, CapStatus, SubflowStatus, TunnelStatus};
use super::stop::{Stop, until};
use super::usage::{self, UsageRecorder};
use crate::error::TunnelError;
use airlane_host::date;
use airlane_host::{RateLimitedLog, accept};

/// A client of SOCKS has said what it wants by then.
const ASK: Duration = Duration::from_secs(10);
/// Clients of SOCKS at once that have not: then the one that has been silent for longest goes.
const MAX_SILENT: usize = 256;
/// Bytes that it may say until then: the longest greeting and request, and what it sends ahead.
const ASK_BYTES: usize = 4096;
/// Between two looks at the interfaces.
const LOOK: Duration = Duration::from_millis(100);
/// The other end has answered by then: a target is given less.
const ANSWER: Duration = Duration::from_secs(40);

/// Target that is made available at a local address.
#[derive(Clone, Debug)]
pub struct Forward {
    /// Address that applications connect to.
    pub listen: SocketAddr,
    /// Target that the other end connects them to.
    pub target: Target,
}

/// Transport of a subflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SubflowTransport {
    /// The system's TCP.
    #[default]
    Tcp,
    /// QUIC, with congestion control by Cubic.
    Quic,
}

/// Configuration of a connecting end.
#[derive(Clone, Debug)]
pub struct TunnelClientConfig {
    /// Address of the other end.
    pub server: ServerAddress,
    /// This client's key.
    pub key: ClientKey,
    /// Interfaces or addresses that subflows leave from.
    pub interfaces: Vec<InterfaceSpec>,
    /// File with the usage of interfaces that have a cap; needed if there is one.
    pub usage: Option<PathBuf>,
    /// Transport of subflows.
    pub over: SubflowTransport,
    /// The congestion controller of subflows over QUIC.
    pub congestion: Congestion,
    /// Address at which it takes SOCKS5.
    pub socks: Option<SocketAddr>,
    /// Targets to make available at local addresses.
    pub forwards: Vec<Forward>,
    /// Address at which it shows its status over HTTP.
    pub status: Option<SocketAddr>,
    /// Limits on what it holds.
    pub bounds: SessionLimits,
}

/// A connecting end that runs.
pub struct TunnelClient {
    socks: Option<SocketAddr>,
    forwards: Vec<SocketAddr>,
    status: Option<SocketAddr>,
    shared: Arc<Shared>,
    stop: Stop,
}

impl std::fmt::Debug for TunnelClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TunnelClient")
            .field("interfaces", &self.shared.interfaces)
            .finish_non_exhaustive()
    }
}

struct Shared {
    runtime: RuntimeHandle,
    session: Session,
    warnings: Arc<RateLimitedLog>,
    passed: ByteCounts,
    datagrams: datagrams::Counts,
    connections: AtomicU64,
    refused: AtomicU64,
    interfaces: Vec<InterfaceSpec>,
    /// The account of interfaces with a cap.
    recorder: Option<Arc<UsageRecorder>>,
    permits: Arc<Semaphore>,
    /// Clients of SOCKS that have not said what they want.
    unasked: Arc<ConnectionLimiter>,
}

/// Service at a local address.
#[derive(Clone)]
enum Service {
    Socks,
    Forward(Target),
}

impl TunnelClient {
    /// Starts one on the tokio runtime of this thread. It takes connections when this returns;
    /// what they say waits for the first subflow.
    ///
    /// # Errors
    /// If an address cannot be listened at, or a path leads to no address of the server.
    pub async fn start(config: TunnelClientConfig) -> Result<Self, TunnelError> {
        let runtime = TokioRuntime::new(Seed(date::now_ms()));
        if config.key.is_shared() {
            tracing::warn!(
                "this is the serving end's own key: with it anybody can pose as that end, and as \
                 every client; `airlane tunnel key --client NAME` makes a key for this one"
            );
        }
        let mut listeners = Vec::new();
        let mut forwards = Vec::new();
        for forward in &config.forwards {
            let listener = listen::tcp(forward.listen)?;
            forwards.push(listener.local_addr().map_err(|e| listen::refused(forward.listen, &e))?);
            listeners.push((listener, Service::Forward(forward.target.clone())));
        }
        let mut socks = None;
        if let Some(at) = config.socks {
            let listener = listen::tcp(at)?;
            socks = Some(listener.local_addr().map_err(|e| listen::refused(at, &e))?);
            listeners.push((listener, Service::Socks));
        }
        let Interfaces { interfaces, recorder } = Interfaces::of(&runtime, &config)?;
        let shared = Arc::new(Shared {
            permits: Arc::new(Semaphore::new(config.bounds.max_streams_per_session)),
            session: Session::new(&runtime, random()?, interfaces, config.bounds),
            warnings: RateLimitedLog::new(runtime.clone()),
            runtime: runtime.clone(),
            passed: ByteCounts::default(),
            datagrams: datagrams::Counts::default(),
            connections: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            interfaces: config.interfaces,
            recorder,
            // Most are of this machine: its addresses need no bound of their own.
            unasked: ConnectionLimiter::new(MAX_SILENT, MAX_SILENT),
        });
        let stop = Stop::new(false);
        for (listener, service) in listeners {
            runtime.spawn("tunnel listener", until(&stop, shared.clone().take(listener, service)));
        }
        let mut status = None;
        if let Some(at) = config.status {
            let listener = listen::tcp(at)?;
            status = Some(listener.local_addr().map_err(|e| listen::refused(at, &e))?);
            let of = shared.clone();
            let figures = Arc::new(move || of.status());
            let serving = status::serve(runtime.clone(), listener, figures);
            runtime.spawn("tunnel figures", until(&stop, serving));
        }
        runtime.spawn("tunnel interfaces", until(&stop, shared.clone().tell()));
        if let Some(recorder) = &shared.recorder {
            let granting = shared.clone().grant(recorder.clone());
            runtime.spawn("tunnel usage", until(&stop, granting));
        }
        Ok(Self { socks, forwards, status, shared, stop })
    }

    /// Address at which it takes SOCKS5.
    pub fn socks(&self) -> Option<SocketAddr> {
        self.socks
    }

    /// Address at which it takes connections of each forward.
    pub fn forwards(&self) -> &[SocketAddr] {
        &self.forwards
    }

    /// Address at which it shows its status.
    pub fn status_address(&self) -> Option<SocketAddr> {
        self.status
    }

    /// Status: counts of what it has done and is doing.
    pub fn status(&self) -> TunnelStatus {
        self.shared.status()
    }

    /// Waits until the first subflow is there.
    pub async fn up(&self) {
        self.shared.session.up().await;
    }

    /// The paths with what is known of their subflows.
    pub fn interfaces(&self) -> Vec<(InterfaceSpec, InterfaceStatus)> {
        self.shared.interfaces.iter().cloned().zip(self.shared.session.interfaces()).collect()
    }

    /// Connections of applications so far.
    pub fn connections(&self) -> u64 {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// Connections of applications that are open.
    pub fn streams(&self) -> usize {
        self.shared.session.streams()
    }

    /// Ends all connections; the other end is told so.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        self.shared.session.close().await;
        if let Some(recorder) = &self.shared.recorder {
            let views = self.shared.session.interfaces();
            let all: Vec<_> = self.shared.interfaces.iter().zip(views).collect();
            let used = |name: &str| {
                let of = all.iter().find(|(interface, _)| interface.path.to_string() == name);
                of.map_or(0, |(_, view)| view.on_air_bytes)
            };
            if let Err(e) = recorder.close(used) {
                tracing::warn!("what the interfaces used is not noted down: {e}");
            }
        }
    }
}

impl Shared {
    async fn take(self: Arc<Self>, listener: TcpListener, service: Service) {
        loop {
            // Those for which there is no room wait in the system's queue.
            let Ok(permit) = self.permits.clone().acquire_owned().await else { return };
            let (connection, peer) = accept(&self.runtime, &listener, Some(&self.warnings)).await;
            self.connections.fetch_add(1, Ordering::Relaxed);
            let (shared, service) = (self.clone(), service.clone());
            self.runtime.spawn("tunnel connection", async move {
                let served = match service {
                    Service::Socks => {
                        // It has its place when it has said what it wants.
                        drop(permit);
                        match shared.unasked.acquire_idle(peer.ip()) {
                            Ok(silent) => shared.socks(connection, silent).await,
                            Err(e) => Err(io::Error::other(e).into()),
                        }
                    }
                    Service::Forward(target) => {
                        let _permit = permit;
                        shared.forward(connection, target).await
                    }
                };
                if let Err(e) = served {
                    if e.is_out_of_descriptors() {
                        let message = format_args!("a connection was not served: {e}");
                        shared.warnings.warn("descriptors", message);
                    }
                    tracing::debug!(%peer, "a connection ended: {e}");
                }
            });
        }
    }

    fn status(&self) -> TunnelStatus {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let cap = |name: &str, interface: &InterfaceStatus| {
            let usage = self.recorder.as_ref()?.usage(name, interface.on_air_bytes)?;
            let usage::Usage { cap, used_bytes, period } = usage;
            Some(CapStatus { bytes: cap.bytes, used_bytes, period })
        };
        let subflow = |(spec, interface): (&InterfaceSpec, InterfaceStatus)| SubflowStatus {
            name: spec.to_string(),
            state: state(&interface),
            cap: cap(&spec.to_string(), &interface),
            problem: interface.problem,
            sent_bytes: interface.sent_bytes,
            received_bytes: interface.received_bytes,
            rtt_s: interface.rtt.map(|rtt| rtt.as_secs_f64()),
            subflows: Some(interface.subflows),
            is_backup: spec.preference.is_backup,
            price: spec.preference.price,
            max_bps: spec.max_bps,
        };
        TunnelStatus {
            end: "connect",
            uptime_s: self.runtime.now().as_secs_f64(),
            streams: self.session.streams(),
            target_sockets: 0,
            connections_total: of(&self.connections),
            refused_total: of(&self.refused),
            into_bytes: of(&self.passed.into),
            out_bytes: of(&self.passed.out),
            datagrams_into: of(&self.datagrams.into),
            datagrams_out: of(&self.datagrams.out),
            datagrams_dropped: of(&self.datagrams.dropped),
            datagrams_refused: of(&self.datagrams.refused),
            clients: Vec::new(),
            subflows: self.interfaces.iter().zip(self.session.interfaces()).map(subflow).collect(),
            warnings: self.warnings.totals(),
        }
    }

    /// Logs what becomes of the interfaces.
    async fn tell(self: Arc<Self>) {
        let mut known: Vec<&'static str> = vec![""; self.interfaces.len()];
        loop {
            let interfaces = self.session.interfaces();
            for ((path, interface), before) in
                self.interfaces.iter().zip(interfaces).zip(&mut known)
            {
                // An interface that has not been tried yet is neither.
                let now = if interface.problem.is_empty() && !interface.is_up {
                    ""
                } else {
                    state(&interface)
                };
                if now != *before {
                    match now {
                        "down" | "spent" => tracing::info!("{path}: {now}: {}", interface.problem),
                        other => tracing::info!("{path}: {other}"),
                    }
                    *before = now;
                }
            }
            self.runtime.sleep(LOOK).await;
        }
    }

    /// Grants interfaces with a cap what is due.
    async fn grant(self: Arc<Self>, recorder: Arc<UsageRecorder>) {
        loop {
            self.runtime.sleep(usage::LOOK).await;
            let recorder = recorder.clone();
            let granting = tokio::task::spawn_blocking(move || recorder.grant(usage::now()));
            if let Ok(Err(e)) = granting.await {
                let message = format!("no more is granted to interfaces with a cap: {e}");
                self.warnings.warn("usage", &message);
            }
        }
    }

    async fn forward(&self, connection: TcpStream, target: Target) -> Result<(), PumpError> {
        let stream = self.session.open(TunnelRequest::Connect(target.clone()).encode())?;
        let beginning = InitialBytes { said: Bytes::new(), came: None };
        let pumped = pump(connection, stream, beginning, &self.passed).await;
        if let Err(PumpError::Refused(reply)) = &pumped {
            self.refused.fetch_add(1, Ordering::Relaxed);
            self.warnings.warn("refused", format_args!("{target}: {reply}"));
        }
        pumped
    }

    async fn socks(&self, mut connection: TcpStream, silent: IdlePermit) -> Result<(), PumpError> {
        let mut said = BytesMut::new();
        let asked = async {
            let command = ask(&mut connection, &mut said).await?;
            let permit = self.permits.clone().acquire_owned().await.map_err(io::Error::other)?;
            Ok::<_, io::Error>((command, permit))
        };
        let asked = tokio::select! {
            biased;
            asked = timeout(ASK, asked) => asked.map_err(|_| timed_out())?,
            () = silent.evicted() => Err(io::Error::other("it said nothing, and others came")),
        };
        let (command, _permit) = asked?;
        drop(silent);
        let request = match command {
            Command::Connect(target) => TunnelRequest::Connect(target),
            Command::Associate => TunnelRequest::Datagrams,
        };
        let opened = async {
            let stream = self.session.open(request.encode())?;
            let came = timeout(ANSWER, reply(&stream)).await.map_err(|_| timed_out())??;
            Ok((stream, came))
        };
        let (stream, came) = match opened.await {
            Ok(opened) => opened,
            Err(e) => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                let reply = if let PumpError::Refused(reply) = e { reply } else { Reply::Failed };
                connection.write_all(&socks::reply(reply, None)).await?;
                return Err(e);
            }
        };
        if request == TunnelRequest::Datagrams {
            let what = (&self.runtime, &self.datagrams);
            return datagrams::associate(connection, stream, came, what).await;
        }
        connection.write_all(&socks::reply(Reply::Done, None)).await?;
        let beginning = InitialBytes { said: said.freeze(), came: Some(came) };
        pump(connection, stream, beginning, &self.passed).await
    }
}

/// An interface's state in a word.
fn state(interface: &InterfaceStatus) -> &'static str {
    match (interface.is_up, interface.is_silent, interface.is_spent) {
        (true, false, _) => "up",
        (true, true, _) => "silent",
        (false, _, true) => "spent",
        (false, _, false) => "down",
    }
}

fn timed_out() -> io::Error {
    io::Error::from(io::ErrorKind::TimedOut)
}

/// Has a client of SOCKS say what it wants. What it sends ahead stays in `said`.
async fn ask(connection: &mut TcpStream, said: &mut BytesMut) -> io::Result<Command> {
    let asked = async {
        while !socks::greeting(said)? {
            more(connection, said).await?;
        }
        connection.write_all(&socks::GREETED).await?;
        loop {
            if let Some(command) = socks::request(said)? {
                return Ok(command);
            }
            more(connection, said).await?;
        }
    };
    let asked: Result<Command, AskError> = asked.await;
    match asked {
        Ok(command) => Ok(command),
        Err(AskError::Io(e)) => Err(e),
        Err(AskError::Socks(e)) => {
            if let Some(answer) = e.answer() {
                connection.write_all(&answer).await?;
            }
            Err(io::Error::other(e))
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum AskError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Socks(#[from] SocksError),
}

/// Reads what comes next.
async fn more(connection: &mut TcpStream, said: &mut BytesMut) -> io::Result<()> {
    let room = ASK_BYTES - said.len();
    if room == 0 {
        return Err(io::Error::other("a client of SOCKS says too much"));
    }
    match connection.take(room as u64).read_buf(said).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}
