//! BBR version 1, after "BBR: Congestion-Based Congestion Control" (ACM Queue, 2016) and
//! draft-cardwell-iccrg-bbr-congestion-control-00, whose sections are named below.

mod config;
mod filter;

use std::time::Duration;

use airlane_base::{Rate, Rng, Seed, Time};
use rand::RngExt;

use crate::controller::{Ack, Controller, Loss, Marked, RateSample, Sent};
use crate::flight::Flight;
use crate::windowed_max::WindowedMax;
use crate::{INITIAL_WINDOW_PACKETS, MAX_WINDOW_BYTES, pacing, whole_bytes};
pub use config::BbrConfig;
use filter::MinRtt;

/// 2/ln 2: the least gain that doubles the rate per round (section 4.3.2.1).
const HIGH_GAIN: f64 = 2.885;
/// Pacing gains of the phases of ProbeBW, each about one round trip (section 4.3.4.2).
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Share of the estimated bandwidth that is sent at (one percent less in Linux and in the later drafts).
/// At exactly the bandwidth a queue left by a burst would never go away: the draining phase only
/// takes back what the probing one added.
const PACING_MARGIN: f64 = 0.99;
/// Window in bandwidth-delay products outside Startup and Drain.
const CWND_GAIN: f64 = 2.0;
/// Rounds that the bandwidth filter looks back (section 4.1.1.3).
const BW_WINDOW_ROUNDS: u64 = 10;
/// Least time at the least window in ProbeRTT (section 4.3.5).
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// Window of ProbeRTT, and the least of all.
const MIN_WINDOW_PACKETS: f64 = 4.0;
/// Growth per round that tells a pipe that is not full yet, and how many rounds without it tell
/// one that is (section 4.3.2.2).
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// Packets lost in a round, and their share of it, that tell a full pipe where the application limits the
/// samples, which version 1 does not look at: it would never leave Startup (draft-ietf-ccwg-bbr, section
/// 5.3.1.3).
const FULL_LOSSES: u64 = 6;
const FULL_LOSS_SHARE: f64 = 0.02;

/// A queue that drops packets on purpose (Octopus) does so before they can wait: the sender need not keep
/// its queue short. For this long after such a drop, unless another packet is lost, the pacing gain is at
/// least [`BbrConfig::drop_pacing_gain`].
const THINNED_FOR: Duration = Duration::from_secs(5);

/// Mode of BBR (section 4.3).
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw {
        /// Index into [`CYCLE`].
        phase: usize,
        since: Time,
    },
    ProbeRtt {
        /// Time at which the flight had fallen to the minimum window, plus [`PROBE_RTT_TIME`].
        until: Option<Time>,
        /// True if a round passed at the minimum window.
        round_done: bool,
    },
}

/// Losses of one flight (section 4.2.3.4).
#[derive(Clone, Copy, Debug)]
struct Recovery {
    /// It ends when a packet above this number is acknowledged.
    end: u64,
    /// Its first round: send no more than is delivered.
    conservation: bool,
}

/// BBR version 1.
#[derive(Clone, Debug)]
pub struct Bbr {
    config: BbrConfig,
    mss: f64,
    mode: Mode,
    rng: Rng,
    /// The largest rate of the last rounds (`BtlBwFilter`).
    bandwidth: WindowedMax<Rate>,
    rtprop: MinRtt,
    /// Rounds by delivered bytes (section 4.1.1.2).
    round: u64,
    round_start: bool,
    next_round_delivered: u64,
    delivered: u64,
    /// Samples of packets sent while `delivered` was in this range were limited by ProbeRTT.
    probe_rtt_limited: Option<(u64, u64)>,
    filled_pipe: bool,
    full_bandwidth: f64,
    full_rounds: u32,
    /// Time at which the network dropped a packet on purpose, if none has been lost since.
    thinned: Option<Time>,
    /// Packets of this round that arrived, and that were lost or dropped on purpose.
    round_acked: u64,
    round_lost: u64,
    /// Set between the first packet after an idle time and its acknowledgement.
    idle_restart: bool,
    /// Packets were lost, or dropped on purpose, since the last acknowledgement.
    lost: bool,
    recovery: Option<Recovery>,
    /// Window in bytes, and the one to come back to from recovery and ProbeRTT.
    window: f64,
    prior_window: f64,
    pacing_rate: Option<Rate>,
    flight: Flight,
}

