//! The client of a session: it has the interfaces, keeps a subflow over each, and opens streams.

use std::sync::Arc;
use std::time::Duration;

use airlane_base::Time;
use airlane_runtime::{RuntimeExt, RuntimeHandle, WatchCell};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use parking_lot::{Mutex, MutexGuard};

use crate::MultipathStream;
use crate::error::MultipathError;
use crate::session::data_cap::InterfaceConfig;
use crate::session::hello::{SessionHello, SessionId, WELCOME_BYTES, incarnation};
use crate::session::limits::{SessionLimits, StreamLimits};
use crate::session::memory::MemoryPool;
use crate::session::streams::Streams;
use crate::subflow::channel::{Channels, Connect, read_first};
use crate::subflow::frame::MAX_REQUEST_BYTES;
use crate::subflow::{Subflow, SubflowConfig};

/// Interval between two attempts to connect.
pub(crate) const RETRY_INTERVAL: Duration = Duration::from_millis(250);
/// Time after which an attempt to connect is given up.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Number of attempts of an interface at once.
const MAX_ATTEMPTS: u32 = 8;
/// Time without an answer, and at least three of its least round trips, after which a subflow counts as
/// unresponsive: others are tried beside it.
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(500);
/// The same for the low-latency channel alone: each channel is a connection of its own, and one may have
/// noticed that the link is back when the other has not.
const LOW_LATENCY_RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);
/// Interval of pings on a subflow without streams.
const IDLE_PING_INTERVAL: Duration = Duration::from_secs(10);

/// Time in which the peer is told that all streams are given up.
pub(crate) const CLOSE_TIMEOUT: Duration = Duration::from_millis(200);

/// Status of an interface.
#[derive(Clone, Debug, Default)]
pub struct InterfaceStatus {
    /// True if the interface has a subflow.
    pub is_up: bool,
    /// True if the subflow is unresponsive, so that others are tried beside it.
    pub is_silent: bool,
    /// Reason for which it has no subflow, or for which the last one ended; empty if none ever failed.
    pub problem: String,
    /// Number of subflows that it has had.
    pub subflows: u64,
    /// Bytes sent on all of them.
    pub sent_bytes: u64,
    /// Bytes received on all of them.
    pub received_bytes: u64,
    /// Bytes on the air, both ways, on all of them, as far as can be told from here.
    pub on_air_bytes: u64,
    /// True if the interface is not used as its data cap is used up.
    pub is_spent: bool,
    /// Round trip of the last ping.
    pub rtt: Option<Duration>,
}

/// A session at its client. Dropped, it is given up with all of its streams.
pub struct Session {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) runtime: RuntimeHandle,
    id: SessionId,
    streams: Arc<Streams>,
    interfaces: Vec<Mutex<InterfaceState>>,
    /// The other end's incarnation, once it is known.
    incarnation: Mutex<Option<u64>>,
    over: WatchCell<bool>,
    /// Grows when something has changed that may bring an interface back.
    retries: WatchCell<u64>,
}

/// The state of an interface, without its subflow's own counts.
#[derive(Default)]
pub(crate) struct InterfaceState {
    pub(crate) view: InterfaceStatus,
    subflow: Option<Arc<Subflow>>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("interfaces", &self.shared.interfaces.len())
            .finish_non_exhaustive()
    }
}

impl Session {
    /// A session over these interfaces, 256 at most. `id` is a random number that has never been used.
    ///
    /// It connects in the background, and again whenever a subflow ends or falls silent.
    pub fn new(
        runtime: &RuntimeHandle,
        id: SessionId,
        interfaces: Vec<(Connect, InterfaceConfig)>,
        bounds: SessionLimits,
    ) -> Self {
        // As many interfaces as it was given: all are its own.
        let bounds = SessionLimits { max_subflows_per_session: interfaces.len(), ..bounds };
        let memory_pool = MemoryPool::new(bounds.max_streams, bounds.max_memory);
        let limits = StreamLimits::of(&memory_pool, &bounds);
        let streams = Streams::new(runtime.clone(), limits, None);
        let shared = Arc::new(Shared {
            runtime: runtime.clone(),
            id,
            streams,
            interfaces: interfaces.iter().map(|_| Mutex::default()).collect(),
            incarnation: Mutex::default(),
            over: WatchCell::new(false),
            retries: WatchCell::new(0),
        });
        for (number, (connect, terms)) in (0..=u8::MAX).zip(interfaces) {
            let interface = Interface { shared: shared.clone(), number, connect, terms };
            runtime.spawn("session interface", interface.run());
        }
        Self { shared }
    }

