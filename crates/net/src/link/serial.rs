//! A link that serialises packets one after the other, at a rate that may change over time.

use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Packet, Rate, Time};

use super::later;
use super::profile::{ProfileCursor, RateProfile};
use crate::meter::{LinkStats, Meter};
use crate::node::{Counters, Dequeued, Dropped, Node, Port, Queue};

/// A queue served at a rate: a packet of `n` IP bytes occupies the link for the time in which
/// the link carries `8 n` bits, rounded up to the nanosecond.
///
/// The packet in service has left the queue. A packet's sojourn lasts from its arrival until its
/// service begins.
pub struct SerialLink {
    capacity: ProfileCursor,
    queue: Box<dyn Queue>,
    /// The packet in service and when its last bit leaves.
    serving: Option<(Time, Box<Packet>)>,
    /// Nothing is in service, and the queue serves nothing before this time.
    waits_until: Option<Time>,
    counters: Counters,
    meter: Meter,
}

impl SerialLink {
    /// An idle link of constant rate. At rate zero nothing ever leaves.
    pub fn constant(rate: Rate, queue: Box<dyn Queue>) -> Self {
        Self::new(Arc::new(RateProfile::constant(rate)), Duration::ZERO, queue)
    }

    /// An idle link whose capacity follows a profile; the world starts at `offset` of it. A
    /// packet in service when the rate changes goes on at the new rate.
    pub fn new(profile: Arc<RateProfile>, offset: Duration, queue: Box<dyn Queue>) -> Self {
        Self {
            capacity: ProfileCursor::new(profile, offset),
            queue,
            serving: None,
            waits_until: None,
            counters: Counters::default(),
            meter: Meter::default(),
        }
    }

    fn serve_next(&mut self, now: Time, drops: &mut Vec<Dropped>) {
        self.meter.advance(now, self.queue.len(), self.queue.bytes());
        if self.queue.follows_capacity() {
            self.queue.capacity(now, self.capacity.bytes_until(now));
        }
        let before = drops.len();
        self.waits_until = None;
        match self.queue.dequeue(now, drops) {
            Dequeued::Packet(packet) => {
                self.meter.served(now - packet.enqueued);
                self.serving = Some((self.capacity.serve(now, packet.ip_bytes()), packet));
            }
            Dequeued::Empty => {}
            Dequeued::NotBefore(at) => self.waits_until = Some(later(now, at)),
        }
        self.counters.count_drops(&drops[before..]);
    }
}

impl Node for SerialLink {
    fn push(&mut self, now: Time, _port: Port, mut packet: Box<Packet>, drops: &mut Vec<Dropped>) {
        packet.enqueued = now;
        self.counters.count_push(&packet);
        self.meter.advance(now, self.queue.len(), self.queue.bytes());
        let before = drops.len();
        self.queue.enqueue(now, packet, drops);
        self.counters.count_drops(&drops[before..]);
        if self.serving.is_none() {
            self.serve_next(now, drops);
        }
    }

    fn poll(&mut self, now: Time, drops: &mut Vec<Dropped>) -> Option<Box<Packet>> {
        if let Some(at) = self.waits_until.filter(|at| *at <= now) {
            self.serve_next(at, drops);
        }
        let (done, packet) = self.serving.take_if(|(done, _)| *done <= now)?;
        self.counters.count_poll(&packet);
        self.meter.carried(packet.ip_bytes());
        // The next service begins when this one ended, however late the poll is.
        self.serve_next(done, drops);
        Some(packet)
    }

    fn next_event(&self) -> Option<Time> {
        let next = self.serving.as_ref().map(|(done, _)| *done).or(self.waits_until);
        next.filter(|at| *at < Time::FAR_FUTURE)
    }

    fn counters(&self, _port: Port) -> Counters {
        let serving = self.serving.as_ref().map_or(0, |(_, p)| u64::from(p.ip_bytes()));
        Counters {
            held: (
                self.queue.len() as u64 + u64::from(self.serving.is_some()),
                self.queue.bytes() + serving,
            ),
            ..self.counters
        }
    }

    fn link_stats(&self, _port: Port, now: Time) -> Option<LinkStats> {
        let capacity = self.capacity.bytes_until(now);
        Some(self.meter.snapshot(now, self.queue.len(), self.queue.bytes(), capacity))
    }
}
