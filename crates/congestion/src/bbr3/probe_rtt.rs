//! ProbeRTT: half a window, so that the queue drains and the path's own round trip shows (section 5.3.4).

use std::time::Duration;

use airlane_base::{Rate, Time};

use super::Bbr3;
use super::state::{Phase, ProbeRtt, State};

/// Least time at half a window (section 2.16.2).
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);

/// Packets sent while `delivered` was in a range, of which samples measure ProbeRTT and not the path.
#[derive(Clone, Copy, Debug)]
pub(super) struct LimitedRange {
    from: u64,
    to: u64,
}

impl LimitedRange {
    pub fn contains(self, prior_delivered: u64) -> bool {
        (self.from..=self.to).contains(&prior_delivered)
    }
}

impl Bbr3 {
    /// Section 5.3.4.3.
    pub(super) fn update_probe_rtt(&mut self, now: Time) {
        self.min_rtt.update(now, self.sample.rtt);
        let is_in_it = matches!(self.state, State::ProbeRtt(_));
        if !is_in_it && self.min_rtt.is_expired && !self.idle_restart {
            self.save_window();
            self.state = State::ProbeRtt(ProbeRtt::default());
            self.probe_rtt_limited = None;
            self.cycle.is_stopping = true;
            self.rounds.start();
        }
        if let State::ProbeRtt(progress) = self.state {
            self.advance_probe_rtt(now, progress);
        }
        if self.sample.newly_acked > 0 {
            self.idle_restart = false;
        }
    }

    fn advance_probe_rtt(&mut self, now: Time, mut progress: ProbeRtt) {
        let (delivered, in_flight) = (self.rounds.delivered, self.sample.in_flight);
        let from = self.probe_rtt_limited.map_or(delivered, |range| range.from);
        let to = delivered.saturating_add(in_flight);
        self.probe_rtt_limited = Some(LimitedRange { from, to });
        if progress.until.is_none() {
            if in_flight as f64 <= self.probe_rtt_window() {
                progress.until = Some(now + PROBE_RTT_TIME);
                self.rounds.start();
            }
        } else {
            progress.round_done |= self.rounds.is_start;
        }
        self.state = State::ProbeRtt(progress);
        if progress.round_done {
            self.check_probe_rtt_done(now);
        }
    }

    /// Section 5.3.4.4.
    fn check_probe_rtt_done(&mut self, now: Time) {
        let State::ProbeRtt(ProbeRtt { until: Some(until), .. }) = self.state else { return };
        if now <= until {
            return;
        }
        self.min_rtt.schedule(now);
        self.restore_window();
        self.bounds.reset_short_term();
        if self.full_bandwidth.is_reached {
            self.start_down(now);
            self.state = State::ProbeBw(Phase::Cruise);
        } else {
            self.state = State::Startup;
        }
    }

    /// Section 5.4.1: a packet leaves while nothing is in flight.
    pub(super) fn restart_from_idle(&mut self, now: Time) {
        self.idle_restart = true;
        // The draft moves the interval's start alone: what came before would look like aggregation.
        self.extra_acked.restart(now);
        if self.is_in_probe_bw() {
            if self.bw() > Rate::ZERO {
                self.set_pacing_rate(1.0);
            }
        } else {
            self.check_probe_rtt_done(now);
        }
    }

    /// Window of ProbeRTT in bytes.
    pub(super) fn probe_rtt_window(&self) -> f64 {
        self.bdp(self.bw(), State::ProbeRtt(ProbeRtt::default()).cwnd_gain()).max(self.min_window())
    }
}
