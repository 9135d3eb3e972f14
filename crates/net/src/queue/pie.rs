//! PIE, the proportional integral controller enhanced (RFC 8033).
//!
//! Built: random dropping (section 4.1), drop probability (4.2), latency by timestamps or by the
//! departure rate (4.3), burst allowance (4.4), and as options ECN (5.1) and de-randomisation
//! (5.4); the cap on increments of 5.5 always. Left out: turning on and off at a third of the
//! buffer (an enhancement for devices that save work when idle).

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::{DropReason, Ecn, Packet, Rng, Time};
use rand::RngExt;

use crate::node::{Dequeued, Dropped, Queue};
use crate::queue::Capacity;

/// Method by which PIE estimates the current queueing delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Latency {
    /// The time that the packet dequeued last spent in the queue; zero while the queue is empty.
    /// What Linux and ns-3 do by default.
    Timestamps,
    /// Queue length over an average departure rate, measured over 16 KiB at a time (section 4.3).
    DepartureRate,
}

/// Parameters of PIE; the defaults are those of RFC 8033.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PieConfig {
    /// QDELAY_REF: the queueing delay to aim at.
    pub target: Duration,
    /// T_UPDATE: how often the drop probability is computed.
    pub t_update: Duration,
    /// MAX_BURST: for how long a burst after calm is let through.
    pub max_burst: Duration,
    /// Weight of the distance from the target, per second.
    pub alpha_per_s: f64,
    /// Weight of the trend, per second.
    pub beta_per_s: f64,
    /// MEAN_PKTSIZE in IP bytes: a queue of at most two of these is never dropped from at random.
    pub mean_packet_bytes: u64,
    /// Method by which the delay is estimated.
    pub latency: Latency,
    /// Marks ECN-capable packets instead of dropping them while the probability is under 10 %.
    pub ecn: bool,
    /// Spreads drops more evenly than independent draws would (section 5.4).
    pub derandomise: bool,
}

impl Default for PieConfig {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(15),
            t_update: Duration::from_millis(15),
            max_burst: Duration::from_millis(150),
            alpha_per_s: 0.125,
            beta_per_s: 1.25,
            mean_packet_bytes: 1_024,
            latency: Latency::Timestamps,
            ecn: false,
            derandomise: false,
        }
    }
}

/// Marking instead of dropping ends at this probability (section 5.1).
const MARK_LIMIT: f64 = 0.1;
/// DQ_THRESHOLD: bytes over which the departure rate is measured (section 4.3).
const MEASURE_BYTES: u64 = 16_384;
/// Weight of a new measurement in the average departure rate.
const MEASURE_GAIN: f64 = 0.5;

impl PieConfig {
    /// The drop probability after one update (section 4.2), from the one before, the current
    /// queueing delay and that of the update before.
    pub fn next_probability(&self, p: f64, delay: Duration, before: Duration) -> f64 {
        let (delay, before) = (delay.as_secs_f64(), before.as_secs_f64());
        let target = self.target.as_secs_f64();
        let step = self.alpha_per_s * (delay - target) + self.beta_per_s * (delay - before);
        // Auto-tuning: the smaller the probability, the smaller the steps.
        let scale = match p {
            p if p < 0.000_001 => 2_048.0,
            p if p < 0.000_01 => 512.0,
            p if p < 0.000_1 => 128.0,
            p if p < 0.001 => 32.0,
            p if p < 0.01 => 8.0,
            p if p < 0.1 => 2.0,
            _ => 1.0,
        };
        let mut step = step / scale;
        // Section 5.5: no leaps once the probability is high.
        if p >= 0.1 && step > 0.02 {
            step = 0.02;
        }
        let mut next = p + step;
        if delay == 0.0 && before == 0.0 {
            next *= 0.98;
        }
        next.clamp(0.0, 1.0)
    }
}

/// A cycle of measuring the departure rate.
#[derive(Clone, Copy, Debug)]
struct Measurement {
    since: Time,
    bytes: u64,
}

/// A FIFO whose drop probability on arrival a controller sets so that packets wait about as long
/// as the target.
#[derive(Debug)]
pub struct Pie {
    config: PieConfig,
    capacity: Capacity,
    rng: Rng,
    waiting: VecDeque<Box<Packet>>,
    bytes: u64,
    probability: f64,
    accumulated: f64,
    burst_left: Duration,
    /// Time at which the probability is computed next. Updates happen when the first event after
    /// them asks: between two events nothing that they depend on changes.
    next_update: Time,
    /// Queueing delay at the last update.
    delay_before: Duration,
    /// Sojourn of the packet dequeued last.
    last_sojourn: Duration,
    measuring: Option<Measurement>,
    /// Average departure rate in bytes per second, zero before the first measurement.
    departure_rate: f64,
}

