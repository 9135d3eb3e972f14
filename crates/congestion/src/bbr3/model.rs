//! The model of the path: bandwidth, round trips and aggregation (sections 5.5.1 to 5.5.9).

use std::time::Duration;

use airlane_base::{Rate, Time};

use super::packets::SentState;
use crate::windowed_max::WindowedMax;

/// Cycles of ProbeBW that the bandwidth filter looks back (section 2.11).
const MAX_BW_FILTER_CYCLES: u64 = 2;
/// Rounds that the filter of aggregation looks back, after Startup and in it (section 5.5.9).
const EXTRA_ACKED_FILTER_ROUNDS: u64 = 10;
const EXTRA_ACKED_STARTUP_ROUNDS: u64 = 1;
/// Life of a minimum round-trip time (section 2.16.1).
const MIN_RTT_FILTER_INTERVAL: Duration = Duration::from_secs(10);
/// Time after which a minimum round-trip time is to be looked for in ProbeRTT (section 2.16.2).
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);

/// One acknowledgement, of one packet or several (`RS.`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    /// Bytes that it newly acknowledges.
    pub newly_acked: u64,
    /// Bytes in flight after it.
    pub in_flight: u64,
    /// The least of the round-trip times of its packets.
    pub rtt: Duration,
    /// Delivery rate in bit/s, zero if none could be taken.
    pub rate: Rate,
    /// Bytes delivered between sending and acknowledgement of its newest packet.
    pub delivered: u64,
    /// Bytes delivered when that packet was sent; `None` without a sample.
    pub prior_delivered: Option<u64>,
    /// True if the sample measures the application or ProbeRTT.
    pub app_limited: bool,
    /// State in which that packet was sent.
    pub sent: SentState,
}

/// Packet-timed round trips, by delivered bytes (section 5.5.1).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    /// Number of them.
    pub count: u64,
    /// True while the acknowledgement that starts one is read.
    pub is_start: bool,
    /// Bytes delivered (`C.delivered`).
    pub delivered: u64,
    /// The round ends with a packet that was sent when so much was delivered.
    end: u64,
    /// The window was fully used in this round, and in the one before (`C.is_cwnd_limited`).
    window_used: [bool; 2],
}

impl Rounds {
    /// A round starts now.
    pub fn start(&mut self) {
        self.end = self.delivered;
    }

    /// An acknowledgement came.
    pub fn update(&mut self, sample: &Sample) {
        self.is_start = sample.prior_delivered.is_some_and(|prior| prior >= self.end);
        if self.is_start {
            self.start();
            self.count += 1;
            self.window_used = [false, self.window_used[0]];
        }
    }

    /// A packet left that fills the window.
    pub fn use_window(&mut self) {
        self.window_used[0] = true;
    }

    /// True if the window was fully used within the last round trip.
    pub fn is_window_limited(&self) -> bool {
        self.window_used.contains(&true)
    }
}

/// The largest delivery rate of the last cycles (sections 5.5.2 to 5.5.6).
#[derive(Clone, Debug, Default)]
pub(super) struct MaxBandwidth {
    filter: WindowedMax<Rate>,
    cycle: u64,
}

impl MaxBandwidth {
    /// Takes a sample in, unless the application limited it and it says nothing new.
    pub fn update(&mut self, sample: &Sample) {
        if sample.rate > Rate::ZERO && (sample.rate >= self.get() || !sample.app_limited) {
            self.filter.update(self.cycle, sample.rate, MAX_BW_FILTER_CYCLES);
        }
    }

    /// A cycle of ProbeBW ends.
    pub fn advance(&mut self) {
        self.cycle += 1;
    }

    /// Zero before a sample.
    pub fn get(&self) -> Rate {
        self.filter.get()
    }
}

/// The least round-trip times, of ten seconds for the model and of five to schedule ProbeRTT (section
/// 5.3.4.3).
#[derive(Clone, Copy, Debug)]
pub(super) struct MinRtt {
    min: Option<Duration>,
    min_at: Time,
    probe_min: Option<Duration>,
    probe_at: Time,
    /// The last ProbeRTT, or what made up for it, is too long ago.
    pub is_expired: bool,
}

impl MinRtt {
    pub fn new(now: Time) -> Self {
        Self { min: None, min_at: now, probe_min: None, probe_at: now, is_expired: false }
    }

    pub fn update(&mut self, now: Time, rtt: Duration) {
        self.is_expired = now > self.probe_at + PROBE_RTT_INTERVAL;
        if self.is_expired || self.probe_min.is_none_or(|min| rtt < min) {
            self.probe_min = Some(rtt);
            self.probe_at = now;
        }
        let is_old = now > self.min_at + MIN_RTT_FILTER_INTERVAL;
        if is_old || self.min.is_none_or(|min| self.probe_min.is_some_and(|p| p < min)) {
            self.min = self.probe_min;
            self.min_at = self.probe_at;
        }
    }

    /// ProbeRTT ended: the next one is an interval away.
    pub fn schedule(&mut self, now: Time) {
        self.probe_at = now;
    }

    pub fn get(&self) -> Option<Duration> {
        self.min
    }
}

/// Bytes that acknowledgements bring beyond the bandwidth, as links and receivers aggregate them (section
/// 5.5.9).
#[derive(Clone, Debug)]
pub(super) struct ExtraAcked {
    filter: WindowedMax<f64>,
    interval_start: Time,
    delivered: f64,
}

impl ExtraAcked {
    pub fn new(now: Time) -> Self {
        Self { filter: WindowedMax::default(), interval_start: now, delivered: 0.0 }
    }

    /// Takes an acknowledgement of `acked` bytes in. Returns the bytes beyond `bandwidth`, in bit/s, since
    /// the interval began.
    pub fn measure(&mut self, now: Time, acked: u64, bandwidth: f64) -> f64 {
        let elapsed = now.since(self.interval_start).as_secs_f64();
        let mut expected = bandwidth / 8.0 * elapsed;
        if self.delivered <= expected {
            self.restart(now);
            expected = 0.0;
        }
        self.delivered += acked as f64;
        self.delivered - expected
    }

    /// Takes a measured excess in, in the round that is the `round`-th.
    pub fn update(&mut self, extra: f64, round: u64, in_startup: bool) {
        let window =
            if in_startup { EXTRA_ACKED_STARTUP_ROUNDS } else { EXTRA_ACKED_FILTER_ROUNDS };
        self.filter.update(round, extra, window);
    }

    /// An interval begins, with nothing delivered in it.
    pub fn restart(&mut self, now: Time) {
        self.interval_start = now;
        self.delivered = 0.0;
    }

    /// Bytes.
    pub fn get(&self) -> f64 {
        self.filter.get()
    }
}
