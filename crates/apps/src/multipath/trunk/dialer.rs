//! The end that has the radios: keeps a line over each, and opens streams.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use airlane_base::Time;
use airlane_runtime::{RuntimeExt, RuntimeHandle, Watched};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use super::acceptor::Bounds;
use super::budget::Budget;
use super::channel::{Channels, LineFuture};
use super::first;
use super::frame::MAX_REQUEST_BYTES;
use super::hello::{TrunkHello, TrunkId, WELCOME_BYTES, incarnation};
use super::line::{Line, LineTerms};
use super::quota::RadioTerms;
use super::streams::{StreamLimits, Streams};
use crate::multipath::MultipathStream;
use crate::multipath::error::MultipathError;

/// Between two attempts to connect.
pub(super) const RETRY: Duration = Duration::from_millis(250);
/// An attempt takes no longer.
const CONNECT: Duration = Duration::from_secs(5);
/// Attempts of a radio at once at most.
const ATTEMPTS: u32 = 8;
/// A line that answers nothing for so long, and for three of its least round trips, may be in the
/// dark: others are tried beside it.
const SILENCE: Duration = Duration::from_millis(500);
/// So may one whose bulk channel alone speaks, if its express channel answers nothing for so long: each
/// is a connection of its own, and one may have heard of the light when the other has not.
const EXPRESS_SILENCE: Duration = Duration::from_secs(2);
/// How often the other end of an idle line is asked whether it is there.
const IDLE: Duration = Duration::from_secs(10);

/// How long the other end may take to hear that all is given up.
pub(super) const FAREWELL: Duration = Duration::from_millis(200);

/// Connects over a radio: one attempt.
pub type Connect = Box<dyn Fn() -> LineFuture + Send + Sync>;

/// A radio, as figures show it.
#[derive(Clone, Debug, Default)]
pub struct RadioView {
    /// Whether its line is there.
    pub is_up: bool,
    /// Whether that has fallen silent, so that others are tried beside it.
    pub is_silent: bool,
    /// Why it has no line, or why the last one ended; empty if it never failed.
    pub problem: String,
    /// Lines that it has had.
    pub lines: u64,
    /// Bytes sent on all of them.
    pub sent_bytes: u64,
    /// Bytes received on all of them.
    pub received_bytes: u64,
    /// Bytes on the air, both ways, on all of them, as far as can be told from here.
    pub on_air_bytes: u64,
    /// Whether it is not used since its quota is.
    pub is_spent: bool,
    /// The last round trip of a question and its answer.
    pub rtt: Option<Duration>,
}

/// A trunk at the end that has the radios. Dropped, it is given up with all of its streams.
pub struct Trunk {
    shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) runtime: RuntimeHandle,
    id: TrunkId,
    streams: Arc<Streams>,
    radios: Vec<Mutex<Seen>>,
    /// The other end's incarnation, once it is known.
    incarnation: Mutex<Option<u64>>,
    over: Watched<bool>,
    /// Grows when something has changed that may bring a radio back.
    retries: Watched<u64>,
}

/// What is known of a radio, besides its line's own figures.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) view: RadioView,
    line: Option<Arc<Line>>,
}

impl std::fmt::Debug for Trunk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trunk").field("radios", &self.shared.radios.len()).finish_non_exhaustive()
    }
}

impl Trunk {
    /// A trunk over these radios, 256 at most. `id` is a random number that has never been used.
    ///
    /// It connects in the background, and again whenever a line ends or falls silent.
    pub fn new(
        runtime: &RuntimeHandle,
        id: TrunkId,
        radios: Vec<(Connect, RadioTerms)>,
        bounds: Bounds,
    ) -> Self {
        // So many radios as it was given: none of them is a stranger's.
        let bounds = Bounds { lines_per_trunk: radios.len(), ..bounds };
        let budget = Budget::new(bounds.streams, bounds.memory);
        let limits = StreamLimits::of(&budget, &bounds);
        let streams = Streams::new(runtime.clone(), limits, None);
        let shared = Arc::new(Shared {
            runtime: runtime.clone(),
            id,
            streams,
            radios: radios.iter().map(|_| Mutex::default()).collect(),
            incarnation: Mutex::default(),
            over: Watched::new(false),
            retries: Watched::new(0),
        });
        for (number, (connect, terms)) in (0..=u8::MAX).zip(radios) {
            let radio = Radio { shared: shared.clone(), number, connect, terms };
            runtime.spawn("trunk radio", radio.run());
        }
        Self { shared }
    }

