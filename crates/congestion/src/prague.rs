//! Prague (draft-briscoe-iccrg-prague-congestion-control-04): a Scalable congestion control for L4S.
//!
//! Queues mark its packets often and early. It takes the share of marked packets, alpha, and once per
//! round trip in which some were marked its window becomes
//!
//! ```text
//! W <- W (1 - alpha / 2)
//! ```
//!
//! while each acknowledged packet without a mark adds 1/W packets, so that a flow alone has about two
//! marks per round trip, whatever its rate. A loss halves the window: a queue without L4S sees Reno.
//! Equations, and what is left out: `docs/design/controllers.md`.

use std::time::Duration;

use airlane_base::{Rate, Time};

use crate::controller::{Ack, Controller, Loss, Marked, Sent};
use crate::flight::Flight;
use crate::{INITIAL_WINDOW_PACKETS, MAX_WINDOW_BYTES, pacing, whole_bytes};

/// Least window in packets.
const MIN_WINDOW_PACKETS: f64 = 2.0;

/// g: weight of a round trip in alpha.
const ALPHA_GAIN: f64 = 1.0 / 16.0;

/// Share of the window kept after a loss.
const LOSS_REDUCTION_FACTOR: f64 = 0.5;

/// Round trip as which a shorter one counts, after [`TRANSITION_ROUNDS`].
const VIRTUAL_RTT: Duration = Duration::from_millis(25);

/// Round trips after slow start from which on short ones count as [`VIRTUAL_RTT`]: a short transfer is not slowed.
const TRANSITION_ROUNDS: u32 = 500;

/// Packets that were acknowledged, and those of them that came marked.
#[derive(Clone, Copy, Debug, Default)]
struct Feedback {
    packets: u64,
    marked: u64,
}

/// The window before a loss, which may prove spurious.
#[derive(Clone, Copy, Debug)]
struct Before {
    window: f64,
    ssthresh: f64,
}

/// A Prague sender.
///
/// It needs the number of marked packets: [`Marked::packets`] has to be exact.
#[derive(Clone, Debug)]
pub struct Prague {
    /// Bytes of a full packet.
    mss: f64,
    /// Window in bytes; real-valued, as it changes by less than a packet.
    window: f64,
    /// Slow start below, in bytes.
    ssthresh: f64,
    /// Share of packets that come marked, smoothed; 1 until the first mark.
    alpha: f64,
    /// Some packet came marked: there is a queue that marks.
    has_seen_mark: bool,
    /// Since `alpha` was updated.
    feedback: Feedback,
    /// `alpha` is updated next with the acknowledgement of this packet or a later one,
    alpha_end: u64,
    /// if [`VIRTUAL_RTT`] has passed, for a short round trip, since then.
    alpha_at: Time,
    /// Marks do not reduce the window again until a packet above this number is acknowledged,
    mark_end: Option<u64>,
    /// and [`VIRTUAL_RTT`] has passed since they last did, for a short round trip.
    reduced_at: Option<Time>,
    /// In recovery until a packet above this number is acknowledged.
    recovery_end: Option<u64>,
    before: Option<Before>,
    /// Growth of the window with the packet acknowledged last, bytes: a mark, of which the controller hears
    /// only then, takes it back.
    increase: f64,
    /// Round trips since slow start.
    rounds: u32,
    smoothed_rtt: Option<Duration>,
    flight: Flight,
}

impl Prague {
    /// A sender in slow start at `now`, of packets of `mtu` bytes of UDP payload.
    pub fn new(now: Time, mtu: u64) -> Self {
        let mss = mtu.max(1) as f64;
        Self {
            mss,
            window: INITIAL_WINDOW_PACKETS * mss,
            ssthresh: f64::INFINITY,
            alpha: 1.0,
            has_seen_mark: false,
            feedback: Feedback::default(),
            alpha_end: 0,
            alpha_at: now,
            mark_end: None,
            reduced_at: None,
            recovery_end: None,
            before: None,
            increase: 0.0,
            rounds: 0,
            smoothed_rtt: None,
            flight: Flight::default(),
        }
    }

