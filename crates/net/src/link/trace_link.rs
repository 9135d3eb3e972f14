//! A link that lets packets go at the delivery opportunities of a recorded trace.

use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Packet, Time};

use super::later;
use super::opportunities::{OPPORTUNITY_BYTES, Opportunities, OpportunityCursor};
use crate::meter::{LinkStats, Meter};
use crate::node::{Counters, Dequeued, Dropped, Node, Port, Queue};

/// A queue served as Mahimahi serves it: each opportunity carries 1500 IP bytes at one instant.
/// Small packets share one, a larger packet takes the rest from the following; what is left when
/// the queue runs empty is lost. A packet leaves with its last byte.
pub struct TraceLink {
    trace: Arc<Opportunities>,
    cursor: OpportunityCursor,
    queue: Box<dyn Queue>,
    /// The packet that part of has left, and its bytes to go.
    partial: Option<(Box<Packet>, u32)>,
    /// Bytes left of the opportunity in use, and when it is.
    open: (Time, u32),
    /// What the queue last said of the packets that it holds.
    waits: Waits,
    counters: Counters,
    meter: Meter,
}

/// Whether the queue serves what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    /// It does, as far as is known.
    No,
    /// Not before another packet arrives.
    ForArrival,
    /// Not before this time.
    Until(Time),
}

impl TraceLink {
    /// An idle link; the world starts at `offset` of the trace.
    pub fn new(trace: Arc<Opportunities>, offset: Duration, queue: Box<dyn Queue>) -> Self {
        Self {
            cursor: OpportunityCursor::new(&trace, offset),
            trace,
            queue,
            partial: None,
            open: (Time::ZERO, 0),
            waits: Waits::No,
            counters: Counters::default(),
            meter: Meter::default(),
        }
    }

    /// Whether nothing is there that the next opportunity could carry.
    fn is_idle(&self) -> bool {
        self.partial.is_none() && (self.queue.is_empty() || self.waits != Waits::No)
    }

    fn take_next(&mut self, now: Time, drops: &mut Vec<Dropped>) -> Option<(Box<Packet>, u32)> {
        self.meter.advance(now, self.queue.len(), self.queue.bytes());
        if self.queue.follows_capacity() {
            let bytes = self.cursor.bytes_until(&self.trace, now);
            self.queue.capacity(now, bytes);
        }
        let before = drops.len();
        let answer = self.queue.dequeue(now, drops);
        self.counters.count_drops(&drops[before..]);
        self.waits = match answer {
            Dequeued::Packet(packet) => {
                self.meter.served(now - packet.enqueued);
                let bytes = packet.ip_bytes();
                return Some((packet, bytes));
            }
            Dequeued::Empty => Waits::ForArrival,
            Dequeued::NotBefore(at) => Waits::Until(later(now, at)),
        };
        None
    }

    /// The queue may have something to serve again at `now`. Opportunities that passed while there
    /// was nothing are lost.
    fn resume(&mut self, now: Time) {
        if self.is_idle() {
            self.cursor.skip_before(&self.trace, now);
            self.open.1 = 0;
        }
        self.waits = Waits::No;
    }
}

impl Node for TraceLink {
    fn push(&mut self, now: Time, _port: Port, mut packet: Box<Packet>, drops: &mut Vec<Dropped>) {
        self.resume(now);
        packet.enqueued = now;
        self.counters.count_push(&packet);
        self.meter.advance(now, self.queue.len(), self.queue.bytes());
        let before = drops.len();
        self.queue.enqueue(now, packet, drops);
        self.counters.count_drops(&drops[before..]);
    }

    fn poll(&mut self, now: Time, drops: &mut Vec<Dropped>) -> Option<Box<Packet>> {
        if let Waits::Until(at) = self.waits
            && at <= now
        {
            self.resume(at);
        }
        loop {
            if self.is_idle() {
                self.open.1 = 0;
                return None;
            }
            if self.open.1 == 0 {
                let at = self.cursor.time(&self.trace);
                if at > now {
                    return None;
                }
                self.open = (at, OPPORTUNITY_BYTES);
                self.cursor.advance(&self.trace);
            }
            let (at, budget) = self.open;
            let Some((packet, to_go)) = self.partial.take().or_else(|| self.take_next(at, drops))
            else {
                continue;
            };
            let used = to_go.min(budget);
            self.open.1 = budget - used;
            if used < to_go {
                self.partial = Some((packet, to_go - used));
                continue;
            }
            self.counters.count_poll(&packet);
            self.meter.carried(packet.ip_bytes());
            return Some(packet);
        }
    }

    fn next_event(&self) -> Option<Time> {
        if self.is_idle() {
            return match self.waits {
                Waits::Until(at) => Some(at).filter(|at| *at < Time::FAR_FUTURE),
                Waits::No | Waits::ForArrival => None,
            };
        }
        Some(if self.open.1 > 0 { self.open.0 } else { self.cursor.time(&self.trace) })
    }

    fn counters(&self, _port: Port) -> Counters {
        let partial = self.partial.as_ref().map_or(0, |(p, _)| u64::from(p.ip_bytes()));
        let packets = self.queue.len() as u64 + u64::from(self.partial.is_some());
        Counters { held: (packets, self.queue.bytes() + partial), ..self.counters }
    }

    fn link_stats(&self, _port: Port, now: Time) -> Option<LinkStats> {
        let capacity = self.cursor.bytes_until(&self.trace, now);
        Some(self.meter.snapshot(now, self.queue.len(), self.queue.bytes(), capacity))
    }
}
