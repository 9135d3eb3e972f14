//! Random loss, independent or in bursts.

use std::collections::VecDeque;

use airlane_base::{DropReason, Packet, Rng, Time};
use rand::RngExt;

use crate::node::{Counters, Dropped, Node};

/// The two-state loss model of Gilbert (1960) and Elliott (1963), one step per packet.
///
/// The state changes before a packet is judged. Loss rate:
/// `(r * loss_good + p * loss_bad) / (p + r)` with `p = to_bad`, `r = to_good`; mean number of
/// packets in the bad state: `1 / r`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GilbertElliott {
    /// Probability per packet of going from the good to the bad state.
    pub to_bad: f64,
    /// Probability per packet of going from the bad to the good state.
    pub to_good: f64,
    /// Loss probability in the good state.
    pub loss_good: f64,
    /// Loss probability in the bad state.
    pub loss_bad: f64,
}

impl GilbertElliott {
    /// Everything is lost in the bad state and nothing in the good one: bursts of a mean length
    /// (at least one packet) at a mean loss rate (below one).
    pub fn bursts(loss_rate: f64, mean_burst: f64) -> Self {
        let to_good = 1.0 / mean_burst.max(1.0);
        let to_bad = (to_good * loss_rate / (1.0 - loss_rate)).clamp(0.0, 1.0);
        Self { to_bad, to_good, loss_good: 0.0, loss_bad: 1.0 }
    }

    /// The share of packets that it loses in the long run.
    pub fn loss_rate(&self) -> f64 {
        let sum = self.to_bad + self.to_good;
        if sum == 0.0 {
            return self.loss_good;
        }
        (self.to_good * self.loss_good + self.to_bad * self.loss_bad) / sum
    }
}

/// Loses packets at random and lets the others through at once.
#[derive(Debug)]
pub struct Loss {
    law: GilbertElliott,
    bad: bool,
    rng: Rng,
    through: VecDeque<(Time, Packet)>,
    counters: Counters,
}

impl Loss {
    /// Loses each packet with probability `p`, independently.
    pub fn bernoulli(p: f64, rng: Rng) -> Self {
        let law = GilbertElliott { to_bad: 0.0, to_good: 0.0, loss_good: p, loss_bad: p };
        Self::gilbert_elliott(law, rng)
    }

    /// Loses packets in bursts; starts in the good state.
    pub fn gilbert_elliott(law: GilbertElliott, rng: Rng) -> Self {
        Self { law, bad: false, rng, through: VecDeque::new(), counters: Counters::default() }
    }

    fn loses(&mut self) -> bool {
        let GilbertElliott { to_bad, to_good, loss_good, loss_bad } = self.law;
        let change = if self.bad { to_good } else { to_bad };
        if change > 0.0 && self.rng.random::<f64>() < change {
            self.bad = !self.bad;
        }
        let loss = if self.bad { loss_bad } else { loss_good };
        loss > 0.0 && self.rng.random::<f64>() < loss
    }
}

impl Node for Loss {
    fn push(&mut self, now: Time, packet: Packet, drops: &mut Vec<Dropped>) {
        self.counters.count_push(&packet);
        if self.loses() {
            drops.push(Dropped { packet, reason: DropReason::Loss });
            self.counters.count_drops(&drops[drops.len() - 1..]);
        } else {
            self.through.push_back((now, packet));
        }
    }

    fn poll(&mut self, now: Time, _drops: &mut Vec<Dropped>) -> Option<Packet> {
        let (_, packet) = self.through.pop_front_if(|(at, _)| *at <= now)?;
        self.counters.count_poll(&packet);
        Some(packet)
    }

    fn next_event(&self) -> Option<Time> {
        self.through.front().map(|(at, _)| *at)
    }

    fn counters(&self) -> Counters {
        let bytes = self.through.iter().map(|(_, p)| u64::from(p.ip_bytes())).sum();
        Counters { held: (self.through.len() as u64, bytes), ..self.counters }
    }
}
