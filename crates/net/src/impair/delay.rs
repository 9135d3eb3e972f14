//! Constant delay and jitter.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use airlane_base::{Packet, Rng, Time};

use super::JitterLaw;
use crate::node::{Counters, Dropped, Node};

/// Holds every packet for the same time.
///
/// As an element to be composed by hand; routes of a network have
/// [`Step::Delay`](crate::network::Step::Delay), which costs less.
#[derive(Debug)]
pub struct Delay {
    delay: Duration,
    line: VecDeque<(Time, Packet)>,
    counters: Counters,
}

impl Delay {
    /// An empty line.
    pub fn new(delay: Duration) -> Self {
        Self { delay, line: VecDeque::new(), counters: Counters::default() }
    }
}

impl Node for Delay {
    fn push(&mut self, now: Time, packet: Packet, _drops: &mut Vec<Dropped>) {
        self.counters.count_push(&packet);
        self.line.push_back((now + self.delay, packet));
    }

    fn poll(&mut self, now: Time, _drops: &mut Vec<Dropped>) -> Option<Packet> {
        let (_, packet) = self.line.pop_front_if(|(at, _)| *at <= now)?;
        self.counters.count_poll(&packet);
        Some(packet)
    }

    fn next_event(&self) -> Option<Time> {
        self.line.front().map(|(at, _)| *at)
    }

    fn counters(&self) -> Counters {
        let bytes = self.line.iter().map(|(_, p)| u64::from(p.ip_bytes())).sum();
        Counters { held: (self.line.len() as u64, bytes), ..self.counters }
    }
}

/// Holds each packet for a random time of its own.
///
/// Without reordering a packet leaves no earlier than the one before it, so that jitter never
/// turns into the illusion of loss.
#[derive(Debug)]
pub struct Jitter {
    law: JitterLaw,
    reorder: bool,
    rng: Rng,
    held: BinaryHeap<Held>,
    bytes: u64,
    sequence: u64,
    latest: Time,
    counters: Counters,
}

impl Jitter {
    /// An empty line that draws from `rng`.
    pub fn new(law: JitterLaw, reorder: bool, rng: Rng) -> Self {
        Self {
            law,
            reorder,
            rng,
            held: BinaryHeap::new(),
            bytes: 0,
            sequence: 0,
            latest: Time::ZERO,
            counters: Counters::default(),
        }
    }
}

impl Node for Jitter {
    fn push(&mut self, now: Time, packet: Packet, _drops: &mut Vec<Dropped>) {
        self.counters.count_push(&packet);
        let mut at = now + self.law.draw(&mut self.rng);
        if !self.reorder {
            at = at.max(self.latest);
            self.latest = at;
        }
        self.bytes += u64::from(packet.ip_bytes());
        self.held.push(Held { at, sequence: self.sequence, packet });
        self.sequence += 1;
    }

    fn poll(&mut self, now: Time, _drops: &mut Vec<Dropped>) -> Option<Packet> {
        if self.next_event()? > now {
            return None;
        }
        let packet = self.held.pop()?.packet;
        self.bytes -= u64::from(packet.ip_bytes());
        self.counters.count_poll(&packet);
        Some(packet)
    }

    fn next_event(&self) -> Option<Time> {
        self.held.peek().map(|h| h.at)
    }

    fn counters(&self) -> Counters {
        Counters { held: (self.held.len() as u64, self.bytes), ..self.counters }
    }
}

/// A packet and when it leaves; the greatest is the one that leaves first.
#[derive(Debug)]
struct Held {
    at: Time,
    sequence: u64,
    packet: Packet,
}

impl Ord for Held {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.sequence).cmp(&(self.at, self.sequence))
    }
}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Held {}