    /// Opens a stream; `request` tells the other end what it is for. What is written waits for the
    /// first subflow.
    ///
    /// # Errors
    /// If there are as many streams as there may be, or the request is too long.
    pub fn open(&self, request: Bytes) -> Result<MultipathStream, MultipathError> {
        if request.len() > MAX_REQUEST_BYTES {
            return Err(MultipathError::Protocol("a request that is too long"));
        }
        self.shared.streams.open(request)
    }

    /// Streams that are open.
    pub fn streams(&self) -> usize {
        self.shared.streams.len()
    }

    /// The interfaces, in their order.
    pub fn interfaces(&self) -> Vec<InterfaceStatus> {
        (0..self.shared.interfaces.len())
            .map(|number| self.shared.interface(number).view())
            .collect()
    }

    /// Something has changed, an address or a link say: interfaces without a subflow try at once.
    pub fn retry_now(&self) {
        self.shared.retries.update(|times| *times += 1);
    }

    /// Gives up all streams, and waits a little until the other end has been told.
    pub async fn close(&self) {
        self.shared.streams.give_up();
        self.shared.runtime.sleep(CLOSE_TIMEOUT).await;
        self.shared.over.set(true);
        self.shared.streams.end();
    }

    /// Waits until at least one subflow is there.
    pub async fn up(&self) {
        while !self.interfaces().iter().any(|interface| interface.is_up) {
            self.shared.runtime.sleep(RETRY_INTERVAL / 10).await;
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.shared.over.set(true);
        self.shared.streams.end();
    }
}

impl Shared {
    fn interface(&self, number: usize) -> MutexGuard<'_, InterfaceState> {
        self.interfaces[number].lock()
    }
}

impl InterfaceState {
    pub(crate) fn view(&self) -> InterfaceStatus {
        let mut view = self.view.clone();
        if let Some(subflow) = &self.subflow {
            let carried = subflow.counts();
            view.sent_bytes += carried.sent_bytes;
            view.received_bytes += carried.received_bytes;
            view.on_air_bytes += carried.on_air_bytes;
            view.rtt = subflow.liveness.rtt();
            view.is_up = true;
        }
        view
    }

    /// Its subflow is another, or none.
    fn set(&mut self, subflow: Option<Arc<Subflow>>) {
        self.view = InterfaceStatus { is_up: false, is_silent: false, rtt: None, ..self.view() };
        self.view.subflows += u64::from(subflow.is_some());
        self.subflow = subflow;
    }
}

/// A subflow that both ends know, and how long it took to connect.
struct OpenSubflow {
    channels: Channels,
    buffer: BytesMut,
    took: Duration,
}

pub(crate) struct Interface {
    pub(crate) shared: Arc<Shared>,
    number: u8,
    connect: Connect,
    pub(crate) terms: InterfaceConfig,
}

impl Interface {
    async fn run(self) {
        let subflows = async {
            let mut usual = Duration::ZERO;
            let mut next = None;
            loop {
                let open = match next.take() {
                    Some(open) => open,
                    None => {
                        self.has_data().await;
                        self.first_subflow(usual).await
                    }
                };
                usual = open.took;
                next = self.serve(open).await;
            }
        };
        tokio::select! {
            biased;
            () = self.shared.over.until(true) => {}
            () = subflows => {}
        }
    }