impl Pie {
    /// An empty queue whose updates fall on multiples of T_UPDATE.
    pub fn new(mut config: PieConfig, capacity: Capacity, rng: Rng) -> Self {
        // Updates must move on in time.
        config.t_update = config.t_update.max(Duration::from_micros(1));
        Self {
            config,
            capacity,
            rng,
            waiting: VecDeque::new(),
            bytes: 0,
            probability: 0.0,
            accumulated: 0.0,
            burst_left: config.max_burst,
            next_update: Time::ZERO + config.t_update,
            delay_before: Duration::ZERO,
            last_sojourn: Duration::ZERO,
            measuring: None,
            departure_rate: 0.0,
        }
    }

    /// The drop probability as of `now`.
    pub fn drop_probability(&mut self, now: Time) -> f64 {
        self.update_until(now);
        self.probability
    }

    fn delay(&self) -> Duration {
        if self.waiting.is_empty() {
            return Duration::ZERO;
        }
        match self.config.latency {
            Latency::Timestamps => self.last_sojourn,
            Latency::DepartureRate if self.departure_rate > 0.0 => {
                Duration::from_secs_f64(self.bytes as f64 / self.departure_rate)
            }
            Latency::DepartureRate => Duration::ZERO,
        }
    }

    #[inline]
    fn update_until(&mut self, now: Time) {
        while self.next_update <= now {
            self.update();
            // Nothing changes any more: go to the last update that is due.
            let calm = self.probability == 0.0
                && self.waiting.is_empty()
                && self.delay_before.is_zero()
                && self.burst_left == self.config.max_burst;
            let step = self.config.t_update;
            if calm && self.next_update + step <= now {
                let missed = (now - self.next_update).as_nanos() / step.as_nanos();
                self.next_update += Duration::from_nanos((missed * step.as_nanos()) as u64);
            }
        }
    }

    fn update(&mut self) {
        let delay = self.delay();
        self.probability = self.config.next_probability(self.probability, delay, self.delay_before);
        self.burst_left = self.burst_left.saturating_sub(self.config.t_update);
        let half = self.config.target / 2;
        if self.probability == 0.0 && delay < half && self.delay_before < half {
            self.burst_left = self.config.max_burst;
        }
        self.delay_before = delay;
        self.next_update += self.config.t_update;
    }

    /// True if the controller gives up an arrival (section 4.1).
    fn chooses(&mut self) -> bool {
        if !self.burst_left.is_zero() {
            return false;
        }
        let calm = self.delay_before < self.config.target / 2 && self.probability < 0.2;
        if calm || self.bytes <= 2 * self.config.mean_packet_bytes {
            return false;
        }
        if self.config.derandomise {
            if self.probability == 0.0 {
                self.accumulated = 0.0;
            }
            self.accumulated += self.probability;
            if self.accumulated < 0.85 {
                return false;
            }
        }
        let certain = self.config.derandomise && self.accumulated >= 8.5;
        let chosen = certain || self.rng.random::<f64>() < self.probability;
        if chosen {
            self.accumulated = 0.0;
        }
        chosen
    }

    /// One departure's part in measuring the rate (section 4.3).
    fn measure(&mut self, now: Time, bytes: u64) {
        if let Some(m) = &mut self.measuring {
            m.bytes += bytes;
            let taken = now - m.since;
            if m.bytes >= MEASURE_BYTES && !taken.is_zero() {
                let rate = m.bytes as f64 / taken.as_secs_f64();
                self.departure_rate = if self.departure_rate == 0.0 {
                    rate
                } else {
                    (1.0 - MEASURE_GAIN) * self.departure_rate + MEASURE_GAIN * rate
                };
                self.measuring = None;
            }
        }
        // The first departure of a cycle starts its clock: its own bytes left before.
        if self.measuring.is_none() && self.bytes >= MEASURE_BYTES {
            self.measuring = Some(Measurement { since: now, bytes: 0 });
        }
    }
}

impl Queue for Pie {
    fn enqueue(&mut self, now: Time, mut packet: Box<Packet>, drops: &mut Vec<Dropped>) {
        self.update_until(now);
        let bytes = self.bytes + u64::from(packet.ip_bytes());
        if self.capacity.exceeded_by(self.waiting.len() + 1, bytes) {
            drops.push(Dropped { packet, reason: DropReason::Overflow });
            return;
        }
        if self.chooses() {
            let markable = self.config.ecn && packet.ecn != Ecn::NotEct;
            if !markable || self.probability >= MARK_LIMIT {
                drops.push(Dropped { packet, reason: DropReason::Aqm });
                return;
            }
            packet.ecn = Ecn::Ce;
        }
        self.bytes = bytes;
        self.waiting.push_back(packet);
    }

    fn dequeue(&mut self, now: Time, _drops: &mut Vec<Dropped>) -> Dequeued {
        self.update_until(now);
        let Some(packet) = self.waiting.pop_front() else { return Dequeued::Empty };
        let size = u64::from(packet.ip_bytes());
        self.bytes -= size;
        self.last_sojourn = now - packet.enqueued;
        if self.config.latency == Latency::DepartureRate {
            self.measure(now, size);
        }
        Dequeued::Packet(packet)
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn name(&self) -> &'static str {
        "pie"
    }
}
