//! noq's side of the adapter: implements noq's controller trait, and drives a [`SendState`] by it.
//!
//! noq 1.4.0 owns one controller per path and reports packets to it. Its interface and its
//! behaviour make the following necessary:
//!
//! - **Which packets.** noq reports a packet's number and size and not its packet number space,
//!   while Initial, Handshake and 1-RTT packets of the first path are each numbered from zero. The
//!   key that seals a packet notes its space ([`Seal`]) just before noq reports the packet, and
//!   only 1-RTT packets are passed on. Acknowledgements and losses are matched by number, size and,
//!   where noq reports it, time of sending.
//! - **MTU probes** are reported when they are sent and not when they are lost: none is passed on.
//! - **Bytes in flight.** noq discards Initial and Handshake packets with their keys and does not
//!   report it. After each acknowledgement noq's own sum, which it reports then, replaces ours.
//! - **Since when data waits.** noq reads the window exactly when it has data to send, so the first
//!   read is when the data began to wait. Nothing else may call `window` of the adapter: that would
//!   falsify this measure.
//! - **Pacing.** noq's pacer sends bursts of ten packets and cannot be configured. noq reads
//!   `metrics` only in order to pace; an unlimited window and no rate there turn its pacer off.
//!   While our pacer holds a packet, noq reads a window of zero, and the driver returns to the
//!   connection when the packet may leave ([`Shared::wake`]).
//! - **No lock for reads.** noq reads the window several times per packet: the window and the time
//!   until which the pacer holds packets (the gate) are published in atomics whenever they may have
//!   changed.
//! - **Paths.** For a path unlike any before, noq asks the factory for a new controller; where only
//!   a port changed, it clones the controller that it has. It keeps the old controller until the
//!   new path is validated, and returns to it if validation fails. Each adapter is therefore one
//!   path of the [`SendState`], which is closed when noq drops the adapter. noq does not report
//!   acknowledgements of packets sent on a path that it has left.
//! - **Acknowledgements behind a full window.** While data waits for the window or the pacer, noq sends no
//!   acknowledgements either, though these are not congestion-controlled (RFC 9002, section 7). Two ends that both
//!   send, and whose windows are full after an outage, would wait for each other until a probe timeout, which may
//!   have grown to many seconds. So where the peer has waited for [`MAX_HELD_ACK`], one packet is let through,
//!   which carries the acknowledgement. It carries data too: at the 25 ms that RFC 9000 has for acknowledgements,
//!   flows that recover from a loss would send beyond their windows.
//! - **Marks** (ECN-CE) come as congestion events, of any packet number space and without the
//!   number of packets. A controller that has to know it hears of marks by the counts that the keys read ([`Seal`]);
//!   noq knows ECT(0) only, and takes packets that left with ECT(1) for a sign that the path changes code points.
//!
//! [`SendState`]: airlane_congestion::SendState

use std::any::Any;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use airlane_base::{Seed, Time};
use airlane_congestion::{Acked, Controller, InFlight, PathId};
use noq_proto::RttEstimator;
use noq_proto::congestion::{self, ControllerMetrics};
use parking_lot::Mutex;

use super::core::Core;
use crate::clock::Clock;
use crate::config::{ControllerFactory, NewController};
use crate::crypto::Seal;
use crate::qlog;

/// Makes the adapters of one connection.
pub(crate) struct Factory {
    pub(crate) shared: Arc<Shared>,
    pub(crate) make: ControllerFactory,
    pub(crate) seed: Seed,
    /// The first path's controller, made beforehand: noq asks for it while it changes its table of
    /// all connections, which a panic in the factory would leave inconsistent.
    pub(crate) first: Mutex<Option<Box<dyn Controller>>>,
    /// Target of the qlog, if there is one.
    pub(crate) qlog: Option<qlog::Target>,
}

impl congestion::ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn congestion::Controller> {
        let now = self.shared.clock.time(now);
        let payload_bytes = current_mtu.into();
        self.shared.set_payload_bytes(payload_bytes);
        let first = self.first.lock().take();
        let controller = first.unwrap_or_else(|| {
            self.make.make(NewController { now, payload_bytes, seed: self.seed })
        });
        let mut core = self.shared.core.lock();
        let core = core.get_or_insert_with(|| {
            Core::new(now, self.qlog.as_ref().and_then(|q| q.open(now, &*controller)))
        });
        let path = core.open(now, controller, payload_bytes);
        self.shared.publish(core);
        Box::new(Adapter::new(self.shared.clone(), path))
    }
}

