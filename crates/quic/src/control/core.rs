//! What an adapter knows: the controller, its pacer, the packets in flight, and the counts.

use std::mem;
use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_congestion::{
    Ack, Controller, Explicit, Loss, Pacer, RateSampler, Reno, Rtt, Sent as SentEvent,
};

use super::table::{Sent, Table};
use crate::driver::caught;
use crate::qlog::Qlog;

/// The part of the state that the lock guards.
#[derive(Debug)]
pub(super) struct Core {
    controller: Box<dyn Controller>,
    pub(super) pacer: Pacer,
    table: Table,
    /// Where the controller wants samples.
    sampler: Option<RateSampler>,
    in_flight: u64,
    now: Time,
    rtt: Rtt,
    /// When the last packet was sent, and when data last had to wait before it was.
    last_sent: Time,
    last_wait: Time,
    /// Some packet of ours was lost since the last congestion event.
    lost_some: bool,
    /// Some packet of ours was acknowledged by the acknowledgement being read.
    acked_some: bool,
    pub(super) counts: Counts,
    /// The log, where one is asked for.
    log: Option<Qlog>,
}

/// Sums since the connection began, of 1-RTT packets that ask for an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) sent_packets: u64,
    pub(super) sent_bytes: u64,
    pub(super) acked_packets: u64,
    pub(super) acked_bytes: u64,
    pub(super) lost_packets: u64,
    pub(super) lost_bytes: u64,
    pub(super) spurious: u64,
    /// Time with data to send, up to the last packet that was sent.
    pub(super) busy: Duration,
}

/// An acknowledged packet, as noq tells it.
pub(super) struct Acked {
    pub(super) pn: u64,
    pub(super) sent_at: Time,
    pub(super) bytes: u64,
    pub(super) smoothed_rtt: Duration,
}

impl Core {
    /// `payload_bytes`: UDP payload of a full packet.
    pub(super) fn new(
        now: Time,
        controller: Box<dyn Controller>,
        payload_bytes: u64,
        log: Option<Qlog>,
    ) -> Self {
        Self {
            sampler: sampler(&*controller),
            controller,
            pacer: Pacer::new(payload_bytes),
            table: Table::new(),
            in_flight: 0,
            now,
            rtt: Rtt { latest: Duration::ZERO, smoothed: Duration::ZERO, min: Duration::MAX },
            last_sent: Time::ZERO,
            last_wait: Time::ZERO,
            lost_some: false,
            acked_some: false,
            counts: Counts::default(),
            log,
        }
    }

    /// A new path: a fresh controller, nothing in flight. The counts go on, and what was asked of
    /// the old controller holds for the new one.
    pub(super) fn replace(&mut self, now: Time, mut controller: Box<dyn Controller>) {
        let now = self.tick(now);
        let (weight, rate) = asked(&mut *self.controller);
        controller.set_weight(now, weight);
        let explicit = controller.as_any_mut().downcast_mut::<Explicit>();
        if let (Some(explicit), Some(rate)) = (explicit, rate) {
            explicit.set_rate(rate);
        }
        self.controller = controller;
        self.rtt = Rtt { latest: Duration::ZERO, smoothed: Duration::ZERO, min: Duration::MAX };
        self.forget();
    }

    /// The controller has panicked and is asked no more: another one, that nobody told anything, takes
    /// its place while the connection ends. The counts stay.
    pub(super) fn retire(&mut self, payload_bytes: u64) {
        let failed = mem::replace(&mut self.controller, Box::new(Reno::new(payload_bytes)));
        // Of what it does when it goes nothing is known either.
        let _ = caught(|| drop(failed));
        self.log = None;
        self.forget();
    }

    /// Forgets the packets in flight: a path that begins counts from zero.
    pub(super) fn forget(&mut self) {
        self.table.clear();
        self.sampler = sampler(&*self.controller);
        self.in_flight = 0;
    }

    /// `now` as controllers may hear it: never going back. Whoever reaches in from outside may
    /// have read the clock after the driver did.
    fn tick(&mut self, now: Time) -> Time {
        if self.log.is_some() && self.now < now {
            self.settle_log();
        }
        self.now = self.now.max(now);
        self.now
    }

    /// Data left that had waited for so long.
    pub(super) fn on_waited(&mut self, now: Time, waited: Duration) {
        if !waited.is_zero() {
            self.counts.busy += waited;
            self.last_wait = self.last_wait.max(now);
        }
    }

