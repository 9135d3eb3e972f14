//! A subflow as all tasks share that use it.

mod receive;

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;

use airlane_base::Time;
use airlane_fbdt::Preference;
use airlane_quic::ControlHandle;
use airlane_runtime::{RuntimeHandle, WatchCell};
use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Mutex as AsyncMutex, MutexGuard as AsyncMutexGuard};

use crate::engine::Outgoing;
use crate::error::{MultipathError, Reason};
use crate::stream::shared::{Attached, PathKey, Shared};
use crate::subflow::channel::ChannelSender;
use crate::subflow::frame::{Body, HEADER_BYTES, SubflowFrame, control_header, data_header};
use crate::subflow::liveness::Liveness;
use crate::subflow::meter::{Meter, on_air};
use crate::subflow::outbox::Outbox;
use crate::terms::Terms;

/// Bytes of a stream that go out in one turn on the bulk channel. Then another's turn comes.
const TURN_BYTES: u64 = 64 << 10;

/// Length below which a write or a frame alone counts as a packet of its own, bytes.
const SMALL_BYTES: usize = 1400;
/// Cost of such a packet besides its content, bytes: headers, and the packet that acknowledges it.
const SMALL_COST: u64 = 120;
/// Cost of connecting, bytes: two handshakes with certificates.
const CONNECT_COST: u64 = 8 << 10;

/// Counts of a subflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SubflowCounts {
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
    /// Bytes on the air, both ways, as far as can be told from here.
    pub(crate) on_air_bytes: u64,
}

/// Configuration of a subflow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SubflowConfig {
    pub(crate) preference: Preference,
    /// Rate limit of this end, bit/s.
    pub(crate) max_bps: Option<u64>,
    /// Credit of this end, bytes.
    pub(crate) limit: Option<u64>,
    /// True if this end obeys credit that the other gives: the server does.
    pub(crate) takes_credit: bool,
}

/// The sending ends of a subflow's channels.
pub(crate) struct Senders {
    pub(crate) low_latency: Box<dyn ChannelSender>,
    pub(crate) bulk: Box<dyn ChannelSender>,
    /// The congestion control of the bulk channel's connection, where that is ours.
    pub(crate) control: Option<ControlHandle>,
}

/// A subflow, shared by all tasks that use it.
pub(crate) struct Subflow {
    pub(crate) runtime: RuntimeHandle,
    pub(crate) interface: u8,
    /// Serial number in the session: no other subflow has it.
    pub(crate) serial: u64,
    pub(crate) preference: Preference,
    takes_credit: bool,
    pub(crate) meter: Meter,
    low_latency: AsyncMutex<Box<dyn ChannelSender>>,
    bulk: AsyncMutex<Box<dyn ChannelSender>>,
    /// The congestion control of the bulk channel's connection, where that is ours.
    pub(crate) control: Option<ControlHandle>,
    over: WatchCell<bool>,
    /// The other end's last question, and how many there were.
    question: WatchCell<(u64, u64)>,
    /// Frames that wait for the low-latency channel.
    outbox: Outbox,
    /// The streams that it carries.
    carried: Mutex<BTreeMap<u32, (Shared, PathKey)>>,
    pub(crate) sent_bytes: AtomicU64,
    pub(crate) received_bytes: AtomicU64,
    /// Writes and frames that were a packet of their own.
    small: AtomicU64,
    is_unresponsive: AtomicBool,
    pub(crate) liveness: Liveness,
}

/// A frame about a stream that the session has to act on.
pub(crate) enum StreamRequest {
    /// The stream is to be carried.
    Open { stream: u32, terms: Terms, request: Bytes },
    /// The other end carries the stream.
    Accept { stream: u32, terms: Terms },
    /// The other end gives the stream up.
    Reset { stream: u32, reason: Reason },
    /// The peer broke the protocol on the stream, which this end has given up.
    Broken { stream: u32 },
}

