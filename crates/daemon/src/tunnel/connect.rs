//! The connecting end: has the radios, and takes the applications' connections.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use airlane_apps::multipath::trunk::{Bounds, RadioView, Trunk};
use airlane_base::Seed;
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
use super::key::random;
use super::listen;
use super::pump::{Beginning, Passed, PumpError, pump, reply};
use super::quic::Congestion;
use super::radio_spec::RadioSpec;
use super::radios::Radios;
use super::request::{Reply, Target, TunnelRequest};
use super::server_address::ServerAddress;
use super::socks::{self, Command, SocksError};
use super::status::{self, CapStatus, LineStatus, TunnelStatus};
use super::stop::{Stop, until};
use super::usage::{self, Keeper};
use crate::date;
use crate::error::DaemonError;
use crate::rate_limited_log::RateLimitedLog;

/// A client of SOCKS has said what it wants by then.
const ASK: Duration = Duration::from_secs(10);
/// Clients of SOCKS at once that have not: then the one that has been silent for longest goes.
const MAX_SILENT: usize = 256;
/// Bytes that it may say until then: the longest greeting and request, and what it sends ahead.
const ASK_BYTES: usize = 4096;
/// Between two looks at the radios.
const LOOK: Duration = Duration::from_millis(100);
/// The other end has answered by then: a target is given less.
const ANSWER: Duration = Duration::from_secs(40);

/// What is made available at a local address.
#[derive(Clone, Debug)]
pub struct Forward {
    /// Where applications connect to.
    pub listen: SocketAddr,
    /// Where the other end connects them to.
    pub target: Target,
}

/// What carries a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Over {
    /// The system's TCP.
    #[default]
    Tcp,
    /// QUIC, with congestion control by Cubic.
    Quic,
}

/// Configuration of a connecting end.
#[derive(Clone, Debug)]
pub struct TunnelClientConfig {
    /// Where the other end is.
    pub server: ServerAddress,
    /// This client's key.
    pub key: ClientKey,
    /// What lines leave from.
    pub radios: Vec<RadioSpec>,
    /// Where it is kept what radios with a cap have used; needed if there is one.
    pub usage: Option<PathBuf>,
    /// What carries them.
    pub over: Over,
    /// The congestion controller of lines over QUIC.
    pub congestion: Congestion,
    /// Where to take SOCKS5.
    pub socks: Option<SocketAddr>,
    /// What to make available.
    pub forwards: Vec<Forward>,
    /// Where to show figures over HTTP.
    pub status: Option<SocketAddr>,
    /// What it holds at most.
    pub bounds: Bounds,
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
        f.debug_struct("TunnelClient").field("radios", &self.shared.radios).finish_non_exhaustive()
    }
}

struct Shared {
    runtime: RuntimeHandle,
    trunk: Trunk,
    warnings: Arc<RateLimitedLog>,
    passed: Passed,
    datagrams: datagrams::Counts,
    connections: AtomicU64,
    refused: AtomicU64,
    radios: Vec<RadioSpec>,
    /// The account of radios with a cap.
    keeper: Option<Arc<Keeper>>,
    permits: Arc<Semaphore>,
    /// Clients of SOCKS that have not said what they want.
    unasked: Arc<ConnectionLimiter>,
}

/// What a local address is for.
#[derive(Clone)]
enum Service {
    Socks,
    Forward(Target),
}