    /// A 1-RTT packet left.
    pub(super) fn on_sent(&mut self, at: Time, pn: u64, bytes: u16) {
        let now = self.tick(at);
        if self.last_sent < now && self.last_wait < now {
            // The packet left without waiting, the first of its run: there was nothing to send.
            self.ran_dry();
        }
        // By the driver's own time, which noq repeats with the acknowledgement: what controllers have
        // heard may be later, if a handle reached in from another thread since.
        if !self.table.insert(Sent { pn, at, bytes }) {
            return;
        }
        self.in_flight += u64::from(bytes);
        self.last_sent = now;
        self.counts.sent_packets += 1;
        self.counts.sent_bytes += u64::from(bytes);
        if let Some(log) = &mut self.log {
            log.on_sent(now, pn, bytes.into());
        }
        if let Some(sampler) = &mut self.sampler {
            sampler.on_sent(now, pn, bytes.into(), self.in_flight);
        }
        self.controller.on_sent(&SentEvent {
            now,
            pn,
            bytes: bytes.into(),
            in_flight: self.in_flight,
        });
        self.pacer.on_sent(now, bytes.into());
    }

    /// There was nothing to send. If the window had room, delivery-rate samples will measure the
    /// application until what is in flight now has arrived.
    fn ran_dry(&mut self) {
        if let Some(sampler) = &mut self.sampler
            && self.in_flight < self.controller.window()
        {
            sampler.on_app_limited(self.in_flight);
        }
    }

    /// A packet was acknowledged; `waiting`: there is data that may not be sent yet.
    pub(super) fn on_ack(&mut self, now: Time, acked: &Acked, waiting: bool) {
        let now = self.tick(now);
        // Initial and Handshake packets have numbers of their own, which noq does not tell apart.
        let same = |s: &Sent| u64::from(s.bytes) == acked.bytes && s.at == acked.sent_at;
        let Some(sent) = self.table.take(acked.pn, same) else {
            return;
        };
        if !waiting {
            self.ran_dry();
        }
        self.in_flight = self.in_flight.saturating_sub(acked.bytes);
        self.counts.acked_packets += 1;
        self.counts.acked_bytes += acked.bytes;
        if let Some(log) = &mut self.log {
            log.on_acked(acked.pn, sent.at);
        }
        let latest = now - sent.at;
        self.rtt = Rtt {
            latest,
            // noq updates its estimate after the acknowledgement was read: this is the one before.
            smoothed: acked.smoothed_rtt,
            min: self.rtt.min.min(latest),
        };
        self.acked_some = true;
        let min_rtt = self.rtt.min;
        let sample =
            self.sampler.as_mut().and_then(|s| s.on_ack(now, acked.pn, acked.bytes, min_rtt));
        self.controller.on_ack(&Ack {
            now,
            pn: acked.pn,
            bytes: acked.bytes,
            sent_at: sent.at,
            in_flight: self.in_flight,
            // The window (or the pacer) was the limit if data had to wait at any time since.
            app_limited: !waiting && self.last_wait <= sent.at,
            rtt: self.rtt,
            sample,
        });
    }

    pub(super) fn on_ack_end(&mut self, now: Time, in_flight: u64) {
        let now = self.tick(now);
        // noq drops Initial and Handshake packets in silence when their keys go, and counts a few
        // that are not reported: its own figure is the right one.
        self.in_flight = in_flight;
        if std::mem::take(&mut self.acked_some) {
            if let Some(log) = &mut self.log {
                log.on_ack_end(now);
            }
            self.controller.on_ack_end(now, in_flight);
        }
    }

    pub(super) fn on_lost(&mut self, now: Time, pn: u64, bytes: u16) {
        let now = self.tick(now);
        let Some(sent) = self.table.take(pn, |s| s.bytes == bytes) else {
            return;
        };
        let bytes = u64::from(bytes);
        self.in_flight = self.in_flight.saturating_sub(bytes);
        self.counts.lost_packets += 1;
        self.counts.lost_bytes += bytes;
        self.lost_some = true;
        if let Some(log) = &mut self.log {
            log.on_lost(now, pn, sent.at);
        }
        if let Some(sampler) = &mut self.sampler {
            sampler.on_loss(pn);
        }
        let in_flight = self.in_flight;
        self.controller.on_loss(&Loss { now, pn, bytes, sent_at: sent.at, in_flight });
    }

