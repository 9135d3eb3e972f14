//! Weighted FAST (Minerva, section 5.6; Wei, Jin, Low, Hegde, "FAST TCP", 2006).
//!
//! Once per round trip
//!
//! ```text
//! W <- min(2 W, (1 - gamma) W + gamma (RTTmin/RTT W + kappa w))
//! ```
//!
//! so that in equilibrium the flow keeps `kappa w` packets in the bottleneck's queue, and flows of
//! one bottleneck share it in proportion to their weights, whatever their round trips. A new weight
//! holds within a few round trips, without a loss to learn it from.
//!
//! RTTmin is to be the round trip without a queue; a flow that finds a queue takes that for its own
//! and gets too much. So it is measured anew: after ten seconds without a lower sample the flow
//! halves its window for two round trips. Who shares the bottleneck sees the same dip, and so they
//! all come to measure together, as BBR's flows do.

use std::time::Duration;

use airlane_base::{Rate, Time};

use crate::controller::{Ack, Controller, LastSignals, Loss, Marked, Sent, Signal};
use crate::cubic::usable_weight;
use crate::flight::Flight;
use crate::{INITIAL_WINDOW_PACKETS, MAX_WINDOW_BYTES, pacing, whole_bytes};

/// Packets that a flow of weight 1 keeps in the queue. Eight plain flows on 10 Mbit/s, four viewers
/// at the paper's baseline, then wait 13 ms: below the 15 ms at which PIE begins to drop.
pub const KAPPA: f64 = 1.5;

/// Part of the new window in each update: FAST's gamma.
const GAMMA: f64 = 0.5;

/// Share of the window kept when a packet is lost: FAST falls back to NewReno's.
const LOSS_REDUCTION_FACTOR: f64 = 0.5;

/// Least window in packets.
const MINIMUM_WINDOW_PACKETS: f64 = 2.0;

/// Time for which a minimal round trip is believed.
const BASE_LIFE: Duration = Duration::from_secs(10);

/// RTTmin is measured anew: first what is in flight drains, then a round is looked at.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// The window to go back to.
    window: f64,
    /// The part of it ends with the acknowledgement of a packet above this number.
    until: u64,
    /// The least round trip seen; none while the flight drains.
    min_s: Option<f64>,
}

/// FAST with a weight.
#[derive(Clone, Debug)]
pub struct Fast {
    mss: f64,
    /// Window in packets.
    window: f64,
    /// Doubles every round until a queue is seen.
    slow_start: bool,
    weight: f64,
    /// Sum and number of this round's round-trip times in seconds, one per acknowledgement frame:
    /// that of its newest packet, which the receiver held back least.
    round: (f64, u32),
    frame: Option<Duration>,
    round_ended: bool,
    base_s: f64,
    base_at: Time,
    probe: Option<Probe>,
    /// In recovery until a packet above this number is acknowledged.
    recovery_end: Option<u64>,
    smoothed_rtt: Option<Duration>,
    flight: Flight,
}

impl Fast {
    /// A controller in slow start for packets of `mtu` bytes of UDP payload that counts for
    /// `weight` plain flows.
    pub fn new(weight: f64, mtu: u64) -> Self {
        Self {
            mss: mtu.max(1) as f64,
            window: INITIAL_WINDOW_PACKETS,
            slow_start: true,
            weight: usable_weight(weight),
            round: (0.0, 0),
            frame: None,
            round_ended: false,
            base_s: f64::INFINITY,
            base_at: Time::ZERO,
            probe: None,
            recovery_end: None,
            smoothed_rtt: None,
            flight: Flight::default(),
        }
    }

    fn in_recovery(&self, pn: u64) -> bool {
        self.recovery_end.is_some_and(|end| pn <= end)
    }

    /// Packet `pn` met congestion.
    fn reduce(&mut self, pn: u64) {
        if self.in_recovery(pn) {
            return;
        }
        self.recovery_end = Some(self.flight.recovery_point().max(pn));
        self.slow_start = false;
        self.round = (0.0, 0);
        let window = self.probe.take().map_or(self.window, |p| p.window);
        self.set_window(window * LOSS_REDUCTION_FACTOR);
    }

