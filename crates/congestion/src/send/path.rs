//! What is known of one path.

use std::time::Duration;

use airlane_base::Time;

use super::table::{InFlight, Table};
use super::{Acked, Counts, PathId};
use crate::controller::{Ack, Controller, Limit, Loss, LossCause, Marked, Rtt, Sent};
use crate::{Pacer, RateSampler};

/// Packets sent later that must have arrived for a packet to count as lost (RFC 9002, section
/// 6.1.1).
const PACKET_THRESHOLD: u64 = 3;

/// One path.
#[derive(Debug)]
pub(super) struct Path {
    pub(super) id: PathId,
    pub(super) controller: Box<dyn Controller>,
    pub(super) pacer: Pacer,
    table: Table,
    /// Sampler of delivery rates, if the controller takes samples.
    sampler: Option<RateSampler>,
    pub(super) in_flight: u64,
    rtt: Option<Rtt>,
    /// UDP payload of a full packet.
    payload_bytes: u64,
    /// The window as of the last call that may have changed it: transports ask often.
    window: u64,
    last_sent: Time,
    waits: Waits,
    /// The packet with the highest number that was acknowledged, and when it was sent.
    newest: Option<(u64, Time)>,
    /// Some packet was lost since the last batch of losses ended.
    lost_some: bool,
    /// Some packet was acknowledged by the acknowledgement being read.
    acked_some: bool,
    pub(super) counts: Counts,
}

/// Times at which data had to wait.
#[derive(Clone, Copy, Debug, Default)]
struct Waits {
    /// Since when data waits; `None` if none does.
    since: Option<Time>,
    /// Times at which data that the window or the pacer had held left last.
    window: Time,
    pacer: Time,
}

impl Waits {
    fn last(&self) -> Time {
        self.window.max(self.pacer)
    }
}

impl Path {
    pub(super) fn new(id: PathId, controller: Box<dyn Controller>, payload_bytes: u64) -> Self {
        Self {
            id,
            sampler: controller.takes_samples().then(RateSampler::new),
            pacer: Pacer::new(payload_bytes).with_burst(controller.burst_packets()),
            controller,
            table: Table::new(),
            in_flight: 0,
            rtt: None,
            payload_bytes,
            window: payload_bytes,
            last_sent: Time::ZERO,
            waits: Waits::default(),
            newest: None,
            lost_some: false,
            acked_some: false,
            counts: Counts::default(),
        }
    }

    /// A path that goes on where this one is, with nothing in flight.
    pub(super) fn successor(&self, id: PathId) -> Self {
        let mut sampler = self.sampler.clone();
        if let Some(sampler) = &mut sampler {
            sampler.forget_flight();
        }
        Self {
            id,
            controller: self.controller.clone_box(),
            sampler,
            pacer: self.pacer,
            table: Table::new(),
            in_flight: 0,
            rtt: self.rtt,
            payload_bytes: self.payload_bytes,
            window: self.window,
            last_sent: self.last_sent,
            waits: Waits { since: None, ..self.waits },
            newest: None,
            lost_some: false,
            acked_some: false,
            counts: Counts::default(),
        }
    }

    /// Replaces the controller by one that starts without any knowledge of the path.
    pub(super) fn replace(&mut self, controller: Box<dyn Controller>) -> Box<dyn Controller> {
        self.sampler = controller.takes_samples().then(RateSampler::new);
        self.abandon();
        std::mem::replace(&mut self.controller, controller)
    }

    /// Counts the packets in flight as abandoned: the transport does not report them any more.
    pub(super) fn abandon(&mut self) {
        self.counts.abandoned_packets += self.table.packets();
        self.table.clear();
        self.in_flight = 0;
    }

    pub(super) fn rtt(&self) -> Option<Rtt> {
        self.rtt
    }

    pub(super) fn waiting(&self) -> Option<Time> {
        self.waits.since
    }

    /// The controller's window, but room for a packet at least: with less a transport would never
    /// send again. Lower rates are the pacer's.
    pub(super) fn window(&self) -> u64 {
        self.window
    }

    /// Time at which a packet of `bytes` may leave; `None` while the window holds it.
    pub(super) fn gate(&self, bytes: u64) -> Option<Time> {
        (self.in_flight + bytes <= self.window).then(|| self.pacer.release())
    }

    pub(super) fn data_waits(&mut self, since: Time) {
        self.waits.since.get_or_insert(since);
    }

    pub(super) fn no_data_waits(&mut self, now: Time) {
        let Some(since) = self.waits.since.take() else { return };
        let waited = now - since;
        if waited.is_zero() {
            return;
        }
        self.counts.busy += waited;
        let held_by =
            if self.pacer.held() { &mut self.waits.pacer } else { &mut self.waits.window };
        *held_by = now.max(*held_by);
    }

    /// There was nothing to send. If the window had room, delivery-rate samples will measure the
    /// application until what is in flight now has arrived.
    pub(super) fn ran_dry(&mut self) {
        if let Some(sampler) = &mut self.sampler
            && self.in_flight < self.controller.window()
        {
            sampler.on_app_limited(self.in_flight);
        }
    }

    /// Asks the controller for window and rate. What was sent before is paced at the rate of then.
    pub(super) fn follow(&mut self, now: Time) {
        self.window = self.controller.window().max(self.payload_bytes);
        self.pacer.set_rate(now, self.controller.pacing_rate());
    }

