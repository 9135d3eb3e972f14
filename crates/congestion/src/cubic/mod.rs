//! CUBIC after RFC 9438, with a real-valued weight.
//!
//! A flow of weight w takes w times what a plain flow takes; see [`WeightRule`] for how. With
//! w = 1 every formula is RFC 9438's. Windows are in packets of the path's MTU, and fractions of
//! packets count by their bytes.

mod config;
mod curve;
mod hystart;
mod weight;

use std::time::Duration;

use airlane_base::{Rate, Time};

pub use config::{CubicConfig, WEIGHT_RANGE, WeightRule};
pub use curve::{ALPHA, BETA, C};

use crate::controller::{Ack, Controller, LastSignals, Loss, Marked, Sent, Signal};
use crate::flight::Flight;
use crate::{INITIAL_WINDOW_PACKETS, MAX_WINDOW_BYTES, pacing, whole_bytes};
pub(crate) use config::usable_weight;
use curve::Epoch;
use hystart::{Growth, HyStart};
use weight::Synchrony;

/// Least window of a plain flow in packets (RFC 9002, section 7.2).
const MINIMUM_WINDOW_PACKETS: f64 = 2.0;

/// State that a congestion event changes, and a spurious one restores (RFC 9438, section 4.9).
/// Windows in packets.
#[derive(Clone, Copy, Debug)]
struct State {
    cwnd: f64,
    ssthresh: f64,
    /// Window when loss last hit (`W_max`).
    w_max: f64,
    /// `None` in slow start, and in avoidance until its first acknowledgement.
    epoch: Option<Epoch>,
    synchrony: Synchrony,
}

impl State {
    fn scale(&mut self, factor: f64) {
        self.cwnd *= factor;
        self.ssthresh *= factor;
        self.w_max *= factor;
        if let Some(epoch) = &mut self.epoch {
            epoch.scale(factor);
        }
    }
}

/// The losses of packets sent before one recovery point.
#[derive(Clone, Copy, Debug)]
struct Event {
    /// Highest packet number sent when it began.
    end: u64,
    /// Losses in it so far, adjacent packets counted once.
    lost: u32,
    /// The packet lost last.
    last_lost: u64,
    /// True if its losses tell of synchrony: the overshoot of slow start does not.
    counts: bool,
    /// Growth during its recovery: that of the virtual flows that were not hit.
    growth: f64,
    /// The state before it, if it may still be undone.
    before: Option<State>,
}

impl Event {
    /// One more packet was lost. Neighbours leave in one burst, which would be one virtual
    /// flow's: they count once.
    fn add(&mut self, pn: u64) {
        if pn > self.last_lost.saturating_add(1) {
            self.lost = self.lost.saturating_add(1);
        }
        self.last_lost = self.last_lost.max(pn);
    }
}

/// CUBIC with a weight.
#[derive(Clone, Debug)]
pub struct Cubic {
    config: CubicConfig,
    /// Bytes of a full packet.
    mss: f64,
    weight: f64,
    state: State,
    event: Option<Event>,
    /// A packet from after the event's recovery point was acknowledged.
    recovered: bool,
    /// `None` after the first slow start, or when switched off.
    hystart: Option<HyStart>,
    smoothed_rtt: Option<Duration>,
    /// Time at which the epoch's clock was last looked at.
    clock: Time,
    flight: Flight,
}

impl Cubic {
    /// A controller in slow start at `now` for packets of `mtu` bytes of UDP payload.
    pub fn new(config: CubicConfig, now: Time, mtu: u64) -> Self {
        Self {
            config,
            mss: mtu.max(1) as f64,
            weight: usable_weight(config.weight),
            state: State {
                cwnd: INITIAL_WINDOW_PACKETS,
                ssthresh: f64::INFINITY,
                w_max: 0.0,
                epoch: None,
                synchrony: Synchrony::new(),
            },
            event: None,
            recovered: true,
            hystart: config.hystart.then(HyStart::default),
            smoothed_rtt: None,
            clock: now,
            flight: Flight::default(),
        }
    }

    /// True if the window still doubles per round.
    pub fn in_slow_start(&self) -> bool {
        self.state.cwnd < self.state.ssthresh
    }

    /// Goes on in congestion avoidance with a window of so many bytes, as if it had come to it: another
    /// controller decided until now.
    pub(crate) fn resume(&mut self, bytes: u64) {
        self.state.cwnd = self.bound(bytes as f64 / self.mss);
        self.state.ssthresh = self.state.cwnd;
        self.state.w_max = self.state.cwnd;
        self.state.epoch = None;
        (self.event, self.recovered, self.hystart) = (None, true, None);
    }