impl Subflow {
    /// A subflow of `interface`, the session's subflow with the number `serial`.
    pub(crate) fn new(
        runtime: RuntimeHandle,
        (interface, serial): (u8, u64),
        terms: SubflowConfig,
        senders: Senders,
    ) -> Arc<Self> {
        let heard = runtime.now();
        Arc::new(Self {
            preference: terms.preference,
            takes_credit: terms.takes_credit,
            meter: Meter::new(heard, terms.max_bps, terms.limit),
            small: AtomicU64::new(0),
            is_unresponsive: AtomicBool::new(false),
            runtime,
            interface,
            serial,
            low_latency: AsyncMutex::new(senders.low_latency),
            bulk: AsyncMutex::new(senders.bulk),
            control: senders.control,
            over: WatchCell::new(false),
            question: WatchCell::default(),
            outbox: Outbox::default(),
            carried: Mutex::default(),
            sent_bytes: AtomicU64::new(0),
            received_bytes: AtomicU64::new(0),
            liveness: Liveness::new(heard),
        })
    }

    fn carried(&self) -> MutexGuard<'_, BTreeMap<u32, (Shared, PathKey)>> {
        self.carried.lock()
    }

    pub(crate) fn counts(&self) -> SubflowCounts {
        let received_bytes = self.received_bytes.load(Ordering::Relaxed);
        let small = self.small.load(Ordering::Relaxed);
        SubflowCounts {
            sent_bytes: self.sent_bytes.load(Ordering::Relaxed),
            received_bytes,
            on_air_bytes: CONNECT_COST
                + on_air(self.meter.sent() + received_bytes)
                + small * SMALL_COST,
        }
    }

    /// Tells the streams whether the other end is heard.
    pub(crate) fn set_unresponsive(&self, is_unresponsive: bool) {
        if self.is_unresponsive.swap(is_unresponsive, Ordering::Relaxed) != is_unresponsive {
            let carried: Vec<_> = self.carried().values().cloned().collect();
            for (shared, key) in carried {
                shared.set_unresponsive(key, is_unresponsive);
            }
        }
    }

    /// True if the other end is not heard.
    pub(crate) fn is_unresponsive(&self) -> bool {
        self.is_unresponsive.load(Ordering::Relaxed)
    }

    /// True if the subflow carries a stream.
    pub(crate) fn is_in_use(&self) -> bool {
        !self.carried().is_empty()
    }

    /// The subflow is no more: all that use it end.
    pub(crate) fn end(&self) {
        self.over.set(true);
    }

    /// Waits until it is no more.
    pub(crate) async fn ended(&self) {
        self.over.until(true).await;
    }

    /// Asks the other end whether it is there, if no question is open.
    pub(crate) async fn ask(&self) -> Result<(), MultipathError> {
        let Some(number) = self.liveness.ask(self.runtime.now()) else { return Ok(()) };
        self.say(0, Body::Ping(number)).await
    }

    /// Answers the other end's questions until the subflow ends. Who reads must not wait until it can
    /// write: both ends might, for each other.
    pub(crate) async fn answer(self: Arc<Self>) {
        let _ends = EndsSubflow(&self);
        let answers = async {
            let mut question = self.question.get();
            loop {
                question = self.question.changed_from(question).await;
                let (number, _) = question;
                if self.say(0, Body::Pong(number)).await.is_err() {
                    return;
                }
            }
        };
        tokio::select! {
            biased;
            () = self.ended() => {}
            () = answers => {}
        }
    }

    /// Has a frame sent over the low-latency channel when that takes it.
    pub(crate) fn post(&self, stream: u32, body: Body) {
        self.post_frames(SubflowFrame { stream, body }.encode());
    }

    fn post_frames(&self, frames: Bytes) {
        if self.outbox.push(frames).is_err() {
            tracing::debug!(
                interface = self.interface,
                "a subflow ends whose other end reads no answers"
            );
            self.end();
        }
    }

    /// Sends what was posted until the subflow ends. Who reads must not wait until it can write: both
    /// ends might, for each other.
    pub(crate) async fn send_posted(self: Arc<Self>) {
        let _ends = EndsSubflow(&self);
        loop {
            let batch = tokio::select! {
                biased;
                () = self.ended() => return,
                batch = self.outbox.next() => batch,
            };
            if self.write(&self.low_latency, vec![batch]).await.is_err() {
                return;
            }
        }
    }

    /// Sends a frame over the low-latency channel.
    ///
    /// Once started, it is to be waited for: see [`Whole`].
    pub(crate) async fn say(&self, stream: u32, body: Body) -> Result<(), MultipathError> {
        let frame = SubflowFrame { stream, body }.encode();
        self.write(&self.low_latency, vec![frame]).await
    }

    async fn write(
        &self,
        to: &AsyncMutex<Box<dyn ChannelSender>>,
        pieces: Vec<Bytes>,
    ) -> Result<(), MultipathError> {
        let mut to = to.lock().await;
        self.meter.add(pieces.iter().map(|piece| piece.len() as u64).sum());
        self.write_to(&mut **to, pieces).await
    }

    /// The sending end of a channel when it is `shared`'s turn. The wait ends with the stream: of one
    /// that the other end opened, gave up and reads no answer to nothing must be left.
    async fn turn<'a>(
        &self,
        channel: &'a AsyncMutex<Box<dyn ChannelSender>>,
        shared: &Shared,
    ) -> Result<AsyncMutexGuard<'a, Box<dyn ChannelSender>>, MultipathError> {
        if let Ok(to) = channel.try_lock() {
            return Ok(to);
        }
        tokio::select! {
            biased;
            () = self.ended() => Err(MultipathError::Ended),
            e = poll_fn(|cx| shared.poll_failed(cx)) => Err(e),
            to = channel.lock() => Ok(to),
        }
    }

    /// Sends frames of a stream over the low-latency channel.
    async fn tell(&self, shared: &Shared, frames: Bytes) -> Result<(), MultipathError> {
        let mut to = self.turn(&self.low_latency, shared).await?;
        self.meter.add(frames.len() as u64);
        self.write_to(&mut **to, vec![frames]).await
    }

    async fn write_to(
        &self,
        to: &mut dyn ChannelSender,
        pieces: Vec<Bytes>,
    ) -> Result<(), MultipathError> {
        let bytes: usize = pieces.iter().map(Bytes::len).sum();
        let mut whole = Whole { subflow: self, is_whole: false };
        tokio::select! {
            biased;
            () = self.ended() => return Err(MultipathError::Ended),
            written = to.write(pieces) => written?,
        }
        whole.is_whole = true;
        drop(whole);
        if bytes < SMALL_BYTES {
            self.small.fetch_add(1, Ordering::Relaxed);
        }
        self.sent_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Adds a stream: what comes for it is passed on to it from now on.
    pub(crate) fn add(&self, stream: u32, attached: &Attached) {
        self.carried().insert(stream, (attached.shared().clone(), attached.key()));
        if self.is_unresponsive() {
            attached.shared().set_unresponsive(attached.key(), true);
        }
    }

    /// Carries the stream as `attached` until it is over or the subflow ends. `accepted` is what the
    /// other end must hear on a channel before it hears of the stream there.
    pub(crate) async fn carry(
        self: Arc<Self>,
        stream: u32,
        attached: Attached,
        accepted: Option<Terms>,
    ) {
        let (shared, key) = (attached.shared().clone(), attached.key());
        // Before anything else goes out on the low-latency channel: the other end takes nothing of a
        // stream that it does not know to be carried.
        let told = match accepted {
            Some(terms) => {
                let accept = SubflowFrame { stream, body: Body::Accept(terms) };
                self.tell(&shared, accept.encode()).await
            }
            None => Ok(()),
        };
        if told.is_ok() {
            // Each comes to its own end, for a write that is started must not be given up: see
            // [`Whole`].
            let ended = tokio::join!(
                self.send_segments(stream, &shared, key, accepted),
                self.send_control(stream, &shared, key),
            );
            if let Err(e) = ended.0.and(ended.1) {
                tracing::debug!(interface = self.interface, stream, "{e}");
            }
        }
        self.carried().remove(&stream);
        drop(attached);
    }

    async fn send_segments(
        &self,
        stream: u32,
        shared: &Shared,
        key: PathKey,
        mut accepted: Option<Terms>,
    ) -> Result<(), MultipathError> {
        let mut timer = self.runtime.timer(Time::FAR_FUTURE);
        let mut refill = self.runtime.timer(Time::FAR_FUTURE);
        while !is_over(shared).await? {
            let is_light = shared.is_light();
            let channel = if is_light { &self.low_latency } else { &self.bulk };
            // The turn first, then the segment: one that waits for its turn could have gone over
            // another subflow.
            let mut to = self.turn(channel, shared).await?;
            let (now, asks) = (self.runtime.now(), (is_light, TURN_BYTES));
            let turn = poll_fn(|cx| Poll::Ready(self.meter.poll_turn(cx, now, &mut refill, asks)));
            let Poll::Ready(mut turn) = turn.await else {
                drop(to);
                tokio::select! {
                    biased;
                    () = self.ended() => return Err(MultipathError::Ended),
                    () = woken() => continue,
                }
            };
            let mut pieces = Vec::new();
            let mut bytes = 0;
            while bytes < turn.bytes {
                let next = poll_fn(|cx| Poll::Ready(shared.poll_segment(cx, key, &mut timer)));
                let Poll::Ready(next) = next.await else { break };
                let Outgoing { frame, ends_turn, .. } = next?;
                let whole = (HEADER_BYTES + frame.len()) as u64;
                turn.spend(whole);
                bytes += whole;
                pieces.push(data_header(stream, frame.len()));
                pieces.push(frame);
                if is_light || ends_turn {
                    break;
                }
            }
            drop(turn);
            if pieces.is_empty() {
                drop(to);
                tokio::select! {
                    biased;
                    () = self.ended() => return Err(MultipathError::Ended),
                    () = woken() => continue,
                }
            }
            if !is_light && let Some(terms) = accepted.take() {
                pieces.insert(0, SubflowFrame { stream, body: Body::Accept(terms) }.encode());
            }
            self.write_to(&mut **to, pieces).await?;
        }
        Ok(())
    }

    /// Ends when the stream is over and the other end has been told all there is to tell.
    async fn send_control(
        &self,
        stream: u32,
        shared: &Shared,
        key: PathKey,
    ) -> Result<(), MultipathError> {
        let mut timer = self.runtime.timer(Time::FAR_FUTURE);
        loop {
            let next = poll_fn(|cx| Poll::Ready(shared.poll_control(cx, key, &mut timer)));
            match next.await {
                Poll::Ready(frame) => self.tell(shared, control(stream, &frame?)).await?,
                Poll::Pending if is_over(shared).await? => return Ok(()),
                Poll::Pending => tokio::select! {
                    biased;
                    () = self.ended() => return Err(MultipathError::Ended),
                    () = woken() => {}
                },
            }
        }
    }

    /// Tells the other end once more of the end of a stream, with what it must hear first if that is to
    /// be accepted.
    pub(crate) fn post_end(&self, stream: u32, accepted: Option<Terms>, frames: &[u8]) {
        let accept =
            accepted.map(|terms| SubflowFrame { stream, body: Body::Accept(terms) }.encode());
        let told = [accept.unwrap_or_default(), control(stream, frames)].concat();
        self.post_frames(told.into());
    }
}