impl Bbr {
    /// A controller in Startup at `now` for packets of `mtu` bytes of UDP payload. The seed
    /// decides in which phase of its cycle a flow starts to probe.
    pub fn new(now: Time, mtu: u64, seed: Seed) -> Self {
        Self::with_config(BbrConfig::default(), now, mtu, seed)
    }

    /// A controller with options of its own.
    pub fn with_config(config: BbrConfig, now: Time, mtu: u64, seed: Seed) -> Self {
        let mss = mtu.max(1) as f64;
        Self {
            config,
            mss,
            mode: Mode::Startup,
            rng: seed.split("bbr").rng(),
            bandwidth: WindowedMax::default(),
            rtprop: MinRtt::new(now),
            round: 0,
            round_start: false,
            next_round_delivered: 0,
            delivered: 0,
            probe_rtt_limited: None,
            filled_pipe: false,
            full_bandwidth: 0.0,
            full_rounds: 0,
            thinned: None,
            round_acked: 0,
            round_lost: 0,
            idle_restart: false,
            lost: false,
            recovery: None,
            window: INITIAL_WINDOW_PACKETS * mss,
            prior_window: 0.0,
            pacing_rate: None,
            flight: Flight::default(),
        }
    }

    fn pacing_gain(&self, now: Time) -> f64 {
        let thinned = self.thinned.is_some_and(|at| now.since(at) < THINNED_FOR);
        let gain = match self.mode {
            Mode::Startup => HIGH_GAIN,
            Mode::Drain => 1.0 / HIGH_GAIN,
            Mode::ProbeBw { .. } if self.idle_restart => 1.0,
            Mode::ProbeBw { phase, .. } => CYCLE[phase],
            Mode::ProbeRtt { .. } => 1.0,
        };
        if thinned { gain.max(self.config.drop_pacing_gain) } else { gain }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => HIGH_GAIN,
            Mode::ProbeBw { .. } => CWND_GAIN,
            Mode::ProbeRtt { .. } => 1.0,
        }
    }

    /// `gain` bandwidth-delay products in bytes, the initial window before there is a model.
    fn inflight(&self, gain: f64) -> f64 {
        match self.rtprop.get() {
            Some(rtprop) if self.bandwidth.get() > Rate::ZERO => {
                gain * self.bandwidth.get().as_f64() / 8.0 * rtprop.as_secs_f64()
            }
            _ => INITIAL_WINDOW_PACKETS * self.mss,
        }
    }

    /// Rounds that the bandwidth filter looks back. None is shorter than the minimum round trip, so that these
    /// last for the time that is asked.
    fn bandwidth_window(&self) -> u64 {
        let time = self.config.min_bandwidth_window;
        let rounds = self.rtprop.get().map_or(0, |rtprop| {
            time.as_nanos().div_ceil(rtprop.as_nanos().max(1)).try_into().unwrap_or(u64::MAX)
        });
        BW_WINDOW_ROUNDS.max(rounds)
    }

    fn quantum(&self) -> u64 {
        pacing::quantum(self.pacing_rate.unwrap_or_default(), self.mss as u64)
    }

    fn min_window(&self) -> f64 {
        MIN_WINDOW_PACKETS * self.mss
    }

    /// Sections 4.1.1.2 and 4.1.1.3.
    fn update_bandwidth(&mut self, sample: &RateSample) {
        self.delivered = sample.delivered;
        if sample.prior_delivered >= self.next_round_delivered {
            self.next_round_delivered = sample.delivered;
            self.round += 1;
            self.round_start = true;
            if let Some(recovery) = &mut self.recovery {
                recovery.conservation = false;
            }
        }
        let prior = sample.prior_delivered;
        let limited = sample.app_limited
            || self.probe_rtt_limited.is_some_and(|(from, to)| from <= prior && prior <= to);
        if sample.rate >= self.bandwidth.get() || !limited {
            self.bandwidth.update(self.round, sample.rate, self.bandwidth_window());
        }
        if self.round_start {
            if !self.filled_pipe && limited {
                self.check_losses();
            } else if !self.filled_pipe {
                self.check_full_pipe();
            }
            (self.round_acked, self.round_lost) = (0, 0);
        }
    }

    /// A path that loses packets is full, whoever limits what is sent.
    fn check_losses(&mut self) {
        let sent = (self.round_acked + self.round_lost) as f64;
        self.filled_pipe =
            self.round_lost >= FULL_LOSSES && self.round_lost as f64 > FULL_LOSS_SHARE * sent;
    }

    /// Section 4.3.2.2.
    fn check_full_pipe(&mut self) {
        let bandwidth = self.bandwidth.get().as_f64();
        if bandwidth >= self.full_bandwidth * FULL_GROWTH {
            self.full_bandwidth = bandwidth;
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.filled_pipe = self.full_rounds >= FULL_ROUNDS;
    }

    /// Section 4.3.4.3.
    fn enter_probe_bw(&mut self, now: Time) {
        // Any phase but the draining one, which only makes sense after the probing one.
        let phase = (CYCLE.len() - self.rng.random_range(0..CYCLE.len() - 1)) % CYCLE.len();
        self.mode = Mode::ProbeBw { phase, since: now };
    }

    fn update_mode(&mut self, ack: &Ack) {
        if self.mode == Mode::Startup && self.filled_pipe {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && ack.in_flight as f64 <= self.inflight(1.0) {
            self.enter_probe_bw(ack.now);
        }
        if let Mode::ProbeBw { phase, since } = self.mode {
            let rtprop = self.rtprop.get().unwrap_or_default();
            let full_length = ack.now - since > rtprop;
            let prior_in_flight = ack.in_flight.saturating_add(ack.bytes) as f64;
            let gain = CYCLE[phase];
            let next = if gain > 1.0 {
                full_length && (self.lost || prior_in_flight >= self.inflight(gain))
            } else {
                full_length || gain < 1.0 && prior_in_flight <= self.inflight(1.0)
            };
            if next {
                self.mode = Mode::ProbeBw { phase: (phase + 1) % CYCLE.len(), since: ack.now };
            }
        }
    }

    /// Sections 4.1.2.3 and 4.3.5.
    fn update_rtprop(&mut self, ack: &Ack) {
        let expired = self.rtprop.update(ack.now, ack.rtt.latest, self.config.rtprop_window);
        let probing = matches!(self.mode, Mode::ProbeRtt { .. });
        if expired && !self.idle_restart && !probing {
            self.save_window();
            self.mode = Mode::ProbeRtt { until: None, round_done: false };
            self.probe_rtt_limited = None;
        }
        if let Mode::ProbeRtt { until, round_done } = self.mode {
            self.probe_rtt(ack, until, round_done);
        }
    }

    fn probe_rtt(&mut self, ack: &Ack, until: Option<Time>, round_done: bool) {
        let limited_from = self.probe_rtt_limited.map_or(self.delivered, |(from, _)| from);
        let limited_to = self.delivered.saturating_add(ack.in_flight);
        self.probe_rtt_limited = Some((limited_from, limited_to));
        let Some(done) = until else {
            if ack.in_flight as f64 <= self.min_window() {
                self.next_round_delivered = self.delivered;
                self.mode =
                    Mode::ProbeRtt { until: Some(ack.now + PROBE_RTT_TIME), round_done: false };
            }
            return;
        };
        let round_done = round_done || self.round_start;
        self.mode = Mode::ProbeRtt { until, round_done };
        if round_done && ack.now > done {
            self.rtprop.renew(ack.now);
            self.restore_window();
            if self.filled_pipe {
                self.enter_probe_bw(ack.now);
            } else {
                self.mode = Mode::Startup;
            }
        }
    }

    /// Section 4.2.3.4.
    fn save_window(&mut self) {
        let keep = self.recovery.is_some() || matches!(self.mode, Mode::ProbeRtt { .. });
        self.prior_window = if keep { self.prior_window.max(self.window) } else { self.window };
    }

    fn restore_window(&mut self) {
        self.window = self.window.max(self.prior_window);
    }

    /// Section 4.2.3.4: packet `pn` met congestion.
    fn recover(&mut self, pn: u64, in_flight: u64) {
        self.save_window();
        let end = self.flight.recovery_point().max(pn);
        self.recovery = Some(Recovery { end, conservation: true });
        self.next_round_delivered = self.delivered;
        self.window = in_flight as f64 + self.mss;
    }

    /// Section 4.2.1: until the pipe is full the rate only rises.
    fn set_pacing_rate(&mut self, now: Time, smoothed_rtt: Duration) {
        let bandwidth = self.bandwidth.get();
        if bandwidth == Rate::ZERO {
            let nominal = INITIAL_WINDOW_PACKETS * self.mss;
            self.pacing_rate = pacing::rate(nominal, HIGH_GAIN, Some(smoothed_rtt));
            return;
        }
        let rate = bandwidth.scale(self.pacing_gain(now) * PACING_MARGIN);
        if self.filled_pipe || self.pacing_rate.is_none_or(|old| rate > old) {
            self.pacing_rate = Some(rate);
        }
    }

    /// Section 4.2.3.
    fn set_window(&mut self, ack: &Ack) {
        let acked = ack.bytes as f64;
        // Room for offloads is added here alone. The draft adds it to the flights that end Drain
        // and the draining phase as well, and a slow path then never gets rid of six packets.
        let target = self.inflight(self.cwnd_gain()) + 3.0 * self.quantum() as f64;
        if self.recovery.is_some_and(|r| r.conservation) {
            self.window = self.window.max(ack.in_flight as f64 + acked);
        } else {
            if self.filled_pipe {
                self.window = (self.window + acked).min(target);
            } else if self.window < target
                || (self.delivered as f64) < INITIAL_WINDOW_PACKETS * self.mss
            {
                self.window += acked;
            }
            self.window = self.window.max(self.min_window());
        }
        if matches!(self.mode, Mode::ProbeRtt { .. }) {
            self.window = self.window.min(self.min_window());
        }
        self.window = self.window.min(MAX_WINDOW_BYTES);
    }
}

impl Controller for Bbr {
    fn on_sent(&mut self, sent: &Sent) {
        if self.flight.on_sent(sent) {
            // Section 4.3.4.4: what follows an idle time starts at the estimated bandwidth.
            self.idle_restart = true;
            if matches!(self.mode, Mode::ProbeBw { .. }) && self.bandwidth.get() > Rate::ZERO {
                self.pacing_rate = Some(self.bandwidth.get().scale(PACING_MARGIN));
            }
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.flight.on_ack(ack.pn);
        self.round_start = false;
        self.round_acked += 1;
        if self.recovery.is_some_and(|r| ack.pn > r.end) {
            self.recovery = None;
            self.restore_window();
        }
        if let Some(sample) = &ack.sample {
            self.update_bandwidth(sample);
        }
        self.update_mode(ack);
        self.update_rtprop(ack);
        self.idle_restart = false;
        self.lost = false;
        self.set_pacing_rate(ack.now, ack.rtt.smoothed);
        self.set_window(ack);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.lost = true;
        self.round_lost += 1;
        self.thinned = None;
        if self.recovery.is_some_and(|r| loss.pn <= r.end) {
            self.window = (self.window - loss.bytes as f64).max(self.mss);
            return;
        }
        self.recover(loss.pn, loss.in_flight);
    }

    fn on_dropped(&mut self, now: Time) {
        self.lost = true;
        self.round_lost += 1;
        self.thinned = Some(now);
    }

    fn on_marked(&mut self, marked: &Marked) {
        if self.recovery.is_none_or(|r| marked.pn > r.end) {
            self.recover(marked.pn, marked.in_flight);
        }
    }

    fn on_persistent_congestion(&mut self, _now: Time) {
        self.save_window();
        self.recovery = Some(Recovery { end: self.flight.recovery_point(), conservation: false });
        self.window = self.min_window();
    }

    fn on_spurious_loss(&mut self, _now: Time) {
        if self.recovery.take().is_some() {
            self.restore_window();
        }
    }

    fn on_mtu(&mut self, _now: Time, bytes: u64) {
        self.mss = bytes.max(1) as f64;
    }

    fn window(&self) -> u64 {
        whole_bytes(self.window.max(self.mss))
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate
    }

    fn bandwidth(&self) -> Option<Rate> {
        Some(self.bandwidth.get()).filter(|rate| *rate > Rate::ZERO)
    }

    fn has_filled_path(&self) -> bool {
        self.filled_pipe
    }

    fn takes_samples(&self) -> bool {
        true
    }

    fn follows_sending(&self) -> bool {
        true
    }

    fn name(&self) -> &'static str {
        "bbr"
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