    /// Opens a stream; `request` tells the other end what it is for. What is written waits for the
    /// first line.
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

    /// The radios, in their order.
    pub fn radios(&self) -> Vec<RadioView> {
        (0..self.shared.radios.len()).map(|number| self.shared.radio(number).view()).collect()
    }

    /// Something has changed, an address or a link say: radios without a line try at once.
    pub fn retry_now(&self) {
        self.shared.retries.update(|times| *times += 1);
    }

    /// Gives up all streams, and waits a little until the other end has been told.
    pub async fn close(&self) {
        self.shared.streams.give_up();
        self.shared.runtime.sleep(FAREWELL).await;
        self.shared.over.set(true);
        self.shared.streams.end();
    }

    /// Waits until at least one line is there.
    pub async fn up(&self) {
        while !self.radios().iter().any(|radio| radio.is_up) {
            self.shared.runtime.sleep(RETRY / 10).await;
        }
    }
}

impl Drop for Trunk {
    fn drop(&mut self) {
        self.shared.over.set(true);
        self.shared.streams.end();
    }
}

impl Shared {
    fn radio(&self, number: usize) -> MutexGuard<'_, Seen> {
        self.radios[number].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    pub(super) fn view(&self) -> RadioView {
        let mut view = self.view.clone();
        if let Some(line) = &self.line {
            let carried = line.counts();
            view.sent_bytes += carried.sent_bytes;
            view.received_bytes += carried.received_bytes;
            view.on_air_bytes += carried.on_air_bytes;
            view.rtt = line.pulse.rtt();
            view.is_up = true;
        }
        view
    }

    /// Its line is another, or none.
    fn set(&mut self, line: Option<Arc<Line>>) {
        self.view = RadioView { is_up: false, is_silent: false, rtt: None, ..self.view() };
        self.view.lines += u64::from(line.is_some());
        self.line = line;
    }
}

/// A line that both ends know, and how long it took to connect.
struct OpenLine {
    channels: Channels,
    buffer: BytesMut,
    took: Duration,
}

pub(super) struct Radio {
    pub(super) shared: Arc<Shared>,
    number: u8,
    connect: Connect,
    pub(super) terms: RadioTerms,
}