/// Longest time that a peer waits for an acknowledgement while data waits for window or pacer: the first probe
/// timeout where no round trip is known (RFC 9002, section 6.2.2), for which no window is closed without an outage.
const MAX_HELD_ACK: Duration = Duration::from_millis(999);

/// Stands for "none" in the atomics with times.
const NONE: u64 = u64::MAX;

/// A connection, as its controller's handles reach it.
pub(crate) trait ControlledLink: Send + Sync {
    /// The peer's address.
    fn remote(&self) -> Option<SocketAddr>;
    /// Has the driver look at the connection.
    fn wake(&self);
    /// A handle's panic ends the connection: `what` is why.
    fn fail(&self, what: &str);
}

/// State shared by a connection's adapters (owned by noq), its handles (owned by roles) and the
/// driver.
pub(crate) struct Shared {
    /// `None` until noq opens the first path.
    pub(super) core: Mutex<Option<Core>>,
    clock: Arc<Clock>,
    /// Tells 1-RTT packets from others when they are sent.
    pub(crate) seal: Arc<Seal>,
    /// UDP payload of a full packet.
    payload_bytes: AtomicU64,
    /// The window of the path that noq sends on, in bytes.
    window: AtomicU64,
    /// Until when the pacer holds packets that the window would allow, in nanoseconds.
    gate: AtomicU64,
    /// Time at which the driver must return to send the packet that the pacer holds, in
    /// nanoseconds; [`NONE`] if the pacer holds none.
    wake: AtomicU64,
    /// Since when data waits to be sent, in nanoseconds: when noq first read the window after data
    /// was sent last. [`NONE`] if it has not.
    waiting_since: AtomicU64,
    /// Since when the peer waits for an acknowledgement: when a packet that asks for one was received first
    /// after a datagram was sent last, in nanoseconds. [`NONE`] if it does not.
    ack_owed_since: AtomicU64,
    /// Datagrams received with the mark (ECN-CE).
    marks: AtomicU64,
    /// Packets leave with ECT(1).
    sends_ect1: AtomicBool,
    /// The connection, which handles wake after a signal.
    pub(super) link: OnceLock<Weak<dyn ControlledLink>>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("core", &self.core).finish_non_exhaustive()
    }
}

impl Shared {
    pub(crate) fn new(clock: Arc<Clock>, payload_bytes: u64) -> Self {
        Self {
            core: Mutex::new(None),
            clock,
            seal: Arc::default(),
            payload_bytes: AtomicU64::new(payload_bytes),
            window: AtomicU64::new(payload_bytes),
            gate: AtomicU64::new(0),
            wake: AtomicU64::new(NONE),
            waiting_since: AtomicU64::new(NONE),
            ack_owed_since: AtomicU64::new(NONE),
            marks: AtomicU64::new(0),
            sends_ect1: AtomicBool::new(false),
            link: OnceLock::new(),
        }
    }

    /// Sets the connection that handles wake after a signal.
    pub(crate) fn attach(&self, link: Weak<dyn ControlledLink>) {
        let _ = self.link.set(link);
    }

    fn payload_bytes(&self) -> u64 {
        self.payload_bytes.load(Ordering::Relaxed)
    }

    fn set_payload_bytes(&self, bytes: u64) {
        self.payload_bytes.store(bytes, Ordering::Relaxed);
    }

    /// A panic ends the connection. It may come from a controller, so none is called again.
    pub(crate) fn fail(&self) {
        if let Some(core) = &mut *self.core.lock() {
            core.retire();
            self.publish(core);
        }
    }

    /// Publishes window and gate, which noq reads without the lock. Must follow whatever may change
    /// one of them.
    pub(super) fn publish(&self, core: &Core) {
        self.window.store(core.send().window(core.path()), Ordering::Relaxed);
        // Without a gate the pacer holds nothing: the window does, or the next packet may leave.
        let gate = core.send().gate(core.path(), self.payload_bytes()).unwrap_or(Time::ZERO);
        self.gate.store(gate.as_nanos(), Ordering::Relaxed);
        self.sends_ect1.store(core.sends_ect1(), Ordering::Relaxed);
    }

    /// True if packets are to leave with ECT(1).
    pub(crate) fn sends_ect1(&self) -> bool {
        self.sends_ect1.load(Ordering::Relaxed)
    }