    /// The batch of losses is complete.
    pub(super) fn on_losses_end(&mut self, now: Time, persistent: bool) {
        let now = self.tick(now);
        if std::mem::take(&mut self.lost_some) && persistent {
            if let Some(log) = &mut self.log {
                log.on_persistent_congestion();
            }
            self.controller.on_persistent_congestion(now);
        }
    }

    pub(super) fn on_spurious(&mut self, now: Time) {
        let now = self.tick(now);
        self.counts.spurious += 1;
        if let Some(log) = &mut self.log {
            log.on_spurious(now);
        }
        self.controller.on_spurious_loss(now);
    }

    pub(super) fn on_mtu(&mut self, now: Time, bytes: u64) {
        let now = self.tick(now);
        self.controller.on_mtu(now, bytes);
        self.pacer.set_mtu(bytes);
    }

    /// Has the pacer follow the controller. A packet that was sent before counts at the rate of
    /// then.
    pub(super) fn pace(&mut self) {
        self.pacer.set_rate(self.now, self.controller.pacing_rate());
    }

    /// Runs `f` on the controller, with the time to tell it.
    pub(super) fn with<T>(
        &mut self,
        now: Time,
        f: impl FnOnce(Time, &mut dyn Controller) -> T,
    ) -> T {
        let now = self.tick(now);
        if self.log.is_none() {
            return f(now, &mut *self.controller);
        }
        let old = asked(&mut *self.controller);
        let value = f(now, &mut *self.controller);
        let new = asked(&mut *self.controller);
        if let Some(log) = &mut self.log
            && new != old
        {
            let weight = Some(new.0).filter(|w| *w != old.0);
            log.on_asked(now, weight, new.1.filter(|_| new.1 != old.1));
        }
        value
    }

    /// Brings the log up to date, if there is one.
    fn settle_log(&mut self) {
        let rtt = self.rtt();
        if let Some(log) = &mut self.log {
            log.settle(self.now, &*self.controller, self.in_flight, rtt);
        }
    }

    /// noq is done with the controller: the log is complete, but for what handles still do.
    pub(super) fn close_log(&mut self) {
        self.settle_log();
        if let Some(log) = &mut self.log {
            log.flush();
        }
    }

    pub(super) fn controller(&self) -> &dyn Controller {
        &*self.controller
    }

    pub(super) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Round-trip times, once there is a sample.
    pub(super) fn rtt(&self) -> Option<Rtt> {
        (self.rtt.min != Duration::MAX).then_some(self.rtt)
    }

    pub(super) fn pacing_rate(&self) -> Option<Rate> {
        self.controller.pacing_rate()
    }
}

/// What measures for a controller that looks at samples.
fn sampler(controller: &dyn Controller) -> Option<RateSampler> {
    controller.takes_samples().then(RateSampler::new)
}

/// What the outside sets: the weight, and the rate of an explicit controller.
fn asked(controller: &mut dyn Controller) -> (f64, Option<Rate>) {
    let rate = controller.as_any_mut().downcast_mut::<Explicit>().map(|e| e.rate());
    (controller.weight(), rate)
}

#[cfg(test)]
mod tests {
    use airlane_base::Seed;
    use airlane_congestion::{Algorithm, ControllerConfig};

    use super::*;

    #[test]
    fn a_new_path_keeps_the_weight_and_the_rate_that_were_set() {
        let core = |algorithm| {
            let make = move || ControllerConfig::new(algorithm).build(Time::ZERO, 1350, Seed(1));
            (Core::new(Time::ZERO, make(), 1350, None), make)
        };
        let at = Time::from_millis(1);
        for algorithm in [Algorithm::Cubic, Algorithm::Fast] {
            let (mut core, make) = core(algorithm);
            core.with(at, |now, controller| controller.set_weight(now, 3.5));
            core.replace(at, make());
            assert_eq!(core.controller().weight(), 3.5, "{algorithm}");
        }
        let (mut core, make) = core(Algorithm::Explicit);
        let rate = Rate::from_mbps(12.0);
        core.with(at, |_, controller| {
            let explicit = controller.as_any_mut().downcast_mut::<Explicit>().unwrap();
            explicit.set_rate(rate);
        });
        core.replace(at, make());
        assert_eq!(core.pacing_rate(), Some(rate));
    }
}