    /// Follows RTTmin; true while it is measured anew.
    fn follow_base(&mut self, ack: &Ack) -> bool {
        let rtt = ack.rtt.latest.as_secs_f64().max(1e-6);
        if rtt <= self.base_s {
            (self.base_s, self.base_at) = (rtt, ack.now);
        }
        match &mut self.probe {
            None if ack.now - self.base_at > BASE_LIFE && !self.slow_start => {
                let until = self.flight.recovery_point();
                self.probe = Some(Probe { window: self.window, until, min_s: None });
                self.set_window(0.5 * self.window);
                true
            }
            None => false,
            Some(probe) => {
                if let Some(least) = &mut probe.min_s {
                    *least = least.min(rtt);
                }
                if ack.pn > probe.until {
                    let (window, least) = (probe.window, probe.min_s);
                    probe.until = self.flight.recovery_point();
                    match least {
                        None => probe.min_s = Some(rtt),
                        Some(least) => {
                            (self.base_s, self.base_at) = (least, ack.now);
                            self.probe = None;
                            self.set_window(window);
                        }
                    }
                }
                true
            }
        }
    }

    /// The end of a round.
    fn update(&mut self) {
        let (sum, n) = std::mem::take(&mut self.round);
        if n == 0 {
            return;
        }
        let shrink = (self.base_s / (sum / f64::from(n))).min(1.0);
        let wanted = KAPPA * self.weight;
        if self.slow_start {
            self.slow_start = (1.0 - shrink) * self.window < 0.5 * wanted;
        }
        if !self.slow_start {
            let next = (1.0 - GAMMA) * self.window + GAMMA * (shrink * self.window + wanted);
            self.set_window(next.min(2.0 * self.window));
        }
    }

    fn set_window(&mut self, packets: f64) {
        let most = MAX_WINDOW_BYTES / self.mss;
        self.window = packets.clamp(MINIMUM_WINDOW_PACKETS, most.max(MINIMUM_WINDOW_PACKETS));
    }
}

impl Controller for Fast {
    fn on_sent(&mut self, sent: &Sent) {
        self.flight.on_sent(sent);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.smoothed_rtt = Some(ack.rtt.smoothed);
        let probing = self.follow_base(ack);
        self.frame = Some(self.frame.map_or(ack.rtt.latest, |f| f.min(ack.rtt.latest)));
        // The flight is judged as it was before the acknowledgement that ends the round.
        let used = !ack.app_limited() && self.flight.uses(self.window());
        let ended = self.flight.on_ack(ack.pn);
        if self.in_recovery(ack.pn) || !used || probing {
            // What these round trips saw was not this window.
            self.round = (0.0, 0);
            return;
        }
        self.round_ended |= ended;
        if self.slow_start {
            self.set_window(self.window + ack.bytes as f64 / self.mss);
        }
    }

    fn on_ack_end(&mut self, _now: Time, _in_flight: u64) {
        if let Some(rtt) = self.frame.take() {
            self.round.0 += rtt.as_secs_f64();
            self.round.1 += 1;
        }
        if std::mem::take(&mut self.round_ended) {
            self.update();
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.reduce(loss.pn);
    }

    fn on_marked(&mut self, marked: &Marked) {
        self.reduce(marked.pn);
    }

    fn on_persistent_congestion(&mut self, _now: Time) {
        self.set_window(MINIMUM_WINDOW_PACKETS);
        self.recovery_end = None;
        self.probe = None;
    }

    fn on_mtu(&mut self, _now: Time, bytes: u64) {
        self.mss = bytes.max(1) as f64;
    }

    fn window(&self) -> u64 {
        whole_bytes(self.window * self.mss)
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let gain = if self.slow_start {
            pacing::SLOW_START_GAIN
        } else {
            pacing::avoidance_gain(self.window)
        };
        pacing::rate(self.window * self.mss, gain, self.smoothed_rtt)
    }

    fn on_signal(&mut self, _now: Time, signal: Signal) -> bool {
        let Signal::Weight(weight) = signal else { return false };
        self.weight = usable_weight(weight);
        true
    }

    fn last_signals(&self) -> LastSignals {
        LastSignals { weight: Some(self.weight), ..LastSignals::default() }
    }

    fn name(&self) -> &'static str {
        "fast"
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