    /// The window of the path that noq sends on, in bytes.
    pub(crate) fn window(&self) -> u64 {
        self.window.load(Ordering::Relaxed)
    }

    /// The minimum round-trip time, once there is a sample.
    pub(crate) fn min_rtt(&self) -> Option<Duration> {
        self.core.lock().as_ref()?.rtt().map(|rtt| rtt.min)
    }

    /// True if the pacer holds the packet that noq is about to send. If so, notes in the
    /// state that it waits, and sets when the driver must return.
    fn pacer_holds(&self) -> bool {
        let gate = self.gate.load(Ordering::Relaxed);
        if gate <= self.clock.last().as_nanos() {
            return false;
        }
        self.mark_late();
        self.wake.store(gate, Ordering::Relaxed);
        true
    }

    /// A datagram was received with the mark (ECN-CE).
    pub(crate) fn count_mark(&self) {
        self.marks.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn marks(&self) -> u64 {
        self.marks.load(Ordering::Relaxed)
    }

    /// Packets were received: notes if the peer waits for an acknowledgement.
    pub(crate) fn on_received(&self) {
        if self.seal.take_asks_for_ack() && self.ack_owed_since.load(Ordering::Relaxed) == NONE {
            self.ack_owed_since.store(self.clock.last().as_nanos(), Ordering::Relaxed);
        }
    }

    /// A datagram was made, which carries the acknowledgement that the peer waits for; or none can be made.
    pub(crate) fn ack_is_sent(&self) {
        self.ack_owed_since.store(NONE, Ordering::Relaxed);
    }

    /// Time at which the peer will have waited too long for an acknowledgement that data which waits holds back.
    pub(crate) fn ack_deadline(&self) -> Option<Time> {
        let since = self.ack_owed_since.load(Ordering::Relaxed);
        let is_held = self.waiting_since.load(Ordering::Relaxed) != NONE;
        (since != NONE && is_held).then(|| Time::from_nanos(since) + MAX_HELD_ACK)
    }

    /// True if the peer has waited too long for an acknowledgement: a packet may leave whatever window and
    /// pacer say.
    pub(crate) fn has_overdue_ack(&self) -> bool {
        self.ack_deadline().is_some_and(|at| at <= self.clock.last())
    }

    /// The driver begins a turn: a run of packets that it may send now.
    pub(crate) fn begin(&self) {
        self.wake.store(NONE, Ordering::Relaxed);
        if let Some(core) = &mut *self.core.lock() {
            let path = core.path();
            core.send_mut().begin(path);
        }
    }

    /// Time at which the driver must return to the connection for the packet that the pacer holds.
    pub(crate) fn wake(&self) -> Option<Time> {
        let wake = self.wake.load(Ordering::Relaxed);
        (wake != NONE).then(|| Time::from_nanos(wake))
    }

    /// True if the pacer holds a packet at the time that the turn began, and by `now` would allow
    /// `packets`: then another turn is worth it at once.
    pub(crate) fn has_earned(&self, now: impl FnOnce() -> Time, packets: usize) -> bool {
        if self.wake.load(Ordering::Relaxed) == NONE {
            return false;
        }
        let core = self.core.lock();
        let Some(core) = &*core else { return false };
        core.send().pacer(core.path()).is_some_and(|p| p.has_earned(now(), packets))
    }

    /// The next packet waits for the pacer, or for the driver's next turn: it counts as late from
    /// now on, so that the pacer makes up for the delay.
    pub(crate) fn mark_late(&self) {
        if let Some(core) = &mut *self.core.lock() {
            let path = core.path();
            core.send_mut().cut(path);
        }
    }

    /// noq reads the window, so it has data to send: notes since when.
    fn note_waiting(&self) {
        if self.waiting_since.load(Ordering::Relaxed) == NONE {
            self.waiting_since.store(self.clock.last().as_nanos(), Ordering::Relaxed);
        }
    }

    /// Reports to the state since when data waits, if it does.
    pub(super) fn report_waiting(&self, core: &mut Core) {
        let since = self.waiting_since.load(Ordering::Relaxed);
        if since != NONE {
            let path = core.path();
            core.send_mut().data_waits(path, Time::from_nanos(since));
        }
    }

    /// No data waits any more: it was sent, or withdrawn by a reset of its stream.
    fn no_data_waits(&self, core: &mut Core, now: Time) {
        self.report_waiting(core);
        self.waiting_since.store(NONE, Ordering::Relaxed);
        core.no_data_waits(now);
    }
}

/// The controller that noq owns, for one path: reports the path's events to the shared state.
#[derive(Debug)]
struct Adapter {
    shared: Arc<Shared>,
    path: PathId,
    /// The last conversions from noq's `Instant` to our `Time`: of the present, and of a packet's
    /// time of sending. Several packets in a row have the same.
    now: (Instant, Time),
    sent: (Instant, Time),
}

impl Adapter {
    fn new(shared: Arc<Shared>, path: PathId) -> Self {
        let start = (shared.clock.instant(Time::ZERO), Time::ZERO);
        Self { shared, path, now: start, sent: start }
    }

