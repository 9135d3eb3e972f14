//! Constant delay and jitter.

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::{Packet, Rng, Time};

use super::JitterLaw;
use crate::node::{Counters, Dropped, Node, Port};

/// Holds every packet for the same time.
///
/// As an element to be composed by hand; routes of a network have
/// [`Step::Delay`](crate::network::Step::Delay), which costs less.
#[derive(Debug)]
pub struct Delay {
    delay: Duration,
    line: VecDeque<(Time, Box<Packet>)>,
    counters: Counters,
}

impl Delay {
    /// An empty line.
    pub fn new(delay: Duration) -> Self {
        Self { delay, line: VecDeque::new(), counters: Counters::default() }
    }
}

impl Node for Delay {
    fn push(&mut self, now: Time, _port: Port, packet: Box<Packet>, _drops: &mut Vec<Dropped>) {
        self.counters.count_push(&packet);
        self.line.push_back((now + self.delay, packet));
    }

    fn poll(&mut self, now: Time, _drops: &mut Vec<Dropped>) -> Option<Box<Packet>> {
        let (_, packet) = self.line.pop_front_if(|(at, _)| *at <= now)?;
        self.counters.count_poll(&packet);
        Some(packet)
    }

    fn next_event(&self) -> Option<Time> {
        self.line.front().map(|(at, _)| *at)
    }

    fn counters(&self, _port: Port) -> Counters {
        Counters { held: held(&self.line), ..self.counters }
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
    /// In the order of leaving, and of arrival at the same time.
    line: VecDeque<(Time, Box<Packet>)>,
    counters: Counters,
}

impl Jitter {
    /// An empty line that draws from `rng`.
    pub fn new(law: JitterLaw, reorder: bool, rng: Rng) -> Self {
        Self { law, reorder, rng, line: VecDeque::new(), counters: Counters::default() }
    }
}

impl Node for Jitter {
    fn push(&mut self, now: Time, _port: Port, packet: Box<Packet>, _drops: &mut Vec<Dropped>) {
        self.counters.count_push(&packet);
        let at = now + self.law.draw(&mut self.rng);
        let last = self.line.back().map_or(Time::ZERO, |(last, _)| *last);
        if at >= last || !self.reorder {
            self.line.push_back((at.max(last), packet));
        } else {
            let place = self.line.partition_point(|(other, _)| *other <= at);
            self.line.insert(place, (at, packet));
        }
    }

    fn poll(&mut self, now: Time, _drops: &mut Vec<Dropped>) -> Option<Box<Packet>> {
        let (_, packet) = self.line.pop_front_if(|(at, _)| *at <= now)?;
        self.counters.count_poll(&packet);
        Some(packet)
    }

    fn next_event(&self) -> Option<Time> {
        self.line.front().map(|(at, _)| *at)
    }

    fn counters(&self, _port: Port) -> Counters {
        Counters { held: held(&self.line), ..self.counters }
    }
}

/// Packets and IP bytes in a line.
fn held(line: &VecDeque<(Time, Box<Packet>)>) -> (u64, u64) {
    (line.len() as u64, line.iter().map(|(_, p)| u64::from(p.ip_bytes())).sum())
}
