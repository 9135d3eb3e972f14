//! Rates of lost packets and of round trips with losses (sections 4.5.2 and 4.5.4).

use std::time::Duration;

use airlane_base::Time;

/// Share of lost packets above which losses count as congestion (LOSS_RATE_THRESHOLD).
const MAX_LINK_LOSS_RATE: f64 = 0.01;

/// Weight of a round trip in the rate of round trips with losses. The draft gives none; its
/// implementation has this one.
const ROUND_GAIN: f64 = 0.01;

/// Smoothed rates of losses.
#[derive(Clone, Debug, Default)]
pub(super) struct LossRates {
    /// loss_rate: of packets.
    packets: f64,
    /// loss_event_rate: of round trips.
    rounds: f64,
    has_lost: bool,
    round_at: Option<Time>,
}

impl LossRates {
    /// The fate of a packet is known; `window_packets`: the reference window.
    pub fn on_packet(&mut self, is_lost: bool, window_packets: f64) {
        let gain = (MAX_LINK_LOSS_RATE / 4.0).min(0.5 / window_packets.max(1.0));
        let lost = if is_lost { 1.0 } else { 0.0 };
        self.packets += gain * (lost - self.packets);
        self.has_lost |= is_lost;
    }

    /// Ends a round trip if one has passed.
    pub fn update(&mut self, now: Time, rtt: Duration) {
        if self.round_at.is_some_and(|at| now.since(at) < rtt) {
            return;
        }
        let lossy = if std::mem::take(&mut self.has_lost) { 1.0 } else { 0.0 };
        self.rounds += ROUND_GAIN * (lossy - self.rounds);
        self.round_at = Some(now);
    }

    /// True if more packets are lost than a link loses by itself.
    pub fn is_congestion(&self) -> bool {
        self.packets > MAX_LINK_LOSS_RATE
    }

    /// Share of round trips with losses.
    pub fn rounds(&self) -> f64 {
        self.rounds
    }
}
