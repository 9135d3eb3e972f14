//! ProbeBW: four phases that send slower, as fast, and faster than the path delivers (section 5.3.3).

use std::time::Duration;

use airlane_base::Time;
use rand::RngExt;

use super::Bbr3;
use super::state::{Phase, State};

/// Time between probes on the clock: this long, and up to a second more, drawn (section 5.3.3.8.3).
const MIN_PROBE_WAIT: Duration = Duration::from_secs(2);
const MAX_PROBE_WAIT_DRAWN: Duration = Duration::from_secs(1);
/// Rounds between probes where the path holds more packets, so that Reno and Cubic have the time to grow
/// (section 5.3.3.8.2).
const MAX_RENO_ROUNDS: f64 = 63.0;
/// Share of the long-term bound that is left free for others (section 2.8).
const HEADROOM: f64 = 0.15;
/// Rounds after which the growth of the long-term bound does not double any more.
const MAX_GROWTH_DOUBLINGS: u32 = 30;

/// Course of a cycle of ProbeBW.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cycle {
    /// Time at which it began.
    start: Time,
    /// Time after which it probes in any case.
    probe_wait: Duration,
    /// Rounds since the last probe, and at most one more, drawn.
    pub rounds_since_up: u64,
    /// Losses say how the probe went (`BBR.is_bw_probe_sample`).
    pub is_probe_sample: bool,
    /// The probe or ProbeRTT has ended, and for a round trip more its acknowledgements come in
    /// (`ACKS_PROBE_STOPPING`).
    pub is_stopping: bool,
    /// The last probe met too many losses.
    pub prev_too_high: bool,
    /// It ended where the one before had met them.
    prev_precautionary: bool,
}

impl Cycle {
    pub fn new(now: Time) -> Self {
        Self {
            start: now,
            probe_wait: Duration::ZERO,
            rounds_since_up: 0,
            is_probe_sample: false,
            is_stopping: false,
            prev_too_high: false,
            prev_precautionary: false,
        }
    }
}

/// Growth of the long-term bound while a probe fills it (section 5.3.3.5).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BoundGrowth {
    /// Bytes acknowledged since it last grew.
    acked: f64,
    /// Bytes to be acknowledged for a packet more.
    acked_per_packet: f64,
    /// Round trips of growth so far.
    doublings: u32,
}

impl Bbr3 {
    /// True in one of the phases of ProbeBW.
    pub(super) fn is_in_probe_bw(&self) -> bool {
        matches!(self.state, State::ProbeBw(_))
    }

    /// A phase that slows down begins, and a cycle with it.
    pub(super) fn start_down(&mut self, now: Time) {
        self.latest.reset();
        let drawn = MAX_PROBE_WAIT_DRAWN.mul_f64(self.rng.random::<f64>());
        self.cycle.rounds_since_up = self.rng.random_range(0..=1);
        self.cycle.probe_wait = MIN_PROBE_WAIT + drawn;
        self.cycle.start = now;
        self.cycle.is_stopping = true;
        self.rounds.start();
        self.state = State::ProbeBw(Phase::Down);
    }

    /// A phase that fills the pipe begins, with nothing left of the short-term model.
    pub(super) fn start_refill(&mut self) {
        self.bounds.reset_short_term();
        self.growth = BoundGrowth::default();
        self.cycle.prev_precautionary = false;
        self.cycle.is_stopping = false;
        self.rounds.start();
        self.state = State::ProbeBw(Phase::Refill);
    }

    /// A phase that probes begins.
    fn start_up(&mut self) {
        self.cycle.is_probe_sample = true;
        self.rounds.start();
        self.full_bandwidth.reset(self.sample.rate);
        self.state = State::ProbeBw(Phase::Up);
        self.raise_growth();
    }

    /// Section 5.3.3.9.
    pub(super) fn update_probe_bw(&mut self, now: Time) {
        if !self.full_bandwidth.is_reached || self.adapt_long_term_model() {
            return;
        }
        let State::ProbeBw(phase) = self.state else { return };
        match phase {
            Phase::Down | Phase::Cruise if self.is_time_to_probe(now) => self.start_refill(),
            Phase::Down if self.is_time_to_cruise() => self.state = State::ProbeBw(Phase::Cruise),
            Phase::Refill if self.rounds.is_start => self.start_up(),
            Phase::Up => {
                if self.is_time_to_go_down() {
                    self.cycle.prev_too_high = false;
                    self.start_down(now);
                }
            }
            Phase::Down | Phase::Cruise | Phase::Refill => {}
        }
    }

