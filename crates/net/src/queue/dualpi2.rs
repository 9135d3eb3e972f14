//! DualPI2 (RFC 9332, section 2.5 and appendix A), with the settings of Linux 6.17.
//!
//! Two queues share a link: the L queue for flows that answer each mark by a little (L4S), told by
//! ECT(1) or CE, and the C queue for all others. One PI controller sets a probability p'. Packets of
//! the C queue are dropped with p'^2, or marked if they allow it; packets of the L queue are marked
//! with k p', so that flows of both kinds get about the same, and whenever they have waited for
//! longer than a step threshold. A weighted round robin gives the L queue nine tenths, so that it
//! hardly waits and neither starves the other.
//!
//! Under overload (k p' above 1) packets of both queues are dropped with p'^2, and those of the L
//! queue that are left are marked. Built as in Linux: marks and drops when packets leave. Left out:
//! dropping on arrival, thresholds in packets, classes other than by ECN.

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::{DropReason, Ecn, Packet, Rng, Time};
use rand::RngExt;

use crate::node::{Dequeued, Dropped, Queue};
use crate::queue::Capacity;

/// Parameters of DualPI2; the defaults are those of Linux.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DualPi2Config {
    /// The queueing delay to aim at: of the C queue in effect, as the L queue waits less.
    pub target: Duration,
    /// Tupdate: how often the probability is computed.
    pub update_interval: Duration,
    /// Weight of the distance from the target, per second.
    pub alpha_per_s: f64,
    /// Weight of the trend, per second.
    pub beta_per_s: f64,
    /// k: marks of the L queue per square root of drops of the C queue.
    pub coupling: f64,
    /// Time in the L queue above which every packet is marked.
    pub step_threshold: Duration,
    /// Share of the link that the C queue has while both wait.
    pub classic_share: f64,
}

impl Default for DualPi2Config {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(15),
            update_interval: Duration::from_millis(16),
            alpha_per_s: 0.16,
            beta_per_s: 3.2,
            coupling: 2.0,
            step_threshold: Duration::from_millis(1),
            classic_share: 0.1,
        }
    }
}

/// IP bytes of a full packet.
const MAX_PACKET_BYTES: u64 = 1_500;

impl DualPi2Config {
    /// p' after one update, from the one before, the current queueing delay and that of the update
    /// before.
    pub fn next_probability(&self, p: f64, delay: Duration, before: Duration) -> f64 {
        let (delay, before) = (delay.as_secs_f64(), before.as_secs_f64());
        let target = self.target.as_secs_f64();
        let step = self.alpha_per_s * (delay - target) + self.beta_per_s * (delay - before);
        (p + step).clamp(0.0, 1.0)
    }

    /// Bytes by which the turn is the C queue's (negative: the L queue's) when both begin to wait.
    fn first_credit(&self) -> f64 {
        MAX_PACKET_BYTES as f64 * (2.0 * self.classic_share - 1.0)
    }
}

type Fifo = VecDeque<Box<Packet>>;

/// Two coupled queues.
#[derive(Debug)]
pub struct DualPi2 {
    config: DualPi2Config,
    capacity: Capacity,
    rng: Rng,
    classic: Fifo,
    low_latency: Fifo,
    bytes: u64,
    /// p' of RFC 9332.
    probability: f64,
    /// Queueing delay at the last update.
    delay_before: Duration,
    /// Time of the next update. Updates happen when the first event after them asks: between two
    /// events nothing changes but how long the first packets have waited, which is known.
    next_update: Time,
    /// Bytes by which it is the C queue's turn; the L queue's if not above zero.
    credit: f64,
}

impl DualPi2 {
    /// Empty queues whose updates fall on multiples of Tupdate.
    pub fn new(mut config: DualPi2Config, capacity: Capacity, rng: Rng) -> Self {
        // Updates must move on in time.
        config.update_interval = config.update_interval.max(Duration::from_micros(1));
        Self {
            config,
            capacity,
            rng,
            classic: Fifo::new(),
            low_latency: Fifo::new(),
            bytes: 0,
            probability: 0.0,
            delay_before: Duration::ZERO,
            next_update: Time::ZERO + config.update_interval,
            credit: config.first_credit(),
        }
    }

    /// p' as of `now`.
    pub fn probability(&mut self, now: Time) -> f64 {
        self.update_until(now);
        self.probability
    }

