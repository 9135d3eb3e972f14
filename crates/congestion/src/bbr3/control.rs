//! Pacing rate and window (section 5.6).

use std::time::Duration;

use airlane_base::Rate;

use super::Bbr3;
use super::state::{Phase, State};
use crate::{INITIAL_WINDOW_PACKETS, MAX_WINDOW_BYTES, pacing};

/// Share of the bandwidth that is sent at (section 2.5).
const PACING_MARGIN: f64 = 0.99;
/// Least window, in packets (section 2.8).
const MIN_PIPE_WINDOW_PACKETS: f64 = 4.0;
/// Packets beyond the window while it probes (section 5.6.4.2).
const UP_EXTRA_PACKETS: f64 = 2.0;
/// Longest burst, in time at the pacing rate and in bytes, and shortest in packets (section 5.6.3).
const QUANTUM_TIME: Duration = Duration::from_millis(1);
const MAX_QUANTUM_BYTES: f64 = 65_536.0;
const MIN_QUANTUM_PACKETS: f64 = 2.0;

impl Bbr3 {
    /// Rate that the path delivers as far as all of the model says (`BBR.bw`).
    pub(super) fn bw(&self) -> Rate {
        self.max_bandwidth.get().min(Rate::from_bps_f64(self.bounds.bw_shortterm))
    }

    pub(super) fn initial_window(&self) -> f64 {
        INITIAL_WINDOW_PACKETS * self.mss
    }

    pub(super) fn min_window(&self) -> f64 {
        MIN_PIPE_WINDOW_PACKETS * self.mss
    }

    /// `gain` bandwidth-delay products in bytes, the initial window before there is a round-trip time.
    pub(super) fn bdp(&self, bandwidth: Rate, gain: f64) -> f64 {
        let Some(min_rtt) = self.min_rtt.get() else { return self.initial_window() };
        gain * bandwidth.as_f64() / 8.0 * min_rtt.as_secs_f64()
    }

    /// Bytes in flight that `gain` bandwidth-delay products need, with room for bursts.
    pub(super) fn inflight(&self, bandwidth: Rate, gain: f64) -> f64 {
        self.with_quantization(self.bdp(bandwidth, gain))
    }

    fn with_quantization(&self, inflight: f64) -> f64 {
        let inflight = inflight.max(self.quantum()).max(self.min_window());
        if self.state == State::ProbeBw(Phase::Up) {
            inflight + UP_EXTRA_PACKETS * self.mss
        } else {
            inflight
        }
    }

    /// Bytes that may leave in one burst (section 5.6.3).
    fn quantum(&self) -> f64 {
        let rate = self.pacing_rate.unwrap_or_default().as_f64() / 8.0;
        let bytes = (rate * QUANTUM_TIME.as_secs_f64()).min(MAX_QUANTUM_BYTES);
        bytes.max(MIN_QUANTUM_PACKETS * self.mss)
    }

    /// Section 5.6.2: paces at `gain` bandwidths. Until the pipe is full the rate only rises.
    pub(super) fn set_pacing_rate(&mut self, gain: f64) {
        let rate = self.bw().scale(gain * PACING_MARGIN).max(Rate::from_bps(1));
        if self.full_bandwidth.is_reached || self.pacing_rate.is_none_or(|old| rate > old) {
            self.pacing_rate = Some(rate);
        }
    }

    /// Section 5.6.2: before the bandwidth is known, the initial window per round trip.
    pub(super) fn init_pacing_rate(&mut self, smoothed_rtt: Duration) {
        if self.pacing_rate.is_none() {
            let gain = State::Startup.pacing_gain();
            self.pacing_rate = pacing::rate(self.initial_window(), gain, Some(smoothed_rtt));
        }
    }

    /// Section 5.6.4.6.
    pub(super) fn set_window(&mut self) {
        let acked = self.sample.newly_acked as f64;
        let bdp = self.bdp(self.bw(), self.state.cwnd_gain());
        let max_inflight = self.with_quantization(bdp + self.extra_acked.get());
        if self.full_bandwidth.is_reached {
            self.window = (self.window + acked).min(max_inflight);
        } else if self.window < max_inflight
            || (self.rounds.delivered as f64) < self.initial_window()
        {
            self.window += acked;
        }
        self.window = self.window.max(self.min_window());
        if matches!(self.state, State::ProbeRtt(_)) {
            self.window = self.window.min(self.probe_rtt_window());
        }
        self.bound_window();
    }

    /// Section 5.6.4.7.
    fn bound_window(&mut self) {
        let longterm = match self.state {
            State::ProbeBw(Phase::Cruise) | State::ProbeRtt(_) => self.inflight_with_headroom(),
            State::ProbeBw(_) => self.bounds.inflight_longterm,
            State::Startup | State::Drain { .. } => f64::INFINITY,
        };
        let bound = longterm.min(self.bounds.inflight_shortterm).max(self.min_window());
        self.window = self.window.min(bound).min(MAX_WINDOW_BYTES);
    }

    /// Section 5.6.4.4: keeps the window, to come back to it from recovery and from ProbeRTT.
    pub(super) fn save_window(&mut self) {
        let is_cut = self.recovery.is_some() || matches!(self.state, State::ProbeRtt(_));
        self.prior_window = if is_cut { self.prior_window.max(self.window) } else { self.window };
    }

    pub(super) fn restore_window(&mut self) {
        self.window = self.window.max(self.prior_window);
    }
}
