//! LEDBAT (RFC 6817): a scavenger, which gives way to whoever else fills the queue.
//!
//! With each acknowledgement of `bytes`
//!
//! ```text
//! off_target = (TARGET - (current - base)) / TARGET
//! W <- W + GAIN off_target bytes MSS / W
//! ```
//!
//! but not below MIN_CWND, so that alone it keeps TARGET of delay in the queue, and falls to the least window where
//! others keep more. A loss halves the window, once per round trip.
//!
//! The RFC's delays are one way. QUIC's acknowledgements have none, so these are round trips: a queue in the way of the
//! acknowledgements counts too, and on a channel that both directions share LEDBAT gives way to either. In the place of
//! ALLOWED_INCREASE, a bound by what is in flight, is the rule of the other controllers: a window of which less than half
//! was in flight does not grow. An acknowledgement is of several packets here, after each of which less is in flight.

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::{Rate, Time};

use crate::base_delay::BaseDelay;
use crate::controller::{Ack, Controller, Loss, Marked, Sent};
use crate::flight::Flight;
use crate::{MAX_WINDOW_BYTES, pacing, whole_bytes};

/// Delay in the queue that it aims at: the most that the RFC allows, and what its implementations have.
pub const TARGET: Duration = Duration::from_millis(100);

/// Packets per round trip and share of the target off which the window changes by: the RFC's highest.
const GAIN: f64 = 1.0;

/// Samples whose least is the current delay (CURRENT_FILTER).
const CURRENT_SAMPLES: usize = 4;

/// Least window in packets (MIN_CWND), and that of the beginning (INIT_CWND).
const MIN_WINDOW_PACKETS: f64 = 2.0;

/// Share of the window kept after a loss.
const LOSS_REDUCTION_FACTOR: f64 = 0.5;

/// A LEDBAT sender.
#[derive(Clone, Debug)]
pub struct Ledbat {
    mss: f64,
    /// Window in packets.
    window: f64,
    /// The last delays, seconds.
    current: VecDeque<f64>,
    base: BaseDelay,
    /// In recovery until a packet above this number is acknowledged.
    recovery_end: Option<u64>,
    smoothed_rtt: Option<Duration>,
    flight: Flight,
}

impl Ledbat {
    /// A sender of packets of `mtu` bytes of UDP payload.
    pub fn new(mtu: u64) -> Self {
        Self {
            mss: mtu.max(1) as f64,
            window: MIN_WINDOW_PACKETS,
            current: VecDeque::with_capacity(CURRENT_SAMPLES),
            base: BaseDelay::default(),
            recovery_end: None,
            smoothed_rtt: None,
            flight: Flight::default(),
        }
    }

    /// Takes a sample of the delay, and returns what of the current delay is a queue, seconds.
    fn queueing(&mut self, now: Time, delay: f64) -> f64 {
        if self.current.len() == CURRENT_SAMPLES {
            self.current.pop_front();
        }
        self.current.push_back(delay);
        let base = self.base.update(now, delay);
        let current = self.current.iter().copied().fold(f64::INFINITY, f64::min);
        current - base
    }

    /// Packet `pn` met congestion.
    fn reduce(&mut self, pn: u64) {
        if self.recovery_end.is_some_and(|end| pn <= end) {
            return;
        }
        self.recovery_end = Some(self.flight.recovery_point().max(pn));
        self.set_window(self.window * LOSS_REDUCTION_FACTOR);
    }

    fn set_window(&mut self, packets: f64) {
        let max = (MAX_WINDOW_BYTES / self.mss).max(MIN_WINDOW_PACKETS);
        self.window = packets.clamp(MIN_WINDOW_PACKETS, max);
    }
}

impl Controller for Ledbat {
    fn on_sent(&mut self, sent: &Sent) {
        self.flight.on_sent(sent);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.smoothed_rtt = Some(ack.rtt.smoothed);
        // The flight is judged as it was before the acknowledgement that ends the round.
        let used = !ack.app_limited() && self.flight.uses(self.window());
        self.flight.on_ack(ack.pn);
        let queueing = self.queueing(ack.now, ack.rtt.latest.as_secs_f64());
        let off_target = 1.0 - queueing / TARGET.as_secs_f64();
        let packets = ack.bytes as f64 / self.mss;
        let change = GAIN * off_target * packets / self.window;
        if used || change < 0.0 {
            self.set_window(self.window + change);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.reduce(loss.pn);
    }

    fn on_marked(&mut self, marked: &Marked) {
        self.reduce(marked.pn);
    }

    fn on_persistent_congestion(&mut self, _now: Time) {
        self.set_window(MIN_WINDOW_PACKETS);
        self.recovery_end = None;
    }

    fn on_mtu(&mut self, _now: Time, bytes: u64) {
        self.mss = bytes.max(1) as f64;
    }

    fn window(&self) -> u64 {
        whole_bytes(self.window * self.mss)
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let gain = pacing::avoidance_gain(self.window);
        pacing::rate(self.window * self.mss, gain, self.smoothed_rtt)
    }

    fn name(&self) -> &'static str {
        "ledbat"
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
