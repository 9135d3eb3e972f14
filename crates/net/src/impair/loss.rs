//! Loss: independent, in bursts, or of every so many packets.

use std::collections::VecDeque;

use airlane_base::{DropReason, Packet, Rng, Time};
use rand::RngExt;

use crate::node::{Counters, Dropped, Node, Port};

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

/// Loses packets by their count alone: what response functions are defined by (RFC 9438, section
/// 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeriodicLoss {
    /// Of so many packets one is lost, at least 1.
    pub every: u64,
    /// So many packets pass before the first loss.
    pub first: u64,
}

/// Law by which packets are lost.
#[derive(Debug)]
enum Law {
    Random { chain: GilbertElliott, bad: bool, rng: Rng },
    Periodic { every: u64, passing: u64 },
}

impl Law {
    fn loses(&mut self) -> bool {
        match self {
            Self::Random { chain, bad, rng } => {
                let GilbertElliott { to_bad, to_good, loss_good, loss_bad } = *chain;
                let change = if *bad { to_good } else { to_bad };
                if change > 0.0 && rng.random::<f64>() < change {
                    *bad = !*bad;
                }
                let loss = if *bad { loss_bad } else { loss_good };
                loss > 0.0 && rng.random::<f64>() < loss
            }
            Self::Periodic { every, passing } => {
                let lost = *passing == 0;
                *passing = if lost { every.saturating_sub(1) } else { *passing - 1 };
                lost
            }
        }
    }
}

/// Loses packets and lets the others through at once.
#[derive(Debug)]
pub struct Loss {
    law: Law,
    through: VecDeque<(Time, Box<Packet>)>,
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
        Self::of(Law::Random { chain: law, bad: false, rng })
    }

    /// Loses every so many packets.
    pub fn periodic(law: PeriodicLoss) -> Self {
        Self::of(Law::Periodic { every: law.every, passing: law.first })
    }

    fn of(law: Law) -> Self {
        Self { law, through: VecDeque::new(), counters: Counters::default() }
    }
}

impl Node for Loss {
    fn push(&mut self, now: Time, _port: Port, packet: Box<Packet>, drops: &mut Vec<Dropped>) {
        self.counters.count_push(&packet);
        if self.law.loses() {
            drops.push(Dropped { packet, reason: DropReason::Loss });
            self.counters.count_drops(&drops[drops.len() - 1..]);
        } else {
            self.through.push_back((now, packet));
        }
    }

    fn poll(&mut self, now: Time, _drops: &mut Vec<Dropped>) -> Option<Box<Packet>> {
        let (_, packet) = self.through.pop_front_if(|(at, _)| *at <= now)?;
        self.counters.count_poll(&packet);
        Some(packet)
    }

    fn next_event(&self) -> Option<Time> {
        self.through.front().map(|(at, _)| *at)
    }

    fn counters(&self, _port: Port) -> Counters {
        let bytes = self.through.iter().map(|(_, p)| u64::from(p.ip_bytes())).sum();
        Counters { held: (self.through.len() as u64, bytes), ..self.counters }
    }
}
