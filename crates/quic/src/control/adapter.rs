//! noq's controller trait, implemented by the shared state.

use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

use airlane_base::{Seed, Time};
use airlane_congestion::Controller;
use noq_proto::RttEstimator;
use noq_proto::congestion::{self, ControllerMetrics};
use parking_lot::Mutex;

use super::core::{Acked, Core};
use super::handle::Shared;
use crate::config::{ControllerFactory, NewController};
use crate::qlog;

/// Makes the adapter of one connection. noq asks again when a path begins that resembles none
/// before: the new adapter then takes over the shared state.
pub(crate) struct Factory {
    pub(crate) shared: Arc<Shared>,
    pub(crate) make: ControllerFactory,
    pub(crate) seed: Seed,
    /// The first one, made beforehand: where noq asks for it, a panic would leave the table of all
    /// connections half changed.
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
        let core = match &mut *core {
            Some(core) => {
                core.replace(now, controller);
                core
            }
            none => {
                let log = self.qlog.as_ref().and_then(|q| q.open(now, &*controller));
                none.insert(Core::new(now, controller, payload_bytes, log))
            }
        };
        self.shared.publish(core);
        Box::new(Adapter::new(self.shared.clone()))
    }
}

/// What noq owns.
#[derive(Debug)]
struct Adapter {
    shared: Arc<Shared>,
    /// noq's names for the present and for when a packet was sent, and the times that they mean:
    /// they are the same for many packets in turn.
    now: (Instant, Time),
    sent: (Instant, Time),
}

impl Adapter {
    fn new(shared: Arc<Shared>) -> Self {
        let start = (shared.clock.instant(Time::ZERO), Time::ZERO);
        Self { shared, now: start, sent: start }
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
        self.with(Core::close_log);
    }
}

impl congestion::Controller for Adapter {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        let now = self.now(now);
        let waited = self.shared.data_left(now);
        // A packet that is larger than a full one probes the path. No controller hears of it, since
        // noq tells nobody when it is lost.
        let ours = self.shared.seal.was(pn) && u64::from(bytes) <= self.shared.payload_bytes();
        self.with(|core| {
            core.on_waited(now, waited);
            if ours {
                core.on_sent(now, pn, bytes);
                self.shared.publish_sent(core);
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
        // The flag says that the last poll found nothing to send: what waited, if anything, was
        // withdrawn by a reset.
        let waited = if app_limited { self.shared.data_left(now) } else { Duration::ZERO };
        let waiting = self.shared.has_data();
        // What the controller then wants is published when the acknowledgement has been read.
        self.with(|core| {
            core.on_waited(now, waited);
            let acked = Acked { pn, sent_at, bytes, smoothed_rtt: rtt.get() };
            core.on_ack(now, &acked, waiting);
        });
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, _: bool, _: Option<u64>) {
        let now = self.now(now);
        self.update(|core| core.on_ack_end(now, in_flight));
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        _sent: Instant,
        is_persistent_congestion: bool,
        _is_ecn: bool,
        _lost_bytes: u64,
        _largest_lost_pn: u64,
    ) {
        let now = self.now(now);
        self.update(|core| core.on_losses_end(now, is_persistent_congestion));
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, pn: u64, now: Instant) {
        let now = self.now(now);
        self.update(|core| core.on_lost(now, pn, lost_bytes));
    }

    fn on_spurious_congestion_event(&mut self) {
        let now = self.shared.clock.last();
        self.update(|core| core.on_spurious(now));
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        let now = self.shared.clock.last();
        self.shared.set_payload_bytes(new_mtu.into());
        self.update(|core| core.on_mtu(now, new_mtu.into()));
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
        // noq copies the controller when the path migrates, and goes on with the copy: it counts
        // what is in flight anew. One connection has one controller here, so the copy shares it.
        self.update(Core::forget);
        Box::new(Self::new(self.shared.clone()))
    }

    fn initial_window(&self) -> u64 {
        self.shared.window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
