//! NewReno after RFC 9002, section 7 and appendix B.

use std::time::Duration;

use airlane_base::{Rate, Time};

use crate::controller::{Ack, Controller, Loss, Marked, Sent};
use crate::flight::Flight;
use crate::{INITIAL_WINDOW_PACKETS, MAX_WINDOW_BYTES, pacing, whole_bytes};

/// Share of the window kept at a congestion event (kLossReductionFactor).
const LOSS_REDUCTION_FACTOR: f64 = 0.5;

/// Least window in packets (kMinimumWindow).
const MINIMUM_WINDOW_PACKETS: f64 = 2.0;

/// Window and threshold, as they were before an event that may prove spurious.
#[derive(Clone, Copy, Debug)]
struct Before {
    window: f64,
    ssthresh: f64,
}

/// NewReno.
#[derive(Clone, Debug)]
pub struct Reno {
    /// Bytes of a full packet.
    mss: f64,
    /// Window in bytes; real-valued, so that no acknowledged byte is rounded away.
    window: f64,
    /// Slow start below, in bytes.
    ssthresh: f64,
    /// In recovery until a packet above this number is acknowledged.
    recovery_end: Option<u64>,
    before: Option<Before>,
    smoothed_rtt: Option<Duration>,
    flight: Flight,
}

impl Reno {
    /// A controller in slow start for packets of `mtu` bytes of UDP payload.
    pub fn new(mtu: u64) -> Self {
        let mss = mtu.max(1) as f64;
        Self {
            mss,
            window: INITIAL_WINDOW_PACKETS * mss,
            ssthresh: f64::INFINITY,
            recovery_end: None,
            before: None,
            smoothed_rtt: None,
            flight: Flight::default(),
        }
    }

    /// The window in bytes, unrounded.
    pub(crate) fn real_window(&self) -> f64 {
        self.window
    }

    /// A packet was acknowledged: in avoidance the window grows by `share` of what it would grow by.
    pub(crate) fn grow(&mut self, ack: &Ack, share: f64) {
        self.smoothed_rtt = Some(ack.rtt.smoothed);
        self.flight.on_ack(ack.pn);
        // Sections 7.3.2 and 7.8: neither packets from before the event nor an unused window.
        if self.in_recovery(ack.pn) || ack.app_limited() || !self.flight.uses(self.window()) {
            return;
        }
        let acked = ack.bytes as f64;
        if self.window < self.ssthresh {
            self.window += acked;
        } else {
            self.window += share * (self.mss * acked / self.window);
        }
        self.window = self.window.min(MAX_WINDOW_BYTES);
    }

    fn in_recovery(&self, pn: u64) -> bool {
        self.recovery_end.is_some_and(|end| pn <= end)
    }

    /// Section 7.3.2: packet `pn` met congestion. Whether that begins a recovery period.
    fn reduce(&mut self, pn: u64) -> bool {
        if self.in_recovery(pn) {
            return false;
        }
        self.recovery_end = Some(self.flight.recovery_point().max(pn));
        self.ssthresh = self.window * LOSS_REDUCTION_FACTOR;
        self.window = self.ssthresh.max(MINIMUM_WINDOW_PACKETS * self.mss);
        true
    }
}

impl Controller for Reno {
    fn on_sent(&mut self, sent: &Sent) {
        self.flight.on_sent(sent);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.grow(ack, 1.0);
    }

    fn on_loss(&mut self, loss: &Loss) {
        let before = Before { window: self.window, ssthresh: self.ssthresh };
        if self.reduce(loss.pn) {
            self.before = Some(before);
        }
    }

    fn on_marked(&mut self, marked: &Marked) {
        if self.reduce(marked.pn) {
            // Marks are never spurious.
            self.before = None;
        }
    }

    fn on_persistent_congestion(&mut self, _now: Time) {
        self.window = MINIMUM_WINDOW_PACKETS * self.mss;
        self.recovery_end = None;
        self.before = None;
    }

    fn on_spurious_loss(&mut self, _now: Time) {
        if let Some(before) = self.before.take() {
            self.window = self.window.max(before.window);
            self.ssthresh = self.ssthresh.max(before.ssthresh);
            self.recovery_end = None;
        }
    }

    fn on_mtu(&mut self, _now: Time, bytes: u64) {
        self.mss = bytes.max(1) as f64;
        self.window = self.window.max(MINIMUM_WINDOW_PACKETS * self.mss);
    }

    fn window(&self) -> u64 {
        whole_bytes(self.window)
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let gain = if self.window < self.ssthresh {
            pacing::SLOW_START_GAIN
        } else {
            pacing::AVOIDANCE_GAIN
        };
        pacing::rate(self.window, gain, self.smoothed_rtt)
    }

    fn ssthresh(&self) -> Option<u64> {
        self.ssthresh.is_finite().then(|| whole_bytes(self.ssthresh))
    }

    fn name(&self) -> &'static str {
        "reno"
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