    /// Converts the present, with the last conversion as a cache.
    fn now(&mut self, now: Instant) -> Time {
        self.shared.clock.time_again(now, &mut self.now)
    }

    /// Runs `f` on the state. `f` or a later call publishes what changed.
    fn with(&self, f: impl FnOnce(&mut Core)) {
        if let Some(core) = &mut *self.shared.core.lock() {
            f(core);
        }
    }

    /// Runs `f` on the state, then publishes window and gate.
    fn update(&self, f: impl FnOnce(&mut Core)) {
        self.with(|core| {
            f(core);
            self.shared.publish(core);
        });
    }
}

impl Drop for Adapter {
    fn drop(&mut self) {
        self.update(|core| core.close(self.path));
    }
}

impl congestion::Controller for Adapter {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        let now = self.now(now);
        // A packet that is larger than a full one is an MTU probe.
        let counts =
            self.shared.seal.is_last_sealed(pn) && u64::from(bytes) <= self.shared.payload_bytes();
        self.with(|core| {
            self.shared.no_data_waits(core, now);
            if counts {
                core.on_sent(now, self.path, pn, bytes);
                self.shared.publish(core);
            }
        });
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        pn: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        let now = self.now(now);
        let sent_at = self.shared.clock.time_again(sent, &mut self.sent);
        // noq updates its estimate after it has read the whole frame: this one is from before.
        let acked = Acked { pn, smoothed_rtt: rtt.get() };
        let matches = |s: &InFlight| u64::from(s.bytes) == bytes && s.at == sent_at;
        // Published once per frame, in `on_end_acks`.
        self.with(|core| {
            // The flag means that noq's last poll found nothing to send: data that waited then was
            // withdrawn by a reset.
            if app_limited {
                self.shared.no_data_waits(core, now);
            } else {
                self.shared.report_waiting(core);
            }
            core.on_acked(now, self.path, &acked, matches);
        });
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, _: bool, _: Option<u64>) {
        let now = self.now(now);
        self.update(|core| {
            core.send_mut().set_in_flight(self.path, in_flight);
            core.on_ack_end(now, self.path);
            if let Some(counts) = self.shared.seal.take_ecn_counts() {
                core.on_ecn_counts(now, self.path, counts);
            }
        });
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        _sent: Instant,
        is_persistent_congestion: bool,
        is_ecn: bool,
        _lost_bytes: u64,
        _largest_lost_pn: u64,
    ) {
        let now = self.now(now);
        self.update(|core| {
            if is_ecn {
                core.on_marked(now, self.path);
            } else {
                core.on_losses_end(now, self.path, is_persistent_congestion);
            }
        });
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, pn: u64, now: Instant) {
        let now = self.now(now);
        self.update(|core| core.on_lost(now, self.path, pn, |s| s.bytes == lost_bytes));
    }

    fn on_spurious_congestion_event(&mut self) {
        let now = self.shared.clock.last();
        self.update(|core| core.on_spurious(now, self.path));
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        let now = self.shared.clock.last();
        self.shared.set_payload_bytes(new_mtu.into());
        self.update(|core| core.on_mtu(now, self.path, new_mtu.into()));
    }

    fn window(&self) -> u64 {
        self.shared.note_waiting();
        if self.shared.has_overdue_ack() {
            return u64::MAX;
        }
        if self.shared.pacer_holds() { 0 } else { self.shared.window() }
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        // noq reads this only to pace, and does not pace windows above four gigabytes.
        metrics.congestion_window = u64::MAX;
        metrics
    }

    fn clone_box(&self) -> Box<dyn congestion::Controller> {
        let mut path = self.path;
        self.update(|core| path = core.open_like(self.shared.clock.last(), self.path));
        Box::new(Self::new(self.shared.clone(), path))
    }

    fn initial_window(&self) -> u64 {
        self.shared.window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
