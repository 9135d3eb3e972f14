//! What noq 1.4.0 wants of a controller, and what it takes to drive a [`SendState`] by it.
//!
//! noq owns the controller of a path and tells it of packets through a trait of its own. All that is
//! done here because noq is as it is:
//!
//! - **Which packets.** noq tells a number and a size; Initial, Handshake and 1-RTT packets of its
//!   first path are numbered separately from zero, and reported alike. The key that seals a packet
//!   leaves a note of its space ([`Seal`]) just before the controller hears of it, and only 1-RTT
//!   packets are passed on. What is acknowledged or lost is matched by number, size and (where noq
//!   tells it) time of sending.
//! - **Probes of the MTU** are reported when they leave and not when they are lost: none is passed
//!   on.
//! - **In flight**: noq drops Initial and Handshake packets in silence when their keys go. Its own
//!   figure, which it tells after each acknowledgement, replaces ours.
//! - **When data waits.** noq asks for the window exactly when it has data to send, and then sends
//!   or is held back. The first question is noted; whoever else asks would spoil the measure.
//! - **The pacer** of noq lets ten packets go at once and has no setting for it. Where noq asks for
//!   metrics, which it does in order to pace, it sees an endless window and no rate, which turns its
//!   pacer off. While ours holds a packet, the window that noq sees is zero. The driver wakes the
//!   connection when the packet may leave ([`Shared::wake`]).
//! - **No lock for questions.** noq asks several times per packet: window and gate are published in
//!   atomics whenever they may have changed.
//! - **Paths.** noq asks the factory for a controller where a path resembles none before, and copies
//!   the one that it has where only a port changed. It keeps the old one while the new path is not
//!   validated, and goes back to it if that fails. Each adapter is therefore a path of the
//!   [`SendState`]; when noq drops one, it is closed. Acknowledgements of packets of a path that noq
//!   has left are not reported at all.
//! - **Marks** (ECN-CE) come as congestion events without a number of packets, of any space.
//!
//! [`SendState`]: airlane_congestion::SendState

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
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
use crate::driver::{Link, WeakLink};
use crate::qlog;

/// Makes the adapters of one connection.
pub(crate) struct Factory {
    pub(crate) shared: Arc<Shared>,
    pub(crate) make: ControllerFactory,
    pub(crate) seed: Seed,
    /// The first controller, made beforehand: where noq asks for it, a panic would leave the table
    /// of all connections half changed.
    pub(crate) first: Mutex<Option<Box<dyn Controller>>>,
    /// The log, where one is asked for.
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

/// Stands for "none" in the atomics.
const NONE: u64 = u64::MAX;

/// What the adapters that noq owns and the handles that roles own have in common.
pub(crate) struct Shared {
    /// `None` until noq makes the connection's path.
    pub(super) core: Mutex<Option<Core>>,
    clock: Arc<Clock>,
    /// Tells 1-RTT packets from others when they are sent.
    pub(crate) seal: Arc<Seal>,
    /// UDP payload of a full packet.
    payload_bytes: AtomicU64,
    /// The window of the path that noq is on.
    window: AtomicU64,
    /// Until when the pacer holds what the window would let go, in nanoseconds.
    gate: AtomicU64,
    /// When to look again at a packet that the pacer holds, in nanoseconds; [`NONE`] if it holds
    /// none.
    wake: AtomicU64,
    /// Since when data waits, in nanoseconds, if noq has asked since the state heard of it last.
    asked: AtomicU64,
    /// Datagrams that arrived marked.
    marks: AtomicU64,
    pub(super) link: OnceLock<WeakLink>,
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
            asked: AtomicU64::new(NONE),
            marks: AtomicU64::new(0),
            link: OnceLock::new(),
        }
    }

    /// Names the connection that handles stir after a change.
    pub(crate) fn attach(&self, link: &Arc<Link>) {
        let _ = self.link.set(Arc::downgrade(link));
    }

    fn payload_bytes(&self) -> u64 {
        self.payload_bytes.load(Ordering::Relaxed)
    }

    fn set_payload_bytes(&self, bytes: u64) {
        self.payload_bytes.store(bytes, Ordering::Relaxed);
    }

    /// The connection has panicked and ends: its controller may be what did, and is asked no more.
    pub(crate) fn fail(&self) {
        if let Some(core) = &mut *self.core.lock() {
            core.retire();
            self.publish(core);
        }
    }

    /// Publishes what noq will ask for.
    pub(super) fn publish(&self, core: &Core) {
        self.window.store(core.send().window(core.path()), Ordering::Relaxed);
        // Where the window holds packets back the pacer does not.
        let gate = core.send().gate(core.path(), self.payload_bytes()).unwrap_or(Time::ZERO);
        self.gate.store(gate.as_nanos(), Ordering::Relaxed);
    }

    /// The window of the path that noq is on, in bytes.
    pub(crate) fn window(&self) -> u64 {
        self.window.load(Ordering::Relaxed)
    }

    /// The least round trip, once there is a sample.
    pub(crate) fn min_rtt(&self) -> Option<Duration> {
        self.core.lock().as_ref()?.rtt().map(|rtt| rtt.min)
    }

    /// Whether the pacer holds the packet that noq would send; if so, it is noted.
    fn holds(&self) -> bool {
        let gate = self.gate.load(Ordering::Relaxed);
        if gate <= self.clock.last().as_nanos() {
            return false;
        }
        self.cut();
        self.wake.store(gate, Ordering::Relaxed);
        true
    }

    /// A datagram arrived marked as having met congestion.
    pub(crate) fn count_mark(&self) {
        self.marks.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn marks(&self) -> u64 {
        self.marks.load(Ordering::Relaxed)
    }

    /// The driver begins to look at what may be sent.
    pub(crate) fn begin(&self) {
        self.wake.store(NONE, Ordering::Relaxed);
        if let Some(core) = &mut *self.core.lock() {
            let path = core.path();
            core.send_mut().begin(path);
        }
    }

    /// When the driver must look again at what the pacer holds.
    pub(crate) fn wake(&self) -> Option<Time> {
        let wake = self.wake.load(Ordering::Relaxed);
        (wake != NONE).then(|| Time::from_nanos(wake))
    }

    /// Whether the pacer holds a packet, and by `now` would let so many go.
    pub(crate) fn has_earned(&self, now: impl FnOnce() -> Time, packets: usize) -> bool {
        if self.wake.load(Ordering::Relaxed) == NONE {
            return false;
        }
        let core = self.core.lock();
        let Some(core) = &*core else { return false };
        core.send().pacer(core.path()).is_some_and(|p| p.has_earned(now(), packets))
    }

    /// The driver leaves off, though more could be sent: what waits meanwhile is late, as if the
    /// pacer had held it.
    pub(crate) fn cut(&self) {
        if let Some(core) = &mut *self.core.lock() {
            let path = core.path();
            core.send_mut().cut(path);
        }
    }

    /// noq asks for the window, so it has data to send: from here on data waits.
    fn data_waits(&self) {
        if self.asked.load(Ordering::Relaxed) == NONE {
            self.asked.store(self.clock.last().as_nanos(), Ordering::Relaxed);
        }
    }

    /// Tells the state since when data waits, if noq has asked.
    pub(super) fn tell_waiting(&self, core: &mut Core) {
        let asked = self.asked.load(Ordering::Relaxed);
        if asked != NONE {
            let path = core.path();
            core.send_mut().data_waits(path, Time::from_nanos(asked));
        }
    }

    /// Data that waited is gone: sent, or withdrawn.
    fn data_left(&self, core: &mut Core, now: Time) {
        self.tell_waiting(core);
        self.asked.store(NONE, Ordering::Relaxed);
        core.data_left(now);
    }
}

