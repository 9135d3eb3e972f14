//! Reaching a controller while its connection runs.

use std::fmt;
use std::net::SocketAddr;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_congestion::{Controller, Explicit, Rtt};
use airlane_runtime::RuntimeHandle;
use parking_lot::Mutex;

use super::core::Core;
use crate::clock::Clock;
use crate::crypto::Seal;
use crate::driver::{Link, WeakLink, caught, message};

/// Stands for "none" in the atomics.
const NONE: u64 = u64::MAX;

/// What the adapter that noq owns and the handles that roles own have in common.
pub(crate) struct Shared {
    /// `None` until noq makes the connection's path.
    pub(super) core: Mutex<Option<Core>>,
    pub(super) clock: Arc<Clock>,
    /// Tells 1-RTT packets from others when they are sent.
    pub(crate) seal: Arc<Seal>,
    /// UDP payload of a full packet.
    payload_bytes: AtomicU64,
    /// Published from the controller, so that noq may ask without the lock.
    window: AtomicU64,
    /// Until when the pacer holds what the window would let go, in nanoseconds.
    gate: AtomicU64,
    /// When to look again at a packet that the pacer holds, in nanoseconds; [`NONE`] if it holds
    /// none.
    wake: AtomicU64,
    /// Since when data waits that may not be sent yet, in nanoseconds; [`NONE`] if none waits.
    waiting: AtomicU64,
    link: OnceLock<WeakLink>,
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
            waiting: AtomicU64::new(NONE),
            link: OnceLock::new(),
        }
    }

    /// Names the connection that [`ControlHandle`]s stir after a change.
    pub(crate) fn attach(&self, link: &Arc<Link>) {
        let _ = self.link.set(Arc::downgrade(link));
    }

    /// UDP payload of a full packet.
    pub(super) fn payload_bytes(&self) -> u64 {
        self.payload_bytes.load(Ordering::Relaxed)
    }

    /// Full packets have so many bytes from now on.
    pub(super) fn set_payload_bytes(&self, bytes: u64) {
        self.payload_bytes.store(bytes, Ordering::Relaxed);
    }

    /// The connection has panicked and ends: its controller may be what did, and is asked no more.
    pub(crate) fn fail(&self) {
        if let Some(core) = &mut *self.core.lock() {
            core.retire(self.payload_bytes());
            self.publish(core);
        }
    }

    /// Publishes what noq will ask for.
    pub(super) fn publish(&self, core: &mut Core) {
        core.pace();
        // Under one packet noq would never send again: lower rates are the pacer's.
        let window = core.controller().window().max(self.payload_bytes());
        self.window.store(window, Ordering::Relaxed);
        self.publish_gate(core, window);
    }

    /// The same when a packet was sent.
    pub(super) fn publish_sent(&self, core: &mut Core) {
        if core.controller().follows_sending() {
            self.publish(core);
        } else {
            self.publish_gate(core, self.window());
        }
    }

    fn publish_gate(&self, core: &Core, window: u64) {
        // Where the window holds packets back the pacer does not.
        let room = core.in_flight() + self.payload_bytes() <= window;
        let gate = if room { core.pacer.release() } else { Time::ZERO };
        self.gate.store(gate.as_nanos(), Ordering::Relaxed);
    }

    pub(crate) fn window(&self) -> u64 {
        self.window.load(Ordering::Relaxed)
    }

    /// The least round trip, once there is a sample.
    pub(crate) fn min_rtt(&self) -> Option<Duration> {
        self.core.lock().as_ref()?.rtt().map(|rtt| rtt.min)
    }

    /// Whether the pacer holds the packet that noq would send; if so, it is noted.
    pub(super) fn holds(&self) -> bool {
        let gate = self.gate.load(Ordering::Relaxed);
        if gate <= self.clock.last().as_nanos() {
            return false;
        }
        if let Some(core) = &mut *self.core.lock() {
            core.pacer.hold();
        }
        self.wake.store(gate, Ordering::Relaxed);
        true
    }

    /// The driver begins to look at what may be sent.
    pub(crate) fn begin(&self) {
        self.wake.store(NONE, Ordering::Relaxed);
        if let Some(core) = &mut *self.core.lock() {
            core.pacer.begin();
        }
    }

    /// When the driver must look again at what the pacer holds.
    pub(crate) fn wake(&self) -> Option<Time> {
        let wake = self.wake.load(Ordering::Relaxed);
        (wake != NONE).then(|| Time::from_nanos(wake))
    }

    /// Whether the pacer holds a packet, and by `now` would let so many go.
    pub(crate) fn has_earned(&self, now: impl FnOnce() -> Time, packets: usize) -> bool {
        let held = self.wake.load(Ordering::Relaxed) != NONE;
        let earned = |core: &Core| core.pacer.has_earned(now(), packets);
        held && self.core.lock().as_ref().is_some_and(earned)
    }

    /// The driver leaves off, though more could be sent: what waits meanwhile is late, as if the
    /// pacer had held it.
    pub(crate) fn cut(&self) {
        if let Some(core) = &mut *self.core.lock() {
            core.pacer.hold();
        }
    }

    /// noq asks for the window exactly when it has data to send, and then either sends or is held
    /// back by window or pacing: from here on data waits.
    pub(super) fn data_waits(&self) {
        if self.waiting.load(Ordering::Relaxed) == NONE {
            self.waiting.store(self.clock.last().as_nanos(), Ordering::Relaxed);
        }
    }

    /// Data that waited is gone: sent, or withdrawn. Returns how long it had waited.
    pub(super) fn data_left(&self, now: Time) -> Duration {
        match self.waiting.swap(NONE, Ordering::Relaxed) {
            NONE => Duration::ZERO,
            since => now - Time::from_nanos(since),
        }
    }

    /// Whether data waits.
    pub(super) fn has_data(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) != NONE
    }

    fn waited(&self, now: Time) -> Option<Duration> {
        match self.waiting.load(Ordering::Relaxed) {
            NONE => None,
            since => Some(now - Time::from_nanos(since)),
        }
    }
}

