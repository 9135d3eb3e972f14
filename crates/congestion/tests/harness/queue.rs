//! The bottleneck: one server of constant rate, computed on arrival, and who is dropped.

use airlane_base::{Rng, Time};
use rand::RngExt;

/// The discipline in front of the server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Discipline {
    /// So many packets wait at most.
    DropTail(usize),
    /// PIE after RFC 8033, section 4, with the delay known from the backlog, 15 ms target.
    Pie(usize),
    /// No queue at all: every n-th packet of a flow is lost, the first of them given apart.
    EveryNth {
        /// Packets per loss.
        n: u64,
        /// Number of the first packet lost.
        first: u64,
    },
}

const PIE_TARGET_S: f64 = 0.015;
const PIE_UPDATE_NS: u64 = 15_000_000;
const PIE_BURST_S: f64 = 0.150;

/// State of PIE.
struct Pie {
    probability: f64,
    old_delay: f64,
    burst: f64,
    next: u64,
}

impl Pie {
    fn update(&mut self, delay: f64) {
        let mut step = 0.125 * (delay - PIE_TARGET_S) + 1.25 * (delay - self.old_delay);
        // Section 4.2: small probabilities move in small steps.
        for (below, part) in
            [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (0.1, 2.0)]
        {
            if self.probability < below {
                step /= part;
                break;
            }
        }
        if self.probability >= 0.1 {
            step = step.min(0.02);
        }
        self.probability += step;
        if delay == 0.0 && self.old_delay == 0.0 {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        if self.burst > 0.0 {
            self.burst -= PIE_UPDATE_NS as f64 / 1e9;
        } else if self.probability == 0.0
            && delay < PIE_TARGET_S / 2.0
            && self.old_delay < PIE_TARGET_S / 2.0
        {
            self.burst = PIE_BURST_S;
        }
        self.old_delay = delay;
    }
}

/// The server and its queue.
pub struct Bottleneck {
    discipline: Discipline,
    service_ns: u64,
    /// When the last packet accepted so far leaves.
    last_departure: u64,
    pie: Pie,
    rng: Rng,
    /// When the queue was last looked at, and the time integral of its delay since `reset`.
    looked: u64,
    area_ns2: f64,
    area_from: u64,
    accepted: u64,
}

impl Bottleneck {
    pub fn new(discipline: Discipline, service_ns: u64, rng: Rng) -> Self {
        let pie = Pie { probability: 0.0, old_delay: 0.0, burst: PIE_BURST_S, next: 0 };
        Self {
            discipline,
            service_ns,
            last_departure: 0,
            pie,
            rng,
            looked: 0,
            area_ns2: 0.0,
            area_from: 0,
            accepted: 0,
        }
    }

    fn backlog_ns(&self, now: u64) -> u64 {
        self.last_departure.saturating_sub(now)
    }

    /// Adds what the backlog was since the last look: it falls by one second per second.
    fn look(&mut self, now: u64) {
        let from = self.backlog_ns(self.looked) as f64;
        let span = (now - self.looked) as f64;
        let busy = span.min(from);
        self.area_ns2 += busy * (from - busy / 2.0);
        self.looked = now;
    }

    /// Measures from here on.
    pub fn reset(&mut self, now: Time) {
        self.look(now.as_nanos());
        self.area_ns2 = 0.0;
        self.area_from = now.as_nanos();
        self.accepted = 0;
    }

    /// Mean delay of the queue in seconds and share of the capacity in use since `reset`.
    pub fn measured(&mut self, now: Time) -> (f64, f64) {
        self.look(now.as_nanos());
        let span = (now.as_nanos() - self.area_from).max(1) as f64;
        (self.area_ns2 / span / 1e9, (self.accepted * self.service_ns) as f64 / span)
    }

    /// A packet arrives, the `pn`-th of its flow: when it leaves, or `None` if it is dropped.
    pub fn arrive(&mut self, now: Time, pn: u64) -> Option<Time> {
        let now = now.as_nanos();
        self.look(now);
        let waiting = self.backlog_ns(now).div_ceil(self.service_ns.max(1)) as usize;
        let dropped = match self.discipline {
            Discipline::EveryNth { n, first } => pn >= first && (pn - first).is_multiple_of(n),
            // One more is on the wire.
            Discipline::DropTail(limit) => waiting > limit,
            Discipline::Pie(limit) => waiting > limit || self.pie_drops(now, waiting),
        };
        if dropped {
            return None;
        }
        self.accepted += 1;
        self.last_departure = self.last_departure.max(now) + self.service_ns;
        Some(Time::from_nanos(self.last_departure))
    }

    fn pie_drops(&mut self, now: u64, waiting: usize) -> bool {
        while self.pie.next <= now {
            let delay = self.backlog_ns(self.pie.next) as f64 / 1e9;
            self.pie.update(delay);
            self.pie.next += PIE_UPDATE_NS;
        }
        if self.pie.burst > 0.0
            || (self.pie.old_delay < PIE_TARGET_S / 2.0 && self.pie.probability < 0.2)
            || waiting <= 2
        {
            return false;
        }
        self.rng.random::<f64>() < self.pie.probability
    }
}