/// What noq owns: one path.
#[derive(Debug)]
struct Adapter {
    shared: Arc<Shared>,
    path: PathId,
    /// noq's names for the present and for when a packet was sent, and the times that they mean:
    /// they are the same for many packets in turn.
    now: (Instant, Time),
    sent: (Instant, Time),
}

impl Adapter {
    fn new(shared: Arc<Shared>, path: PathId) -> Self {
        let start = (shared.clock.instant(Time::ZERO), Time::ZERO);
        Self { shared, path, now: start, sent: start }
    }

    /// The present.
    fn now(&mut self, now: Instant) -> Time {
        self.shared.clock.time_again(now, &mut self.now)
    }

    /// Runs `f` on the state.
    fn with(&self, f: impl FnOnce(&mut Core)) {
        if let Some(core) = &mut *self.shared.core.lock() {
            f(core);
        }
    }

    /// Runs `f` on the state and publishes what the controller wants then.
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
        // A packet that is larger than a full one probes the path.
        let ours = self.shared.seal.was(pn) && u64::from(bytes) <= self.shared.payload_bytes();
        self.with(|core| {
            self.shared.data_left(core, now);
            if ours {
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
        // noq updates its estimate after the acknowledgement was read: this is the one before.
        let acked = Acked { pn, smoothed_rtt: rtt.get() };
        let is = |s: &InFlight| u64::from(s.bytes) == bytes && s.at == sent_at;
        // What the controller then wants is published when the acknowledgement has been read.
        self.with(|core| {
            // The flag says that the last poll found nothing to send: what waited, if anything, was
            // withdrawn by a reset.
            if app_limited {
                self.shared.data_left(core, now);
            } else {
                self.shared.tell_waiting(core);
            }
            core.on_acked(now, self.path, &acked, is);
        });
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, _: bool, _: Option<u64>) {
        let now = self.now(now);
        self.update(|core| {
            core.send_mut().set_in_flight(self.path, in_flight);
            core.on_ack_end(now, self.path);
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
        self.shared.data_waits();
        if self.shared.holds() { 0 } else { self.shared.window() }
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        // noq does not pace windows above four gigabytes, and asks here only to pace.
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