    /// Share of packets that come marked, smoothed; 1 until the first mark.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    fn is_in_slow_start(&self) -> bool {
        self.window < self.ssthresh
    }

    /// The smoothed round trip, if it is one that counts as [`VIRTUAL_RTT`].
    fn short_rtt(&self) -> Option<Duration> {
        let lasts = self.rounds >= TRANSITION_ROUNDS && !self.is_in_slow_start();
        self.smoothed_rtt.filter(|rtt| lasts && *rtt < VIRTUAL_RTT)
    }

    /// True if [`VIRTUAL_RTT`] has passed since `at`, or the round trip does not count as it.
    fn has_passed(&self, now: Time, at: Time) -> bool {
        self.short_rtt().is_none() || now.since(at) >= VIRTUAL_RTT
    }

    /// A packet was acknowledged: the window grows.
    fn grow(&mut self, ack: &Ack) {
        self.increase = 0.0;
        if self.recovery_end.is_some() || ack.app_limited() || !self.flight.uses(self.window()) {
            return;
        }
        let acked = ack.bytes as f64;
        self.increase = if self.is_in_slow_start() {
            acked
        } else {
            // A packet per VIRTUAL_RTT, of a window that is as much smaller as the round trip is.
            let scale = self.short_rtt().map_or(1.0, |rtt| rtt.div_duration_f64(VIRTUAL_RTT));
            scale * scale * self.mss * acked / self.window
        };
        self.set_window(self.window + self.increase);
    }

    fn update_alpha(&mut self, ack: &Ack) {
        self.feedback.packets += 1;
        if ack.pn < self.alpha_end || !self.has_passed(ack.now, self.alpha_at) {
            return;
        }
        let Feedback { packets, marked } = std::mem::take(&mut self.feedback);
        if self.has_seen_mark && packets > 0 {
            let share = (marked as f64 / packets as f64).min(1.0);
            self.alpha += ALPHA_GAIN * (share - self.alpha);
        }
        self.alpha_end = self.flight.recovery_point().saturating_add(1);
        self.alpha_at = ack.now;
        if !self.is_in_slow_start() {
            self.rounds = self.rounds.saturating_add(1);
        }
    }

    fn set_window(&mut self, bytes: f64) {
        let least = MIN_WINDOW_PACKETS * self.mss;
        self.window = bytes.clamp(least, MAX_WINDOW_BYTES.max(least));
    }
}

impl Controller for Prague {
    fn on_sent(&mut self, sent: &Sent) {
        self.flight.on_sent(sent);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.smoothed_rtt = Some(ack.rtt.smoothed);
        if self.recovery_end.is_some_and(|end| ack.pn > end) {
            self.recovery_end = None;
        }
        if self.mark_end.is_some_and(|end| ack.pn > end) {
            self.mark_end = None;
        }
        self.grow(ack);
        self.flight.on_ack(ack.pn);
        self.update_alpha(ack);
    }

    fn on_loss(&mut self, loss: &Loss) {
        if self.recovery_end.is_some_and(|end| loss.pn <= end) {
            return;
        }
        self.before = Some(Before { window: self.window, ssthresh: self.ssthresh });
        self.recovery_end = Some(self.flight.recovery_point().max(loss.pn));
        self.set_window(self.window * LOSS_REDUCTION_FACTOR);
        self.ssthresh = self.window;
    }

    fn on_marked(&mut self, marked: &Marked) {
        self.has_seen_mark = true;
        self.feedback.marked = self.feedback.marked.saturating_add(marked.packets);
        // These were taken for packets without a mark.
        let taken_back = self.increase * marked.packets as f64;
        self.set_window(self.window - taken_back);
        let is_due = self.reduced_at.is_none_or(|at| self.has_passed(marked.now, at));
        if self.mark_end.is_none() && is_due {
            self.mark_end = Some(self.flight.recovery_point().max(marked.pn));
            self.reduced_at = Some(marked.now);
            self.set_window(self.window * (1.0 - self.alpha / 2.0));
        }
        self.ssthresh = self.ssthresh.min(self.window);
    }

    fn on_persistent_congestion(&mut self, _now: Time) {
        self.set_window(0.0);
        (self.recovery_end, self.before) = (None, None);
    }

    fn on_spurious_loss(&mut self, _now: Time) {
        if let Some(before) = self.before.take() {
            self.set_window(self.window.max(before.window));
            self.ssthresh = self.ssthresh.max(before.ssthresh);
            self.recovery_end = None;
        }
    }

    fn on_mtu(&mut self, _now: Time, bytes: u64) {
        self.mss = bytes.max(1) as f64;
        self.set_window(self.window);
    }

    fn window(&self) -> u64 {
        whole_bytes(self.window)
    }

    fn pacing_rate(&self) -> Option<Rate> {
        // A queue marks whoever sends above its rate, so that avoidance has no margin over the window.
        let is_far = self.window < self.ssthresh / 2.0;
        let gain = if is_far { pacing::SLOW_START_GAIN } else { 1.0 };
        pacing::rate(self.window, gain, self.smoothed_rtt)
    }

    fn burst_packets(&self) -> f64 {
        1.0
    }

    fn is_scalable(&self) -> bool {
        true
    }

    fn ssthresh(&self) -> Option<u64> {
        self.ssthresh.is_finite().then(|| whole_bytes(self.ssthresh))
    }

    fn name(&self) -> &'static str {
        "prague"
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