    pub(crate) fn seen(&self) -> MutexGuard<'_, InterfaceState> {
        self.shared.interface(self.number.into())
    }

    /// Serves a subflow until it ends, or until another is there that takes its place.
    async fn serve(&self, open: OpenSubflow) -> Option<OpenSubflow> {
        let OpenSubflow { channels, buffer, took } = open;
        let streams = self.shared.streams.clone();
        let known: WatchCell<Option<Arc<Subflow>>> = WatchCell::default();
        let terms = SubflowConfig {
            preference: self.terms.preference,
            max_bps: self.terms.max_bps,
            limit: self.terms.data_cap.as_ref().map(|_| 0),
            takes_credit: false,
        };
        let running = streams.run((self.number, terms), channels, buffer, |new| {
            self.seen().set(Some(new.clone()));
            known.set(Some(new.clone()));
        });
        let watching = async {
            let subflow = known.wait_for(Option::clone).await;
            tokio::select! {
                biased;
                never = self.keep_to_data_cap(&subflow) => match never {},
                open = self.replacement(&subflow, took) => open,
            }
        };
        let replaced = tokio::select! {
            biased;
            ended = running => {
                let mut seen = self.seen();
                seen.set(None);
                if !seen.view.is_spent {
                    seen.view.problem = ended.to_string();
                }
                tracing::debug!(interface = self.number, "{ended}");
                None
            }
            replacement = watching => Some(replacement),
        };
        // Dropped with its reader, it would stay open for its other tasks.
        known.with(|subflow| subflow.as_ref().map(|subflow| subflow.end()));
        if replaced.is_none() {
            self.pause(RETRY_INTERVAL).await;
        }
        replaced
    }

    /// Waits for so long, or until something has changed.
    async fn pause(&self, duration: Duration) {
        let retries = self.shared.retries.get();
        tokio::select! {
            biased;
            _ = self.shared.retries.changed_from(retries) => {}
            () = self.shared.runtime.sleep(duration) => {}
        }
    }

    /// A subflow that came up while `subflow` was unresponsive; that is pinged meanwhile. A connection
    /// over a link that is down probes at intervals that double (RFC 9002, 6.2.1; RFC 6298, 5.5), so
    /// it may notice that the link is back only after as long again.
    async fn replacement(&self, subflow: &Arc<Subflow>, took: Duration) -> OpenSubflow {
        let runtime = &self.shared.runtime;
        let mut asked = Time::ZERO;
        loop {
            let now = runtime.now();
            let is_idle = self.shared.streams.len() == 0;
            if !is_idle || now - asked >= IDLE_PING_INTERVAL {
                asked = now;
                let subflow = subflow.clone();
                runtime.spawn("session question", async move {
                    // A subflow that ends is replaced.
                    let _ = subflow.ask().await;
                });
            }
            runtime.sleep(RETRY_INTERVAL).await;
            let usual = subflow.liveness.min_rtt().map_or(took, |least| 3 * least);
            let now = runtime.now();
            let is_silent = || {
                subflow.liveness.silent_since().is_some_and(|(all, low_latency)| {
                    now - all >= RESPONSE_TIMEOUT.max(usual)
                        || now - low_latency >= LOW_LATENCY_RESPONSE_TIMEOUT.max(usual)
                })
            };
            if is_silent()
                && let Some(open) = self.another(subflow, took).await
            {
                return open;
            }
        }
    }

    /// Connects beside an unresponsive subflow until that answers twice.
    async fn another(&self, subflow: &Arc<Subflow>, took: Duration) -> Option<OpenSubflow> {
        self.seen().view.is_silent = true;
        // The low-latency channel is asked, as the bulk channel may be back long before it. One answer is
        // not enough: it may have lain in the link's queue, and nothing follows it.
        let mut heard = subflow.liveness.heard_low_latency();
        let speaks = async {
            let mut words = 0;
            while words < 2 {
                self.shared.runtime.sleep(RETRY_INTERVAL).await;
                let now = subflow.liveness.heard_low_latency();
                words = if now == heard { 0 } else { words + 1 };
                heard = now;
            }
        };
        let open = tokio::select! {
            biased;
            () = speaks => None,
            open = self.first_subflow(took) => Some(open),
        };
        self.seen().view.is_silent = false;
        open
    }

    /// Attempts one after the other, and beside each other if they take long, until one has
    /// succeeded. Only that says hello: the other end would take others for ones that replace it.
    async fn first_subflow(&self, usual: Duration) -> OpenSubflow {
        let runtime = &self.shared.runtime;
        let mut attempts = FuturesUnordered::new();
        // A connection that usually takes long is not tried again while it may be on its way.
        let pause = RETRY_INTERVAL.max(usual.min(CONNECT_TIMEOUT) * 3 / 2);
        // An attempt sends its first packet again at intervals that double. Where connecting usually takes
        // a moment, a new attempt succeeds first once the link is back, so that old ones leave room for it.
        // If none succeeds in that time, the link may have become slower: the next ones have more.
        let mut timeout = match usual.is_zero() {
            true => CONNECT_TIMEOUT,
            false => (pause * MAX_ATTEMPTS).min(CONNECT_TIMEOUT),
        };
        loop {
            if attempts.len() < MAX_ATTEMPTS as usize {
                attempts.push(self.attempt(timeout));
            }
            let until = runtime.now() + pause;
            let retries = self.shared.retries.get();
            loop {
                tokio::select! {
                    biased;
                    Some(attempt) = attempts.next() => match attempt {
                        Ok((channels, took)) => match self.join(channels, took).await {
                            Ok(open) => return open,
                            Err(e) => self.seen().view.problem = e.to_string(),
                        },
                        Err(e) => {
                            self.seen().view.problem = e.to_string();
                            timeout = (timeout * 2).min(CONNECT_TIMEOUT);
                        }
                    },
                    _ = self.shared.retries.changed_from(retries) => break,
                    () = runtime.sleep_until(until) => break,
                }
            }
        }
    }

    async fn attempt(&self, timeout: Duration) -> Result<(Channels, Duration), MultipathError> {
        let runtime = &self.shared.runtime;
        let start = runtime.now();
        let ended = runtime.sleep(timeout);
        tokio::select! {
            biased;
            channels = (self.connect)() => Ok((channels?, runtime.now() - start)),
            () = ended => {
                let seconds = timeout.as_secs_f64();
                Err(MultipathError::Io(format!("no answer for {seconds} s")))
            }
        }
    }

    /// Has the other end take the subflow into the session.
    async fn join(
        &self,
        mut channels: Channels,
        took: Duration,
    ) -> Result<OpenSubflow, MultipathError> {
        let timeout = self.shared.runtime.sleep(CONNECT_TIMEOUT);
        let InterfaceConfig { preference, max_bps, ref data_cap } = self.terms;
        let hello = SessionHello {
            session: self.shared.id,
            interface: self.number,
            preference,
            max_bps,
            credit: data_cap.as_ref().map(|_| 0),
        };
        // Streams that are opened now need not wait for the welcome.
        let first_messages = [vec![hello.encode()], self.shared.streams.new_opens()].concat();
        let mut buffer = BytesMut::new();
        let greet = async {
            channels.low_latency.sender.write(first_messages).await?;
            read_first(&mut *channels.low_latency.receiver, &mut buffer, WELCOME_BYTES).await
        };
        let welcome = tokio::select! {
            biased;
            welcome = greet => welcome?,
            () = timeout => return Err(MultipathError::Protocol("no welcome in time")),
        };
        self.meet(incarnation(&welcome)?);
        Ok(OpenSubflow { channels, buffer, took })
    }

    /// The other end is of this incarnation.
    fn meet(&self, incarnation: u64) {
        let mut known = self.shared.incarnation.lock();
        let before = known.replace(incarnation);
        if before.is_some_and(|before| before != incarnation) {
            self.shared.streams.on_restart();
        }
    }
}
