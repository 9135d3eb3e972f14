//! Handovers: the host of a link goes from one cell to the next, and hears nothing meanwhile.

use std::time::Duration;

use airlane_base::{DropReason, Packet, Seed, Time};
use rand::RngExt;
use serde::Serialize;

use crate::node::{Dequeued, Dropped, Queue};

/// Handovers of a link. In each interval there is one, at a time that is drawn. While it lasts the link
/// serves nothing; the link itself carries on as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Handover {
    /// Interval in which there is one handover, longer than the maximum pause.
    pub interval: Duration,
    /// Minimum pause; pauses are drawn uniformly.
    pub min_pause: Duration,
    /// Maximum pause.
    pub max_pause: Duration,
    /// True if the old cell forwards the packets that wait, and the new cell has them with the state of the
    /// queue. Otherwise all packets that wait at the end of the pause are lost, also those that came during
    /// the pause, and the new cell has a new queue.
    pub forwards: bool,
}

/// A pause.
#[derive(Clone, Copy, Debug)]
struct Pause {
    number: u64,
    begin: Time,
    end: Time,
}

impl Handover {
    /// Pause in interval `number`; those of one seed are the same for both directions.
    fn pause(&self, number: u64, seed: Seed) -> Pause {
        let mut rng = seed.index(number).rng();
        let begin = rng.random_range(0.0..1.0) * (self.interval - self.max_pause).as_secs_f64();
        let spread = (self.max_pause - self.min_pause).as_secs_f64();
        let lasts = self.min_pause.as_secs_f64() + rng.random_range(0.0..1.0) * spread;
        let begin = self.interval.as_secs_f64() * number as f64 + begin;
        let at = |s: f64| Time::ZERO + Duration::from_secs_f64(s);
        Pause { number, begin: at(begin), end: at(begin + lasts) }
    }
}

/// The queues of the cells that a host goes through, one after the other.
pub struct HandoverQueue<B> {
    handover: Handover,
    seed: Seed,
    queue: Box<dyn Queue>,
    /// Builds the queue of the cell of this number, from 0.
    build: B,
    pause: Pause,
    is_slow: bool,
}

impl<B: FnMut(u64) -> Box<dyn Queue> + Send> HandoverQueue<B> {
    /// The empty queue of the first cell; pauses are drawn from `seed`.
    pub fn new(handover: Handover, seed: Seed, mut build: B) -> Self {
        let (queue, pause) = (build(0), handover.pause(0, seed));
        Self { handover, seed, queue, build, pause, is_slow: false }
    }

    /// Leaves behind the pauses that have ended.
    fn advance(&mut self, now: Time, drops: &mut Vec<Dropped>) {
        while self.pause.end <= now {
            let number = self.pause.number + 1;
            if !self.handover.forwards {
                self.lose(self.pause.end, number, drops);
            }
            self.pause = self.handover.pause(number, self.seed);
        }
    }

    fn lose(&mut self, at: Time, number: u64, drops: &mut Vec<Dropped>) {
        let mut next = (self.build)(number);
        next.set_slow(self.is_slow);
        let mut left = std::mem::replace(&mut self.queue, next);
        while let Dequeued::Packet(packet) = left.dequeue(at, drops) {
            drops.push(Dropped { packet, reason: DropReason::Loss });
        }
    }
}

impl<B: FnMut(u64) -> Box<dyn Queue> + Send> Queue for HandoverQueue<B> {
    fn enqueue(&mut self, now: Time, packet: Box<Packet>, drops: &mut Vec<Dropped>) {
        self.advance(now, drops);
        self.queue.enqueue(now, packet, drops);
    }

    fn dequeue(&mut self, now: Time, drops: &mut Vec<Dropped>) -> Dequeued {
        self.advance(now, drops);
        match self.pause.begin <= now && !self.queue.is_empty() {
            true => Dequeued::NotBefore(self.pause.end),
            false => self.queue.dequeue(now, drops),
        }
    }

    fn follows_capacity(&self) -> bool {
        self.queue.follows_capacity()
    }

    fn capacity(&mut self, now: Time, bytes: f64) {
        self.queue.capacity(now, bytes);
    }

    fn set_slow(&mut self, is_slow: bool) {
        self.is_slow = is_slow;
        self.queue.set_slow(is_slow);
    }

    fn len(&self) -> usize {
        self.queue.len()
    }

    fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    fn name(&self) -> &'static str {
        self.queue.name()
    }
}
