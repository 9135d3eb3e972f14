//! Reference window (section 4.2.2).

use std::time::Duration;

use airlane_base::Time;

use super::VIRTUAL_RTT;
use crate::MAX_WINDOW_BYTES;

/// Least reference window in bytes (MIN_REF_WND), and that of the beginning.
const MIN_BYTES: f64 = 3_000.0;

/// The reference window may be so many times what was in flight (BYTES_IN_FLIGHT_HEAD_ROOM).
const FLIGHT_HEADROOM: f64 = 1.5;

/// Share of the window kept after a loss (BETA_LOSS).
const LOSS_REDUCTION_FACTOR: f64 = 0.7;

/// Share of the window by which it grows in a round trip far from congestion (MUL_INCREASE_FACTOR).
const MULTIPLICATIVE_INCREASE: f64 = 0.02;

/// Round trips after congestion in which that growth comes back (POST_CONGESTION_DELAY_RTTS), and
/// after which the window may have grown far above what is in flight.
pub(super) const POST_CONGESTION_ROUNDS: u32 = 100;

/// Near the inflection point growth and reduction are scaled by the square of so many times the
/// distance, but not below the least scale.
const INFLECTION_SLOPE: f64 = 8.0;
const MIN_INFLECTION_SCALE: f64 = 0.25;

/// The inflection point moves once the window is so many times its lowest since it last moved,
const INFLECTION_GROWTH: f64 = 1.05;
/// or after so many round trips (REF_WND_I_UPDATE_MAX_HOLD_RTTS).
const MAX_INFLECTION_ROUNDS: u32 = 50;

/// Share of a reduction that is kept where the target bitrate is low (BACKOFF_SCALE_LOW_TARGETRATE).
const LOW_TARGET_SCALE: f64 = 0.25;

/// Congestion that the window answers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Congestion {
    /// Packets were lost.
    Loss,
    /// Packets came marked: so large a share of them, smoothed.
    Marks(f64),
    /// The queue delay is high and stands for this share of marks.
    Delay(f64),
}

/// State of the path when the window changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathState {
    /// Time of the change.
    pub now: Time,
    /// Smoothed round trip.
    pub rtt: Duration,
    /// The queue is far below its target.
    pub is_queue_low: bool,
    /// The target bitrate is well below what arrives.
    pub is_target_low: bool,
    /// The window was not reduced for [`POST_CONGESTION_ROUNDS`].
    pub was_uncongested: bool,
    /// Most bytes in flight in the last round trip, and in that and this one.
    pub last_max_in_flight: u64,
    pub max_in_flight: u64,
    /// Part of the multiplicative growth that is allowed, 0 to 1.
    pub post_congestion_scale: f64,
}

impl PathState {
    /// Part of the window that a share of marks takes.
    fn backoff(&self, alpha: f64) -> f64 {
        // A long round trip sees several reductions, which make up one.
        let rounds = self.rtt.div_duration_f64(VIRTUAL_RTT).max(1.0);
        let scale = if self.is_target_low { LOW_TARGET_SCALE } else { 1.0 };
        alpha / 2.0 / rounds * scale
    }
}

/// Reference window in bytes; real-valued, as it changes by less than a packet.
#[derive(Clone, Debug)]
pub(super) struct ReferenceWindow {
    bytes: f64,
    mss: f64,
    /// Window at congestion before (ref_wnd_i), and when it was.
    inflection: f64,
    inflection_at: Option<Time>,
    /// Lowest window since then (ref_wnd_lowest).
    lowest: f64,
    /// Window before the last loss, which may prove spurious.
    before_loss: Option<f64>,
}

impl ReferenceWindow {
    pub fn new(mss: f64) -> Self {
        Self {
            bytes: MIN_BYTES,
            mss,
            inflection: 1.0,
            inflection_at: None,
            lowest: 0.0,
            before_loss: None,
        }
    }

    pub fn bytes(&self) -> f64 {
        self.bytes
    }

    pub fn mss(&self) -> f64 {
        self.mss
    }

    pub fn set_mss(&mut self, mss: f64) {
        self.mss = mss;
    }

    fn set(&mut self, bytes: f64) {
        self.bytes = bytes.clamp(MIN_BYTES, MAX_WINDOW_BYTES);
    }

    /// Scale of changes by the distance from the inflection point (scl_t).
    fn inflection_scale(&self) -> f64 {
        let distance = (self.bytes - self.inflection) / self.inflection;
        (INFLECTION_SLOPE * distance).powi(2).clamp(MIN_INFLECTION_SCALE, 1.0)
    }

    /// Reduces the window (section 4.2.2.1).
    pub fn reduce(&mut self, congestion: Congestion, path: &PathState) {
        let inflection_scale = self.inflection_scale();
        self.update_inflection(path);
        match congestion {
            Congestion::Loss => {
                self.before_loss = Some(self.bytes);
                self.set(self.bytes * LOSS_REDUCTION_FACTOR);
            }
            Congestion::Marks(alpha) => {
                if path.was_uncongested {
                    self.set(self.bytes.min(path.last_max_in_flight as f64));
                }
                let scale = if path.is_queue_low { inflection_scale } else { 1.0 };
                self.set(self.bytes * (1.0 - path.backoff(alpha) * scale));
            }
            Congestion::Delay(alpha) => self.set(self.bytes * (1.0 - path.backoff(alpha))),
        }
        self.lowest = self.lowest.min(self.bytes);
    }

    fn update_inflection(&mut self, path: &PathState) {
        let is_held = self
            .inflection_at
            .is_some_and(|at| path.now.since(at) <= path.rtt.saturating_mul(MAX_INFLECTION_ROUNDS));
        if self.bytes > INFLECTION_GROWTH * self.lowest || !is_held {
            self.inflection = self.bytes;
            self.inflection_at = Some(path.now);
            self.lowest = self.bytes;
        }
    }

    /// Lets the window grow by `acked` bytes that came without a mark (section 4.2.2.2). Returns the
    /// growth in bytes.
    pub fn grow(&mut self, acked: f64, path: &PathState) -> f64 {
        let additive = acked * (self.mss / self.bytes).min(1.0);
        let short_rtt = path.rtt.div_duration_f64(VIRTUAL_RTT).min(1.0);
        let relative = MULTIPLICATIVE_INCREASE * self.bytes / self.mss;
        let multiplicative = 1.0 + relative * path.post_congestion_scale;
        let increase = additive * short_rtt * self.inflection_scale() * multiplicative;
        let max = self.mss + FLIGHT_HEADROOM * path.max_in_flight as f64;
        let before = self.bytes;
        if before + increase <= max {
            self.set(before + increase);
        }
        self.bytes - before
    }

    /// Takes back growth.
    pub fn take_back(&mut self, bytes: f64) {
        self.set(self.bytes - bytes);
    }

    /// Falls to the least window.
    pub fn collapse(&mut self) {
        self.set(0.0);
        self.before_loss = None;
    }

    /// The packets of the last loss arrived after all. False if there was none.
    pub fn restore(&mut self) -> bool {
        let before = self.before_loss.take();
        if let Some(before) = before {
            self.set(self.bytes.max(before));
        }
        before.is_some()
    }
}
