//! Packets that wait in front of a link's server: in one queue, or in one per direction.

use airlane_base::{Packet, Time};

use super::later;
use crate::meter::{LinkStats, Meter};
use crate::node::{Counters, Dequeued, Dropped, Port, Queue};

/// Packets that wait in front of a server, and the choice of the one that is served next. One packet
/// is in service at a time.
pub trait Backlog: Send {
    /// Number of ports, each with a queue of its own.
    fn ports(&self) -> u16;
    /// Takes a packet into the queue of a port at `now`.
    fn push(&mut self, now: Time, port: Port, packet: Box<Packet>, drops: &mut Vec<Dropped>);
    /// The packet whose service begins at `now`; `None` while no queue serves one. `capacity` is the
    /// number of IP bytes that the link could have carried until `now`.
    fn next(
        &mut self,
        now: Time,
        capacity: impl Fn() -> f64,
        drops: &mut Vec<Dropped>,
    ) -> Option<Box<Packet>>;
    /// Counts the packet in service as one that left the link.
    fn left(&mut self, packet: &Packet);
    /// True if no queue serves a packet before a time or an arrival.
    fn is_idle(&self) -> bool;
    /// Lets queues be asked again that serve nothing before a time which is `now` or earlier.
    fn wake(&mut self, now: Time);
    /// Earliest time at which a queue is to be asked again.
    fn waits_until(&self) -> Option<Time>;
    /// Packets and bytes that went through a port; `in_service` is the packet in service.
    fn counters(&self, port: Port, in_service: Option<&Packet>) -> Counters;
    /// Measurements of a port until `now`, on a link that could have carried `capacity` IP bytes.
    fn stats(&self, port: Port, now: Time, capacity: f64) -> LinkStats;
}

/// State of a queue: it serves the packets that it holds or waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    /// It does, as far as is known.
    No,
    /// Not before another packet arrives.
    ForArrival,
    /// Not before this time.
    Until(Time),
}

/// Queue of a port, with its counters and measurements.
pub struct PortQueue {
    queue: Box<dyn Queue>,
    /// Last answer of the queue about the packets that it holds.
    waits: Waits,
    counters: Counters,
    meter: Meter,
}

impl PortQueue {
    /// An unused queue.
    pub fn new(queue: Box<dyn Queue>) -> Self {
        Self {
            queue,
            waits: Waits::ForArrival,
            counters: Counters::default(),
            meter: Meter::default(),
        }
    }

    /// IP bytes that left the link through this port.
    pub(super) fn carried_bytes(&self) -> u64 {
        self.counters.polled.1
    }

    /// True if the queue may be asked at `now`.
    pub(super) fn may_be_asked(&self, now: Time) -> bool {
        match self.waits {
            Waits::No => true,
            Waits::ForArrival => false,
            Waits::Until(at) => at <= now,
        }
    }
}

impl Backlog for PortQueue {
    fn ports(&self) -> u16 {
        1
    }

    #[inline]
    fn push(&mut self, now: Time, _port: Port, mut packet: Box<Packet>, drops: &mut Vec<Dropped>) {
        packet.enqueued = now;
        self.counters.count_push(&packet);
        self.meter.advance(now, self.queue.len(), self.queue.bytes());
        let before = drops.len();
        self.queue.enqueue(now, packet, drops);
        self.counters.count_drops(&drops[before..]);
        self.waits = Waits::No;
    }

    #[inline]
    fn next(
        &mut self,
        now: Time,
        capacity: impl Fn() -> f64,
        drops: &mut Vec<Dropped>,
    ) -> Option<Box<Packet>> {
        self.meter.advance(now, self.queue.len(), self.queue.bytes());
        if self.queue.follows_capacity() {
            self.queue.capacity(now, capacity());
        }
        let before = drops.len();
        let answer = self.queue.dequeue(now, drops);
        self.counters.count_drops(&drops[before..]);
        self.waits = match answer {
            Dequeued::Packet(packet) => {
                self.meter.served(now - packet.enqueued);
                self.waits = Waits::No;
                return Some(packet);
            }
            Dequeued::Empty => Waits::ForArrival,
            Dequeued::NotBefore(at) => Waits::Until(later(now, at)),
        };
        None
    }

    #[inline]
    fn left(&mut self, packet: &Packet) {
        self.counters.count_poll(packet);
        self.meter.carried(packet.ip_bytes());
    }

    #[inline]
    fn is_idle(&self) -> bool {
        self.queue.is_empty() || self.waits != Waits::No
    }

    #[inline]
    fn wake(&mut self, now: Time) {
        if let Waits::Until(at) = self.waits
            && at <= now
        {
            self.waits = Waits::No;
        }
    }

    #[inline]
    fn waits_until(&self) -> Option<Time> {
        match self.waits {
            Waits::Until(at) => Some(at),
            Waits::No | Waits::ForArrival => None,
        }
    }

    fn counters(&self, _port: Port, in_service: Option<&Packet>) -> Counters {
        let bytes = in_service.map_or(0, |p| u64::from(p.ip_bytes()));
        let packets = self.queue.len() as u64 + u64::from(in_service.is_some());
        Counters { held: (packets, self.queue.bytes() + bytes), ..self.counters }
    }

    fn stats(&self, _port: Port, now: Time, capacity: f64) -> LinkStats {
        self.meter.snapshot(now, self.queue.len(), self.queue.bytes(), capacity)
    }
}