    /// Bandwidth-delay product in bytes, unless congestion cut the window.
    pub(super) fn target_inflight(&self) -> f64 {
        self.bdp(self.bw(), 1.0).min(self.window)
    }

    fn is_time_to_probe(&self, now: Time) -> bool {
        let reno_rounds = (self.target_inflight() / self.mss).min(MAX_RENO_ROUNDS);
        now > self.cycle.start + self.cycle.probe_wait
            || self.cycle.rounds_since_up as f64 >= reno_rounds
    }

    fn is_time_to_cruise(&self) -> bool {
        let in_flight = self.sample.in_flight as f64;
        in_flight <= self.inflight_with_headroom()
            && in_flight <= self.inflight(self.max_bandwidth.get(), 1.0)
    }

    /// Section 5.3.3.7.
    fn is_time_to_go_down(&mut self) -> bool {
        let longterm = self.bounds.inflight_longterm;
        // As of before the acknowledgement, which makes room, and but for a part of a packet: else the flight
        // would never reach a bound on it.
        let in_flight = self.sample.in_flight.saturating_add(self.sample.newly_acked) as f64;
        if self.cycle.prev_too_high && in_flight + self.mss > longterm {
            self.cycle.prev_precautionary = true;
            return true;
        }
        if self.rounds.is_window_limited() && self.window >= longterm {
            // It is the bound that holds the bandwidth down.
            self.full_bandwidth.reset(self.sample.rate);
            return false;
        }
        self.full_bandwidth.is_now
    }

    /// Long-term bound in bytes less what is left to others.
    pub(super) fn inflight_with_headroom(&self) -> f64 {
        let longterm = self.bounds.inflight_longterm;
        if longterm.is_infinite() {
            return longterm;
        }
        let headroom = self.mss.max(HEADROOM * longterm);
        (longterm - headroom).max(self.min_window())
    }

    /// Section 5.3.3.9: each round trip the bound grows by twice as many packets.
    fn raise_growth(&mut self) {
        let packets = f64::from(1u32 << self.growth.doublings);
        self.growth.doublings = (self.growth.doublings + 1).min(MAX_GROWTH_DOUBLINGS);
        self.growth.acked_per_packet = (self.window / packets).max(self.mss);
    }

    fn grow_longterm(&mut self) {
        if !self.rounds.is_window_limited() || self.window < self.bounds.inflight_longterm {
            return;
        }
        self.growth.acked += self.sample.newly_acked as f64;
        let packets = (self.growth.acked / self.growth.acked_per_packet).floor();
        if packets >= 1.0 {
            self.growth.acked -= packets * self.growth.acked_per_packet;
            self.bounds.inflight_longterm += packets * self.mss;
        }
        if self.rounds.is_start {
            self.raise_growth();
        }
    }

    /// Follows the acknowledgements of a probe. Returns whether it has changed the state.
    fn adapt_long_term_model(&mut self) -> bool {
        if self.cycle.is_stopping && self.rounds.is_start && self.end_probe() {
            return true;
        }
        let (longterm, sent) = (self.bounds.inflight_longterm, self.sample.sent);
        if longterm.is_infinite() || self.is_inflight_too_high(sent) {
            return false;
        }
        self.bounds.inflight_longterm = longterm.max(sent.in_flight as f64);
        if self.state == State::ProbeBw(Phase::Up) {
            self.grow_longterm();
        }
        false
    }

    /// The last acknowledgements of a probe are in. Returns whether the next one begins at once: the last
    /// went well, but ended early by precaution (section 5.3.3.6).
    fn end_probe(&mut self) -> bool {
        self.cycle.is_probe_sample = false;
        self.cycle.is_stopping = false;
        if !self.is_in_probe_bw() {
            return false;
        }
        if !self.sample.app_limited {
            self.max_bandwidth.advance();
        }
        let goes_on = self.cycle.prev_precautionary && !self.cycle.prev_too_high;
        if goes_on {
            self.start_refill();
        }
        goes_on
    }
}