/// The frame with frames of a stream that are no segments.
fn control(stream: u32, frames: &[u8]) -> Bytes {
    [&control_header(stream, frames.len())[..], frames].concat().into()
}

/// True if the stream is over; if not, the task is woken when it is.
async fn is_over(shared: &Shared) -> Result<bool, MultipathError> {
    poll_fn(|cx| match shared.poll_over(cx) {
        Poll::Ready(over) => Poll::Ready(over.map(|()| true)),
        Poll::Pending => Poll::Ready(Ok(false)),
    })
    .await
}

/// Ends the subflow if what is written to a channel stays a part, as the task that writes was dropped
/// or the connection failed: nobody could make sense of what would follow.
struct Whole<'a> {
    subflow: &'a Subflow,
    is_whole: bool,
}

impl Drop for Whole<'_> {
    fn drop(&mut self) {
        if !self.is_whole {
            self.subflow.end();
        }
    }
}

/// Ends the subflow with a task that it cannot be without, however that ends: by a panic, too.
struct EndsSubflow<'a>(&'a Subflow);

impl Drop for EndsSubflow<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Ends when the task is woken for the first time.
async fn woken() {
    let mut is_first = true;
    poll_fn(|_| if std::mem::take(&mut is_first) { Poll::Pending } else { Poll::Ready(()) }).await;
}