impl TunnelClient {
    /// Starts one on the tokio runtime of this thread. It takes connections when this returns;
    /// what they say waits for the first line.
    ///
    /// # Errors
    /// If an address cannot be listened at, or a path leads to no address of the server.
    pub async fn start(config: TunnelClientConfig) -> Result<Self, DaemonError> {
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
        let Radios { radios, keeper } = Radios::of(&runtime, &config)?;
        let shared = Arc::new(Shared {
            trunk: Trunk::new(&runtime, random()?, radios, config.bounds),
            warnings: RateLimitedLog::new(runtime.clone()),
            runtime: runtime.clone(),
            passed: Passed::default(),
            datagrams: datagrams::Counts::default(),
            connections: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            radios: config.radios,
            keeper,
            permits: Arc::new(Semaphore::new(config.bounds.streams_per_trunk)),
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
        runtime.spawn("tunnel radios", until(&stop, shared.clone().tell()));
        if let Some(keeper) = &shared.keeper {
            let granting = shared.clone().grant(keeper.clone());
            runtime.spawn("tunnel usage", until(&stop, granting));
        }
        Ok(Self { socks, forwards, status, shared, stop })
    }

    /// Where it takes SOCKS5.
    pub fn socks(&self) -> Option<SocketAddr> {
        self.socks
    }

    /// Where it takes connections of each forward.
    pub fn forwards(&self) -> &[SocketAddr] {
        &self.forwards
    }

    /// Where it shows figures.
    pub fn status_address(&self) -> Option<SocketAddr> {
        self.status
    }

    /// What it has done and is doing.
    pub fn status(&self) -> TunnelStatus {
        self.shared.status()
    }

    /// Waits until the first line is there.
    pub async fn up(&self) {
        self.shared.trunk.up().await;
    }

    /// The paths with what is known of their lines.
    pub fn radios(&self) -> Vec<(RadioSpec, RadioView)> {
        self.shared.radios.iter().cloned().zip(self.shared.trunk.radios()).collect()
    }

    /// Connections of applications so far.
    pub fn connections(&self) -> u64 {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// Connections of applications that are open.
    pub fn streams(&self) -> usize {
        self.shared.trunk.streams()
    }

    /// Ends all connections; the other end is told so.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        self.shared.trunk.close().await;
        if let Some(keeper) = &self.shared.keeper {
            let views = self.shared.trunk.radios();
            let all: Vec<_> = self.shared.radios.iter().zip(views).collect();
            let used = |name: &str| {
                let of = all.iter().find(|(radio, _)| radio.path.to_string() == name);
                of.map_or(0, |(_, view)| view.on_air_bytes)
            };
            if let Err(e) = keeper.close(used) {
                tracing::warn!("what the radios used is not noted down: {e}");
            }
        }
    }
}

impl Shared {
    async fn take(self: Arc<Self>, listener: TcpListener, service: Service) {
        loop {
            // Those for which there is no room wait in the system's queue.
            let Ok(permit) = self.permits.clone().acquire_owned().await else { return };
            let (connection, peer) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(e) => {
                    self.warnings.warn("accept", format_args!("a connection was not taken: {e}"));
                    self.runtime.sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
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
        let cap = |name: &str, radio: &RadioView| {
            let usage = self.keeper.as_ref()?.usage(name, radio.on_air_bytes)?;
            let usage::Usage { cap, used_bytes, period } = usage;
            Some(CapStatus { bytes: cap.bytes, used_bytes, period })
        };
        let line = |(spec, radio): (&RadioSpec, RadioView)| LineStatus {
            name: spec.to_string(),
            state: state(&radio),
            cap: cap(&spec.to_string(), &radio),
            problem: radio.problem,
            sent_bytes: radio.sent_bytes,
            received_bytes: radio.received_bytes,
            rtt_s: radio.rtt.map(|rtt| rtt.as_secs_f64()),
            lines: Some(radio.lines),
            is_backup: spec.preference.is_backup,
            price: spec.preference.price,
            max_bps: spec.max_bps,
        };
        TunnelStatus {
            end: "connect",
            uptime_s: self.runtime.now().as_secs_f64(),
            streams: self.trunk.streams(),
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
            lines: self.radios.iter().zip(self.trunk.radios()).map(line).collect(),
            warnings: self.warnings.totals(),
        }
    }

    /// Logs what becomes of the radios.
    async fn tell(self: Arc<Self>) {
        let mut known: Vec<&'static str> = vec![""; self.radios.len()];
        loop {
            let radios = self.trunk.radios();
            for ((path, radio), before) in self.radios.iter().zip(radios).zip(&mut known) {
                // A radio that has not been tried yet is neither.
                let now = if radio.problem.is_empty() && !radio.is_up { "" } else { state(&radio) };
                if now != *before {
                    match now {
                        "down" | "spent" => tracing::info!("{path}: {now}: {}", radio.problem),
                        other => tracing::info!("{path}: {other}"),
                    }
                    *before = now;
                }
            }
            self.runtime.sleep(LOOK).await;
        }
    }

    /// Grants radios with a cap what is due.
    async fn grant(self: Arc<Self>, keeper: Arc<Keeper>) {
        loop {
            self.runtime.sleep(usage::LOOK).await;
            let keeper = keeper.clone();
            let granting = tokio::task::spawn_blocking(move || keeper.grant(usage::now()));
            if let Ok(Err(e)) = granting.await {
                let message = format!("no more is granted to radios with a cap: {e}");
                self.warnings.warn("usage", &message);
            }
        }
    }

    async fn forward(&self, connection: TcpStream, target: Target) -> Result<(), PumpError> {
        let stream = self.trunk.open(TunnelRequest::Connect(target.clone()).encode())?;
        let beginning = Beginning { said: Bytes::new(), came: None };
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
            let stream = self.trunk.open(request.encode())?;
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
        let beginning = Beginning { said: said.freeze(), came: Some(came) };
        pump(connection, stream, beginning, &self.passed).await
    }
}

/// A radio's state in a word.
fn state(radio: &RadioView) -> &'static str {
    match (radio.is_up, radio.is_silent, radio.is_spent) {
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
