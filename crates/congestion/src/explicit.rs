//! A rate that is set from outside: by the network element, the receiver or the application.

use std::time::Duration;

use airlane_base::{Rate, Time};

use crate::controller::{Ack, Controller, LastSignals, Loss, Marked, Sent, Signal};

/// The least rate. A pacer divides by it; a sender that wants to pause stops writing.
pub const MIN_RATE: Rate = Rate::from_bps(1_000);

/// Round trips of the rate that the window holds: losses and late acknowledgements must not make
/// the window the limit.
const WINDOW_RTTS: u32 = 4;

/// Least time of the rate that the window holds.
const WINDOW_TIME: Duration = Duration::from_millis(500);

/// Packets that the window holds at any rate.
const WINDOW_PACKETS: u64 = 10;

/// Sends at a given rate, whatever is lost.
///
/// The rate, at least [`MIN_RATE`], is set by [`Signal::Rate`]. After a change the transport has to be driven once: its pacer may sleep by
/// the old rate.
#[derive(Clone, Debug)]
pub struct Explicit {
    rate: Rate,
    mtu: u64,
    smoothed_rtt: Duration,
}

impl Explicit {
    /// A controller that sends at `rate` in packets of `mtu` bytes of UDP payload.
    pub fn new(rate: Rate, mtu: u64) -> Self {
        Self { rate: rate.max(MIN_RATE), mtu: mtu.max(1), smoothed_rtt: Duration::ZERO }
    }
}

impl Controller for Explicit {
    fn on_sent(&mut self, _sent: &Sent) {}

    fn on_ack(&mut self, ack: &Ack) {
        self.smoothed_rtt = ack.rtt.smoothed;
    }

    fn on_loss(&mut self, _loss: &Loss) {}

    fn on_marked(&mut self, _marked: &Marked) {}

    fn on_signal(&mut self, _now: Time, signal: Signal) -> bool {
        let Signal::Rate(rate) = signal else { return false };
        self.rate = rate.max(MIN_RATE);
        true
    }

    fn last_signals(&self) -> LastSignals {
        LastSignals { rate: Some(self.rate), ..LastSignals::default() }
    }

    fn on_mtu(&mut self, _now: Time, bytes: u64) {
        self.mtu = bytes.max(1);
    }

    fn window(&self) -> u64 {
        let span = self.smoothed_rtt.saturating_mul(WINDOW_RTTS).max(WINDOW_TIME);
        // A terabyte in flight is no limit to anyone, and keeps sums away from overflow.
        self.rate.bytes_in(span).min(1 << 40) + WINDOW_PACKETS * self.mtu
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.rate)
    }

    fn name(&self) -> &'static str {
        "explicit"
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_what_was_set_and_the_window_is_no_limit() {
        let mut boxed: Box<dyn Controller> = Explicit::new(Rate::from_mbps(12.0), 1350).clone_box();
        assert_eq!(boxed.pacing_rate(), Some(Rate::from_mbps(12.0)));
        assert!(boxed.window() >= Rate::from_mbps(12.0).bytes_in(WINDOW_TIME));
        assert!(boxed.set_rate(Time::ZERO, Rate::ZERO));
        assert!(!boxed.set_weight(Time::ZERO, 2.0));
        assert_eq!(boxed.pacing_rate(), Some(MIN_RATE));
        assert!(boxed.window() >= 10 * 1350);
    }
}