    /// A packet left: at `at` by the transport's own clock.
    pub(super) fn on_sent(&mut self, now: Time, at: Time, pn: u64, bytes: u16) -> bool {
        if self.last_sent < now && self.waits.last() < now {
            // The packet left without waiting, the first of its run: there was nothing to send.
            self.ran_dry();
        }
        if !self.table.insert(InFlight { pn, at, bytes }) {
            return false;
        }
        let bytes = u64::from(bytes);
        self.in_flight += bytes;
        self.last_sent = now;
        self.counts.sent_packets += 1;
        self.counts.sent_bytes += bytes;
        let in_flight = self.in_flight;
        if let Some(sampler) = &mut self.sampler {
            sampler.on_sent(now, pn, bytes, in_flight);
        }
        self.controller.on_sent(&Sent { now, pn, bytes, in_flight });
        self.pacer.on_sent(now, bytes);
        if self.controller.follows_sending() {
            self.follow(now);
        }
        true
    }

    pub(super) fn on_acked(
        &mut self,
        now: Time,
        acked: &Acked,
        is: impl FnOnce(&InFlight) -> bool,
    ) -> Option<InFlight> {
        let sent = self.table.take(acked.pn, is)?;
        let (pn, bytes) = (acked.pn, u64::from(sent.bytes));
        if self.waits.since.is_none() {
            self.ran_dry();
        }
        self.in_flight = self.in_flight.saturating_sub(bytes);
        self.counts.acked_packets += 1;
        self.counts.acked_bytes += bytes;
        let latest = now - sent.at;
        let min = self.rtt.map_or(latest, |rtt| rtt.min.min(latest));
        let rtt = Rtt { latest, smoothed: acked.smoothed_rtt, min };
        self.rtt = Some(rtt);
        self.acked_some = true;
        if self.newest.is_none_or(|(newest, _)| newest < pn) {
            self.newest = Some((pn, sent.at));
        }
        let sample = self.sampler.as_mut().and_then(|s| s.on_ack(now, pn, bytes, min));
        let (in_flight, limit) = (self.in_flight, self.limit(sent.at));
        self.controller.on_ack(&Ack {
            now,
            pn,
            bytes,
            sent_at: sent.at,
            in_flight,
            limit,
            rtt,
            sample,
        });
        Some(sent)
    }

    /// Limit on sending since `sent_at`.
    fn limit(&self, sent_at: Time) -> Limit {
        match self.waits.since {
            Some(_) if self.pacer.holds() => Limit::Pacing,
            Some(_) => Limit::Window,
            None if self.waits.window > sent_at => Limit::Window,
            None if self.waits.pacer > sent_at => Limit::Pacing,
            None => Limit::Application,
        }
    }

    /// Ends an acknowledgement frame; true if it acknowledged any packet.
    pub(super) fn on_ack_end(&mut self, now: Time) -> bool {
        let some = std::mem::take(&mut self.acked_some);
        if some {
            self.controller.on_ack_end(now, self.in_flight);
        }
        self.follow(now);
        some
    }

    pub(super) fn on_lost(
        &mut self,
        now: Time,
        pn: u64,
        is: impl FnOnce(&InFlight) -> bool,
    ) -> Option<InFlight> {
        let sent = self.take_off(pn, is);
        if let Some(sent) = sent {
            let bytes = u64::from(sent.bytes);
            self.lost_some = true;
            let overtaken = self.newest.is_some_and(|(newest, _)| newest >= pn + PACKET_THRESHOLD);
            let cause = if overtaken { LossCause::Reordering } else { LossCause::Late };
            let in_flight = self.in_flight;
            self.controller.on_loss(&Loss { now, pn, bytes, sent_at: sent.at, in_flight, cause });
        }
        self.follow(now);
        sent
    }

    pub(super) fn on_dropped(&mut self, now: Time, pn: u64) -> Option<InFlight> {
        let sent = self.take_off(pn, |_| true);
        if sent.is_some() {
            self.controller.on_dropped(now);
        }
        self.follow(now);
        sent
    }

    /// A packet will not arrive: takes it off what is in flight.
    fn take_off(&mut self, pn: u64, is: impl FnOnce(&InFlight) -> bool) -> Option<InFlight> {
        let sent = self.table.take(pn, is)?;
        let bytes = u64::from(sent.bytes);
        self.in_flight = self.in_flight.saturating_sub(bytes);
        self.counts.lost_packets += 1;
        self.counts.lost_bytes += bytes;
        if let Some(sampler) = &mut self.sampler {
            sampler.on_loss(pn);
        }
        Some(sent)
    }

    /// Ends a batch of losses; true if it is persistent congestion.
    pub(super) fn on_losses_end(&mut self, now: Time, persistent: bool) -> bool {
        let collapses = std::mem::take(&mut self.lost_some) && persistent;
        if collapses {
            self.controller.on_persistent_congestion(now);
        }
        self.follow(now);
        collapses
    }

    pub(super) fn on_marked(&mut self, now: Time, packets: u64) {
        if let Some((pn, sent_at)) = self.newest {
            self.counts.mark_reports += 1;
            let in_flight = self.in_flight;
            self.controller.on_marked(&Marked { now, pn, sent_at, in_flight, packets });
        }
        self.follow(now);
    }

    pub(super) fn on_spurious(&mut self, now: Time) {
        self.counts.spurious += 1;
        self.controller.on_spurious_loss(now);
        self.follow(now);
    }

    pub(super) fn on_mtu(&mut self, now: Time, bytes: u64) {
        self.payload_bytes = bytes;
        self.controller.on_mtu(now, bytes);
        self.pacer.set_mtu(bytes);
        self.follow(now);
    }

    /// Counts at `now`, time in which data still waits included.
    pub(super) fn counts(&self, now: Time) -> Counts {
        let waits = self.waits.since.map_or(Duration::ZERO, |since| now - since);
        Counts { busy: self.counts.busy + waits, ..self.counts }
    }
}