    /// Takes over what is in flight from another.
    pub(crate) fn adopt_flight(&mut self, other: &Self) {
        self.flight = other.flight;
        (self.smoothed_rtt, self.clock) = (other.smoothed_rtt, other.clock);
    }

    fn set_weight(&mut self, weight: f64) {
        let factor = weight / self.weight;
        self.weight = weight;
        if factor == 1.0 || !self.flight.started() {
            return; // Before the first packet the initial window is any flow's.
        }
        self.state.scale(factor);
        self.state.cwnd = self.bound(self.state.cwnd);
        if let Some(before) = self.event.as_mut().and_then(|event| event.before.as_mut()) {
            before.scale(factor);
        }
    }

    /// Least window in packets: two per plain flow, and one in all.
    fn floor(&self) -> f64 {
        (MINIMUM_WINDOW_PACKETS * self.weight).max(1.0)
    }

    fn bound(&self, cwnd: f64) -> f64 {
        cwnd.max(self.floor()).min(MAX_WINDOW_BYTES / self.mss)
    }

    fn hit_share(&self) -> f64 {
        self.state.synchrony.hit_share(self.config.rule, self.weight)
    }

    /// The constant of the curve of an epoch when a share `m` of events hits a virtual flow.
    fn curve_constant(&self, m: f64) -> f64 {
        let c = weight::curve_constant(self.weight, m, weight::kept(m));
        // Lighter than a plain flow: it escapes some of the events that a plain one is hit by, so
        // its epochs vary in length, and beyond the plateau the long ones gain more by the cube
        // than the short ones miss.
        if self.config.rule == WeightRule::Synchronised { c / m.max(1.0) } else { c }
    }

    /// Share of fast convergence that applies when a share `m` of events hits a virtual flow: all
    /// of it for a plain flow.
    fn yielding(&self, m: f64) -> f64 {
        match self.config.rule {
            WeightRule::Synchronised => (1.5 * m - 0.5).clamp(0.0, 1.0),
            WeightRule::Textbook => 1.0,
        }
    }

    fn slow_start(&mut self, ack: &Ack, acked: f64, new_round: bool) {
        let growth = match &mut self.hystart {
            Some(hystart) => hystart.on_ack(ack.rtt.latest, new_round),
            None => Growth::Share(1.0),
        };
        match growth {
            Growth::Share(share) => {
                let cwnd = self.state.cwnd + share * acked;
                self.state.cwnd = self.bound(cwnd.min(self.state.ssthresh));
            }
            Growth::Done => {
                self.hystart = None;
                self.state.ssthresh = self.state.cwnd;
            }
        }
    }

    fn avoidance(&mut self, acked: f64, elapsed: f64, rtt: Duration, growth: f64) {
        if self.state.epoch.is_none() {
            let m = self.hit_share();
            let c = self.curve_constant(m);
            self.state.w_max = self.state.cwnd;
            self.state.epoch = Some(Epoch::after_slow_start(self.state.cwnd, c));
        }
        let (cwnd, weight) = (self.state.cwnd, self.weight);
        let Some(epoch) = &mut self.state.epoch else { return };
        epoch.advance(elapsed * growth);
        let grown = epoch.grow(cwnd, acked * growth, rtt.as_secs_f64(), weight);
        self.state.cwnd = self.bound(grown);
    }

    /// Takes the losses of the last event into account and starts a new one, with packet `pn` lost or
    /// marked.
    fn start_event(&mut self, pn: u64) {
        if let Some(last) = self.event.take()
            && last.counts
        {
            self.state.synchrony.on_event(last.lost, self.weight);
        }
        let before = self.state;
        let counts = !self.in_slow_start();
        let m = self.hit_share();
        let kept = weight::kept(m);
        let prior = self.state.cwnd;
        // Section 4.7: a flow that did not come back to its last plateau yields some more. Whole
        // packets count, as in kernels: a hundredth of a packet short is back. A sum of flows of
        // which each event hits others is short as a rule, and gives way only as far as the same
        // ones are hit again.
        let short = self.config.fast_convergence && prior + 1.0 <= self.state.w_max;
        let yields = if short { self.yielding(m) } else { 0.0 };
        self.state.w_max = prior * (1.0 - yields * (1.0 - kept) / 2.0);
        let cwnd = self.bound(prior * kept);
        self.state.cwnd = cwnd;
        self.state.ssthresh = cwnd;
        let c = self.curve_constant(m);
        self.state.epoch = Some(Epoch::after_event(cwnd, self.state.w_max, prior, c));
        self.hystart = None;
        let synchronised = self.config.rule == WeightRule::Synchronised;
        self.event = Some(Event {
            end: self.flight.recovery_point().max(pn),
            lost: 1,
            last_lost: pn,
            counts,
            growth: if synchronised { (1.0 - m).clamp(0.0, 1.0) } else { 0.0 },
            before: Some(before),
        });
        self.recovered = false;
    }

