//! A link that lets packets go at the delivery opportunities of a recorded trace.

use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Packet, Time};

use super::opportunities::{OPPORTUNITY_BYTES, Opportunities, OpportunityCursor};
use crate::meter::{LinkStats, Meter};
use crate::node::{Counters, Dropped, Node, Queue};

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
    counters: Counters,
    meter: Meter,
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
            counters: Counters::default(),
            meter: Meter::default(),
        }
    }

    fn is_idle(&self) -> bool {
        self.partial.is_none() && self.queue.is_empty()
    }

    fn take_next(&mut self, now: Time, drops: &mut Vec<Dropped>) -> Option<(Box<Packet>, u32)> {
        self.meter.advance(now, self.queue.len(), self.queue.bytes());
        let before = drops.len();
        let packet = self.queue.dequeue(now, drops);
        self.counters.count_drops(&drops[before..]);
        packet.map(|packet| {
            self.meter.served(now - packet.enqueued);
            let bytes = packet.ip_bytes();
            (packet, bytes)
        })
    }
}

impl Node for TraceLink {
    fn push(&mut self, now: Time, mut packet: Box<Packet>, drops: &mut Vec<Dropped>) {
        if self.is_idle() {
            self.cursor.skip_before(&self.trace, now);
            self.open.1 = 0;
        }
        packet.enqueued = now;
        self.counters.count_push(&packet);
        self.meter.advance(now, self.queue.len(), self.queue.bytes());
        let before = drops.len();
        self.queue.enqueue(now, packet, drops);
        self.counters.count_drops(&drops[before..]);
    }

    fn poll(&mut self, now: Time, drops: &mut Vec<Dropped>) -> Option<Box<Packet>> {
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
            return None;
        }
        Some(if self.open.1 > 0 { self.open.0 } else { self.cursor.time(&self.trace) })
    }

    fn counters(&self) -> Counters {
        let partial = self.partial.as_ref().map_or(0, |(p, _)| u64::from(p.ip_bytes()));
        let packets = self.queue.len() as u64 + u64::from(self.partial.is_some());
        Counters { held: (packets, self.queue.bytes() + partial), ..self.counters }
    }

    fn link_stats(&self, now: Time) -> Option<LinkStats> {
        let capacity = self.cursor.bytes_until(&self.trace, now);
        Some(self.meter.snapshot(now, self.queue.len(), self.queue.bytes(), capacity))
    }
}