    fn update_until(&mut self, now: Time) {
        let interval = self.config.update_interval;
        while self.next_update <= now {
            let at = self.next_update;
            let delay = waited(&self.classic, at).max(waited(&self.low_latency, at));
            let before = std::mem::replace(&mut self.delay_before, delay);
            self.probability = self.config.next_probability(self.probability, delay, before);
            self.next_update += interval;
            // Nothing changes any more: go to the last update that is due.
            let is_calm = self.probability == 0.0 && delay.is_zero() && self.len() == 0;
            if is_calm && self.next_update <= now {
                let missed = (now - self.next_update).as_nanos() / interval.as_nanos();
                self.next_update += Duration::from_nanos((missed * interval.as_nanos()) as u64);
            }
        }
    }

    /// The packet whose turn it is, and what serving it adds to the credit.
    fn next(&mut self) -> Option<(Box<Packet>, f64)> {
        let share = self.config.classic_share;
        let (has_classic, has_low) = (!self.classic.is_empty(), !self.low_latency.is_empty());
        let is_low = has_low && (!has_classic || self.credit <= 0.0);
        let fifo = if is_low { &mut self.low_latency } else { &mut self.classic };
        let Some(packet) = fifo.pop_front() else {
            self.credit = self.config.first_credit();
            return None;
        };
        let bytes = u64::from(packet.ip_bytes());
        let turn = match (has_classic && has_low, is_low) {
            (false, _) => 0.0,
            (true, true) => share * bytes as f64,
            (true, false) => -(1.0 - share) * bytes as f64,
        };
        Some((packet, turn))
    }

    /// True if a packet that leaves is to be dropped; else it may have been marked. `behind`: IP bytes
    /// that wait behind it.
    fn drops(&mut self, now: Time, packet: &mut Packet, behind: u64) -> bool {
        let is_low = is_low_latency(packet);
        if behind >= 2 * MAX_PACKET_BYTES {
            let p = self.probability;
            let low_p = self.config.coupling * p;
            let is_overloaded = low_p > 1.0;
            if is_overloaded || !is_low {
                let is_hit = self.roll(p) && self.roll(p);
                if is_hit && (is_overloaded || packet.ecn == Ecn::NotEct) {
                    return true;
                }
                if is_hit || is_low {
                    packet.ecn = Ecn::Ce;
                }
            } else if self.roll(low_p) {
                packet.ecn = Ecn::Ce;
            }
        }
        if is_low && now.since(packet.enqueued) > self.config.step_threshold {
            packet.ecn = Ecn::Ce;
        }
        false
    }

    fn roll(&mut self, p: f64) -> bool {
        p > 0.0 && self.rng.random::<f64>() < p
    }
}

/// Time for which the first packet of a queue has waited.
fn waited(fifo: &Fifo, now: Time) -> Duration {
    fifo.front().map_or(Duration::ZERO, |first| now.since(first.enqueued))
}

/// True if a packet is for the L queue (RFC 9331, section 5.1).
fn is_low_latency(packet: &Packet) -> bool {
    matches!(packet.ecn, Ecn::Ect1 | Ecn::Ce)
}

impl Queue for DualPi2 {
    fn enqueue(&mut self, now: Time, packet: Box<Packet>, drops: &mut Vec<Dropped>) {
        self.update_until(now);
        let bytes = self.bytes + u64::from(packet.ip_bytes());
        if self.capacity.exceeded_by(self.len() + 1, bytes) {
            drops.push(Dropped { packet, reason: DropReason::Overflow });
            return;
        }
        self.bytes = bytes;
        let fifo = if is_low_latency(&packet) { &mut self.low_latency } else { &mut self.classic };
        fifo.push_back(packet);
    }

    fn dequeue(&mut self, now: Time, drops: &mut Vec<Dropped>) -> Dequeued {
        self.update_until(now);
        while let Some((mut packet, turn)) = self.next() {
            self.bytes -= u64::from(packet.ip_bytes());
            if self.drops(now, &mut packet, self.bytes) {
                drops.push(Dropped { packet, reason: DropReason::Aqm });
                continue;
            }
            self.credit += turn;
            return Dequeued::Packet(packet);
        }
        Dequeued::Empty
    }

    fn len(&self) -> usize {
        self.classic.len() + self.low_latency.len()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn name(&self) -> &'static str {
        "dualpi2"
    }
}