    /// The window that makes a transport which sends whole packets carry what `weight` transports
    /// would: each of them leaves half a packet of its window unused on average.
    fn gated_packets(&self) -> f64 {
        let cwnd = self.state.cwnd;
        if cwnd < pacing::PACED_WINDOW_PACKETS {
            return pacing::PACED_WINDOW_PACKETS; // The pacer is the limit.
        }
        match self.config.rule {
            WeightRule::Synchronised => (cwnd - (self.weight - 1.0) / 2.0).max(1.0),
            WeightRule::Textbook => cwnd,
        }
    }
}

impl Controller for Cubic {
    fn on_sent(&mut self, sent: &Sent) {
        if self.flight.on_sent(sent) {
            // Section 5.8: time without anything in flight is not the epoch's.
            self.clock = sent.now;
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.smoothed_rtt = Some(ack.rtt.smoothed);
        let elapsed = (ack.now - self.clock).as_secs_f64();
        self.clock = ack.now;
        let new_round = self.flight.on_ack(ack.pn);
        if self.event.is_some_and(|event| ack.pn > event.end) {
            self.recovered = true;
        }
        if ack.app_limited() || !self.flight.uses(self.window()) {
            return;
        }
        let acked = ack.bytes as f64 / self.mss;
        let growth = match self.event {
            Some(event) if !self.recovered => event.growth,
            _ => 1.0,
        };
        if self.in_slow_start() {
            self.slow_start(ack, acked, new_round);
        } else if growth > 0.0 {
            self.avoidance(acked, elapsed, ack.rtt.smoothed, growth);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        match &mut self.event {
            Some(event) if loss.pn <= event.end => event.add(loss.pn),
            _ => self.start_event(loss.pn),
        }
    }

    fn on_marked(&mut self, marked: &Marked) {
        if self.event.is_some_and(|event| marked.pn <= event.end) {
            return;
        }
        self.start_event(marked.pn);
        // Marks are never spurious.
        if let Some(event) = &mut self.event {
            event.before = None;
        }
    }

    fn on_persistent_congestion(&mut self, _now: Time) {
        // RFC 9002, section 7.6.2; RFC 9438, section 4.8: the next avoidance starts a new curve.
        self.state.cwnd = self.floor();
        self.state.epoch = None;
        self.recovered = true;
        if let Some(event) = &mut self.event {
            event.before = None;
        }
    }

    fn on_spurious_loss(&mut self, _now: Time) {
        let Some(before) = self.event.and_then(|event| event.before) else { return };
        let cwnd = self.state.cwnd;
        self.state = before;
        self.state.cwnd = self.bound(cwnd.max(before.cwnd));
        self.event = None;
        self.recovered = true;
    }

    fn on_mtu(&mut self, _now: Time, bytes: u64) {
        let mss = bytes.max(1) as f64;
        let factor = self.mss / mss;
        self.mss = mss;
        // The window keeps its bytes, as do its plateau and threshold.
        self.state.scale(factor);
        self.state.cwnd = self.bound(self.state.cwnd);
        if let Some(before) = self.event.as_mut().and_then(|event| event.before.as_mut()) {
            before.scale(factor);
        }
    }

    fn window(&self) -> u64 {
        whole_bytes(self.gated_packets() * self.mss)
    }

    fn pacing_rate(&self) -> Option<Rate> {
        if !self.config.is_paced {
            return None;
        }
        let gain = if self.in_slow_start() {
            pacing::SLOW_START_GAIN
        } else {
            pacing::avoidance_gain(self.state.cwnd)
        };
        pacing::rate(self.state.cwnd * self.mss, gain, self.smoothed_rtt)
    }

    fn ssthresh(&self) -> Option<u64> {
        let bytes = self.state.ssthresh * self.mss;
        bytes.is_finite().then(|| whole_bytes(bytes))
    }

    fn on_signal(&mut self, _now: Time, signal: Signal) -> bool {
        let Signal::Weight(weight) = signal else { return false };
        self.set_weight(usable_weight(weight));
        true
    }

    fn last_signals(&self) -> LastSignals {
        LastSignals { weight: Some(self.weight), ..LastSignals::default() }
    }

    fn name(&self) -> &'static str {
        "cubic"
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