/// What a connection's sending side has done and is allowed. Counts cover 1-RTT packets that ask
/// for an acknowledgement, in bytes of UDP payload, since the connection began.
#[derive(Clone, Copy, Debug)]
pub struct ControlStats {
    /// When this was read.
    pub now: Time,
    /// Packets sent.
    pub sent_packets: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets acknowledged.
    pub acked_packets: u64,
    /// Bytes acknowledged.
    pub acked_bytes: u64,
    /// Packets declared lost.
    pub lost_packets: u64,
    /// Bytes declared lost.
    pub lost_bytes: u64,
    /// Times that all packets declared lost turned out to have arrived.
    pub spurious_losses: u64,
    /// Time during which there was data to send: from when data could not leave at once, held
    /// back by window or pacing, until the last of it left. Idle gaps and the wait for the last
    /// acknowledgements do not count; see `docs/quic.md`.
    pub busy: Duration,
    /// Whether there is data to send now.
    pub has_data: bool,
    /// Bytes in flight.
    pub in_flight: u64,
    /// The congestion window in bytes.
    pub window: u64,
    /// The slow-start threshold in bytes, where the controller has one.
    pub ssthresh: Option<u64>,
    /// The rate that the controller asks for, if it does.
    pub pacing_rate: Option<Rate>,
    /// Round-trip times, once there is a sample.
    pub rtt: Option<Rtt>,
    /// How many plain flows this one counts for.
    pub weight: f64,
    /// The controller's name.
    pub controller: &'static str,
}

/// A handle to the congestion controller of a running connection. It does not keep the connection
/// alive, and its counts can be read when the connection is gone.
#[derive(Clone)]
pub struct ControlHandle {
    shared: Arc<Shared>,
    runtime: RuntimeHandle,
}

impl fmt::Debug for ControlHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stats().fmt(f)
    }
}

impl ControlHandle {
    pub(crate) fn new(shared: Arc<Shared>, runtime: RuntimeHandle) -> Self {
        Self { shared, runtime }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Counts and state as of now.
    ///
    /// # Panics
    /// Never on a handle from a connection: those have a controller.
    pub fn stats(&self) -> ControlStats {
        let now = self.runtime.now();
        let waited = self.shared.waited(now);
        self.guarded(|core| Self::read(core, now, waited))
    }

    fn read(core: &Core, now: Time, waited: Option<Duration>) -> ControlStats {
        let (c, k) = (core.counts, core.controller());
        ControlStats {
            now,
            sent_packets: c.sent_packets,
            sent_bytes: c.sent_bytes,
            acked_packets: c.acked_packets,
            acked_bytes: c.acked_bytes,
            lost_packets: c.lost_packets,
            lost_bytes: c.lost_bytes,
            spurious_losses: c.spurious,
            busy: c.busy + waited.unwrap_or_default(),
            has_data: waited.is_some(),
            in_flight: core.in_flight(),
            window: k.window(),
            ssthresh: k.ssthresh(),
            pacing_rate: core.pacing_rate(),
            rtt: core.rtt(),
            weight: k.weight(),
            controller: k.name(),
        }
    }

    /// The peer's address, which changes when the peer migrates; `None` when the connection is gone.
    pub fn remote_addr(&self) -> Option<SocketAddr> {
        self.shared.link.get()?.upgrade()?.remote()
    }

    /// Sets how many plain flows the connection counts for from now on.
    pub fn set_weight(&self, weight: f64) {
        self.with(|now, controller| controller.set_weight(now, weight));
    }

    /// Sets the rate of an [`Explicit`] controller, in bits of UDP payload. False if the connection
    /// has another controller.
    pub fn set_rate(&self, rate: Rate) -> bool {
        self.with(|_, controller| {
            let explicit = controller.as_any_mut().downcast_mut::<Explicit>();
            explicit.map(|e| e.set_rate(rate)).is_some()
        })
    }

    /// Reaches into the controller, and makes the connection act on what changed: it sends at once
    /// what the new window or rate allows.
    ///
    /// # Panics
    /// Never on a handle from a connection: those have a controller.
    pub fn with<T>(&self, f: impl FnOnce(Time, &mut dyn Controller) -> T) -> T {
        let now = self.runtime.now();
        let value = self.guarded(|core| {
            let value = core.with(now, f);
            self.shared.publish(core);
            value
        });
        // Nothing else would look at the new rate before the pacer's timer, which was set for the
        // old one.
        if let Some(link) = self.shared.link.get().and_then(WeakLink::upgrade) {
            link.stir();
        }
        value
    }

    /// Runs `f` on the state. A panic in it is the caller's, and ends the connection.
    fn guarded<T>(&self, f: impl FnOnce(&mut Core) -> T) -> T {
        let result = {
            let mut core = self.shared.core.lock();
            let core = core.as_mut().expect("a connection has a controller");
            caught(|| f(core))
        };
        result.unwrap_or_else(|panic| {
            match self.shared.link.get().and_then(WeakLink::upgrade) {
                Some(link) => link.fail_from_outside(&message(&panic)),
                None => self.shared.fail(),
            }
            resume_unwind(panic)
        })
    }
}
