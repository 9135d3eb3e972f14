//! The states, Startup and Drain (sections 5.1, 5.3.1 and 5.3.2).

use airlane_base::{Rate, Time};

use super::Bbr3;
use super::model::Sample;

/// 4 ln 2: the least pacing gain that doubles the rate per round (section 2.5).
const STARTUP_PACING_GAIN: f64 = 2.77;
/// Pacing gain that drains the queue of Startup within a round trip (section 2.5).
const DRAIN_PACING_GAIN: f64 = 0.5;
/// Pacing gains of two phases of ProbeBW (sections 5.3.3.1 and 5.3.3.5).
const DOWN_PACING_GAIN: f64 = 0.9;
const UP_PACING_GAIN: f64 = 1.25;
/// Window in bandwidth-delay products, but for two states (section 5.6.1).
const DEFAULT_CWND_GAIN: f64 = 2.0;
const UP_CWND_GAIN: f64 = 2.25;
const PROBE_RTT_CWND_GAIN: f64 = 0.5;

/// Growth per round that tells a pipe that is not full yet, and rounds without it that tell one that is
/// (section 5.3.1.2).
const FULL_BW_GROWTH: f64 = 1.25;
const FULL_BW_ROUNDS: u32 = 3;
/// Rounds after which Drain ends in any case (section 5.3.2).
const MAX_DRAIN_ROUNDS: u64 = 3;

/// State of the machine (section 5.1.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum State {
    Startup,
    Drain {
        /// The round in which it began.
        start_round: u64,
    },
    ProbeBw(Phase),
    ProbeRtt(ProbeRtt),
}

/// Phase of ProbeBW (section 5.3.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Phase {
    Down,
    Cruise,
    Refill,
    Up,
}

/// Progress of ProbeRTT (section 5.3.4.3).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ProbeRtt {
    /// Time at which it may end, once the flight has fallen.
    pub until: Option<Time>,
    /// A round trip has passed since then.
    pub round_done: bool,
}

impl State {
    pub fn pacing_gain(self) -> f64 {
        match self {
            Self::Startup => STARTUP_PACING_GAIN,
            Self::Drain { .. } => DRAIN_PACING_GAIN,
            Self::ProbeBw(Phase::Down) => DOWN_PACING_GAIN,
            Self::ProbeBw(Phase::Up) => UP_PACING_GAIN,
            Self::ProbeBw(Phase::Cruise | Phase::Refill) | Self::ProbeRtt(_) => 1.0,
        }
    }

    pub fn cwnd_gain(self) -> f64 {
        match self {
            Self::ProbeBw(Phase::Up) => UP_CWND_GAIN,
            Self::ProbeRtt(_) => PROBE_RTT_CWND_GAIN,
            Self::Startup | Self::Drain { .. } | Self::ProbeBw(_) => DEFAULT_CWND_GAIN,
        }
    }

    /// True if losses are what it is to find (`IsProbingBW`, section 5.3.3.9).
    pub fn is_probing_bandwidth(self) -> bool {
        matches!(self, Self::Startup | Self::ProbeBw(Phase::Refill | Phase::Up))
    }
}

/// Detector of a bandwidth that no longer grows (section 5.3.1.2).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullBandwidth {
    baseline: Rate,
    rounds: u32,
    /// It has not grown since it was last looked at anew (`BBR.full_bw_now`).
    pub is_now: bool,
    /// It has once stopped to grow, or met losses (`BBR.full_bw_reached`).
    pub is_reached: bool,
}

impl FullBandwidth {
    /// Looks anew, for growth beyond `baseline`.
    pub fn reset(&mut self, baseline: Rate) {
        *self = Self { baseline, is_reached: self.is_reached, ..Self::default() };
    }

    /// Takes the sample in with which a round starts.
    fn update(&mut self, sample: &Sample) {
        if self.is_now || sample.app_limited {
            return;
        }
        if sample.rate >= self.baseline.scale(FULL_BW_GROWTH) {
            self.reset(sample.rate);
            return;
        }
        self.rounds += 1;
        self.is_now = self.rounds >= FULL_BW_ROUNDS;
        self.is_reached |= self.is_now;
    }
}

impl Bbr3 {
    /// Sections 5.3.1.2, 5.3.1.1 and 5.3.2.
    pub(super) fn update_startup_and_drain(&mut self, now: Time) {
        if self.rounds.is_start {
            self.full_bandwidth.update(&self.sample);
        }
        if self.state == State::Startup && self.full_bandwidth.is_reached {
            self.state = State::Drain { start_round: self.rounds.count };
        }
        if let State::Drain { start_round } = self.state {
            let is_drained = self.sample.in_flight as f64 <= self.inflight(self.bw(), 1.0);
            if is_drained || self.rounds.count > start_round.saturating_add(MAX_DRAIN_ROUNDS) {
                self.start_down(now);
            }
        }
    }
}