impl Radio {
    async fn run(self) {
        let lines = async {
            let mut usual = Duration::ZERO;
            let mut next = None;
            loop {
                let open = match next.take() {
                    Some(open) => open,
                    None => {
                        self.has_quota().await;
                        self.first_line(usual).await
                    }
                };
                usual = open.took;
                next = self.serve(open).await;
            }
        };
        tokio::select! {
            biased;
            () = self.shared.over.until(true) => {}
            () = lines => {}
        }
    }

    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.shared.radio(self.number.into())
    }

    /// Serves a line until it ends, or until another is there that takes its place.
    async fn serve(&self, open: OpenLine) -> Option<OpenLine> {
        let OpenLine { channels, buffer, took } = open;
        let streams = self.shared.streams.clone();
        let known: Watched<Option<Arc<Line>>> = Watched::default();
        let terms = LineTerms {
            preference: self.terms.preference,
            max_bps: self.terms.max_bps,
            limit: self.terms.quota.as_ref().map(|_| 0),
            obeys: false,
        };
        let running = streams.run((self.number, terms), channels, buffer, |new| {
            self.seen().set(Some(new.clone()));
            known.set(Some(new.clone()));
        });
        let watching = async {
            let line = known.wait_for(Option::clone).await;
            tokio::select! {
                biased;
                never = self.keep_to_quota(&line) => match never {},
                open = self.replacement(&line, took) => open,
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
                tracing::debug!(radio = self.number, "{ended}");
                None
            }
            replacement = watching => Some(replacement),
        };
        // Dropped with its reader, it would stay open for its other tasks.
        known.with(|line| line.as_ref().map(|line| line.end()));
        if replaced.is_none() {
            self.pause(RETRY).await;
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

    /// A line that came up while `line` was silent, which it is asked about meanwhile. A connection
    /// in the dark probes at intervals that double (RFC 9002, 6.2.1; RFC 6298, 5.5), so it hears
    /// of the light as late as the dark was long.
    async fn replacement(&self, line: &Arc<Line>, took: Duration) -> OpenLine {
        let runtime = &self.shared.runtime;
        let mut asked = Time::ZERO;
        loop {
            let now = runtime.now();
            let is_idle = self.shared.streams.len() == 0;
            if !is_idle || now - asked >= IDLE {
                asked = now;
                let line = line.clone();
                runtime.spawn("trunk question", async move {
                    // A line that ends is replaced.
                    let _ = line.ask().await;
                });
            }
            runtime.sleep(RETRY).await;
            let usual = line.pulse.min_rtt().map_or(took, |least| 3 * least);
            let now = runtime.now();
            let is_silent = || {
                line.pulse.silent_since().is_some_and(|(all, express)| {
                    now - all >= SILENCE.max(usual) || now - express >= EXPRESS_SILENCE.max(usual)
                })
            };
            if is_silent()
                && let Some(open) = self.another(line, took).await
            {
                return open;
            }
        }
    }

    /// Connects beside a silent line until that speaks again.
    async fn another(&self, line: &Arc<Line>, took: Duration) -> Option<OpenLine> {
        self.seen().view.is_silent = true;
        // Its bulk channel may be in the light again long before the other.
        // What a dark link had queued comes at its end, and the line may then be silent again: a word is
        // not enough.
        let mut heard = line.pulse.heard_express();
        let speaks = async {
            let mut words = 0;
            while words < 2 {
                self.shared.runtime.sleep(RETRY).await;
                let now = line.pulse.heard_express();
                words = if now == heard { 0 } else { words + 1 };
                heard = now;
            }
        };
        let open = tokio::select! {
            biased;
            () = speaks => None,
            open = self.first_line(took) => Some(open),
        };
        self.seen().view.is_silent = false;
        open
    }

    /// Attempts one after the other, and beside each other if they take long, until one has
    /// succeeded. Only that says hello: the other end would take others for ones that replace it.
    async fn first_line(&self, usual: Duration) -> OpenLine {
        let runtime = &self.shared.runtime;
        let mut attempts = FuturesUnordered::new();
        // A connection that usually takes long is not tried again while it may be on its way.
        let pause = RETRY.max(usual.min(CONNECT) * 3 / 2);
        // What is sent in the dark is sent again at intervals that double: where an attempt usually takes
        // a moment, a new one hears of the light first, so that old ones are to leave room for it.
        let timeout = match usual.is_zero() {
            true => CONNECT,
            false => (pause * ATTEMPTS).min(CONNECT),
        };
        loop {
            if attempts.len() < ATTEMPTS as usize {
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
                        Err(e) => self.seen().view.problem = e.to_string(),
                    },
                    _ = self.shared.retries.changed_from(retries) => break,
                    () = runtime.sleep_until(until) => break,
                }
            }
        }
    }

    async fn attempt(&self, timeout: Duration) -> Result<(Channels, Duration), MultipathError> {
        let runtime = &self.shared.runtime;
        let begun = runtime.now();
        let ended = runtime.sleep(timeout);
        tokio::select! {
            biased;
            channels = (self.connect)() => Ok((channels?, runtime.now() - begun)),
            () = ended => {
                let seconds = timeout.as_secs_f64();
                Err(MultipathError::Io(format!("no answer for {seconds} s")))
            }
        }
    }

    /// Has the other end take the line into the trunk.
    async fn join(
        &self,
        mut channels: Channels,
        took: Duration,
    ) -> Result<OpenLine, MultipathError> {
        let timeout = self.shared.runtime.sleep(CONNECT);
        let RadioTerms { preference, max_bps, ref quota } = self.terms;
        let hello = TrunkHello {
            trunk: self.shared.id,
            radio: self.number,
            preference,
            max_bps,
            allowance: quota.as_ref().map(|_| 0),
        };
        // Streams that are opened now need not wait for the welcome.
        let first_messages = [vec![hello.encode()], self.shared.streams.new_opens()].concat();
        let mut buffer = BytesMut::new();
        let greet = async {
            channels.express.sender.write(first_messages).await?;
            first(&mut *channels.express.receiver, &mut buffer, WELCOME_BYTES).await
        };
        let welcome = tokio::select! {
            biased;
            welcome = greet => welcome?,
            () = timeout => return Err(MultipathError::Protocol("no welcome in time")),
        };
        self.meet(incarnation(&welcome)?);
        Ok(OpenLine { channels, buffer, took })
    }

    /// The other end is of this incarnation.
    fn meet(&self, incarnation: u64) {
        let mut known = self.shared.incarnation.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.replace(incarnation);
        if before.is_some_and(|before| before != incarnation) {
            self.shared.streams.on_restart();
        }
    }
}
