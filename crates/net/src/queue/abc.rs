//! ABC, accel-brake control (Goyal et al., NSDI 2020, section 3.1): the router's half.
//!
//! It knows what its link can carry, computes the rate at which senders should send in a round trip
//! from now, and tells them by a mark on each packet that leaves: one packet more, or one less.
//! Equations, and what differs from the paper: `docs/design/network-model.md`.

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::{DropReason, Ecn, Packet, Time};

use crate::node::{Dequeued, Dropped, Queue};
use crate::queue::Capacity;

/// Parameters of ABC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AbcConfig {
    /// eta: the share of the capacity that is aimed at.
    pub utilisation: f64,
    /// delta: in so much time a queue beyond the threshold is to be gone. Stable above 2/3 of the
    /// round trip (theorem 3.1).
    pub drain: Duration,
    /// d_t: the queueing delay that may stand.
    pub threshold: Duration,
    /// Rates are means over so much time.
    pub window: Duration,
}

impl Default for AbcConfig {
    fn default() -> Self {
        Self {
            utilisation: 0.98,
            drain: Duration::from_millis(133),
            threshold: Duration::from_millis(20),
            window: Duration::from_millis(40),
        }
    }
}

/// Accelerates that may be saved up: none that packets marked upstream left unused come at once.
const TOKEN_LIMIT: f64 = 10.0;

/// Capacity and service of the link until a time, in IP bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    at: Time,
    capacity: f64,
    served: f64,
}

/// A FIFO that marks what may be marked.
#[derive(Debug)]
pub struct Abc {
    config: AbcConfig,
    limit: Capacity,
    waiting: VecDeque<Box<Packet>>,
    bytes: u64,
    now: Sample,
    /// Those of the window, and the last one before it.
    past: VecDeque<Sample>,
    token: f64,
}

impl Abc {
    /// An empty queue.
    pub fn new(config: AbcConfig, limit: Capacity) -> Self {
        Self {
            config,
            limit,
            waiting: VecDeque::new(),
            bytes: 0,
            now: Sample::default(),
            past: VecDeque::from([Sample::default()]),
            token: 0.0,
        }
    }

    /// The share of packets to be marked accelerate (equations 1 and 2), of packets of which the one
    /// that leaves has waited for so long; `None` before any time has passed.
    fn accelerates(&self, waited: Duration) -> Option<f64> {
        let since = self.past.front()?;
        let span = self.now.at.since(since.at).as_secs_f64();
        if span <= 0.0 {
            return None;
        }
        let mu = (self.now.capacity - since.capacity) / span;
        let cr = (self.now.served - since.served) / span;
        let over = waited.saturating_sub(self.config.threshold).as_secs_f64();
        let target = self.config.utilisation * mu - mu / self.config.drain.as_secs_f64() * over;
        Some((0.5 * target.max(0.0) / cr).min(1.0))
    }

    /// Marks the packet that leaves (algorithm 1).
    fn mark(&mut self, packet: &mut Packet) {
        let bytes = f64::from(packet.ip_bytes());
        self.now.served += bytes;
        let waited = self.now.at.since(packet.enqueued);
        let share = self.accelerates(waited).unwrap_or(1.0);
        self.token = (self.token + share).min(TOKEN_LIMIT);
        match packet.ecn {
            Ecn::Ect0 | Ecn::Ect1 if self.token >= 1.0 => self.token -= 1.0,
            Ecn::Ect0 | Ecn::Ect1 => packet.ecn = Ecn::Ce,
            Ecn::NotEct | Ecn::Ce => {}
        }
        self.past.push_back(self.now);
        let from = self.now.at.as_nanos().saturating_sub(self.config.window.as_nanos() as u64);
        while self.past.get(1).is_some_and(|sample| sample.at.as_nanos() <= from) {
            self.past.pop_front();
        }
    }
}

impl Queue for Abc {
    fn enqueue(&mut self, _now: Time, packet: Box<Packet>, drops: &mut Vec<Dropped>) {
        let bytes = self.bytes + u64::from(packet.ip_bytes());
        if self.limit.exceeded_by(self.waiting.len() + 1, bytes) {
            drops.push(Dropped { packet, reason: DropReason::Overflow });
        } else {
            self.bytes = bytes;
            self.waiting.push_back(packet);
        }
    }

    fn dequeue(&mut self, now: Time, _drops: &mut Vec<Dropped>) -> Dequeued {
        let Some(mut packet) = self.waiting.pop_front() else { return Dequeued::Empty };
        self.bytes -= u64::from(packet.ip_bytes());
        self.now.at = now;
        self.mark(&mut packet);
        Dequeued::Packet(packet)
    }

    fn follows_capacity(&self) -> bool {
        true
    }

    fn capacity(&mut self, _now: Time, bytes: f64) {
        self.now.capacity = bytes;
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn name(&self) -> &'static str {
        "abc"
    }
}
