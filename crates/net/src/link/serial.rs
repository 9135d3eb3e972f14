//! A link that serialises packets one after the other, at a rate that may change over time.

use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Packet, Rate, Time};

use super::backlog::{Backlog, PortQueue};
use super::profile::{ProfileCursor, RateProfile};
use crate::meter::LinkStats;
use crate::node::{Counters, Dropped, Node, Port, Queue};

/// A queue served at a rate: a packet of `n` IP bytes occupies the link for the time in which
/// the link carries `8 n` bits, rounded up to the nanosecond.
///
/// The packet in service has left the queue. A packet's sojourn lasts from its arrival until its
/// service begins.
pub struct SerialLink<B = PortQueue> {
    capacity: ProfileCursor,
    backlog: B,
    /// The packet in service and when its last bit leaves.
    serving: Option<(Time, Box<Packet>)>,
}

impl SerialLink {
    /// An idle link of constant rate. At rate zero nothing ever leaves.
    pub fn constant(rate: Rate, queue: Box<dyn Queue>) -> Self {
        Self::new(Arc::new(RateProfile::constant(rate)), Duration::ZERO, queue)
    }

    /// An idle link whose capacity follows a profile; the world starts at `offset` of it. A
    /// packet in service when the rate changes goes on at the new rate.
    pub fn new(profile: Arc<RateProfile>, offset: Duration, queue: Box<dyn Queue>) -> Self {
        Self::of(profile, offset, PortQueue::new(queue))
    }
}

impl<B: Backlog> SerialLink<B> {
    /// An idle link that serves such a backlog.
    pub(super) fn of(profile: Arc<RateProfile>, offset: Duration, backlog: B) -> Self {
        Self { capacity: ProfileCursor::new(profile, offset), backlog, serving: None }
    }

    fn serve_next(&mut self, now: Time, drops: &mut Vec<Dropped>) {
        let next = self.backlog.next(now, || self.capacity.bytes_until(now), drops);
        self.serving = next.map(|packet| (self.capacity.serve(now, packet.ip_bytes()), packet));
    }
}

impl<B: Backlog> Node for SerialLink<B> {
    fn ports(&self) -> u16 {
        self.backlog.ports()
    }

    fn push(&mut self, now: Time, port: Port, packet: Box<Packet>, drops: &mut Vec<Dropped>) {
        self.backlog.push(now, port, packet, drops);
        if self.serving.is_none() {
            self.serve_next(now, drops);
        }
    }

    fn poll(&mut self, now: Time, drops: &mut Vec<Dropped>) -> Option<Box<Packet>> {
        if self.serving.is_none()
            && let Some(at) = self.backlog.waits_until().filter(|at| *at <= now)
        {
            self.serve_next(at, drops);
        }
        let (done, packet) = self.serving.take_if(|(done, _)| *done <= now)?;
        self.backlog.left(&packet);
        // The next service begins when this one ended, however late the poll is.
        self.serve_next(done, drops);
        Some(packet)
    }

    fn next_event(&self) -> Option<Time> {
        let next = match &self.serving {
            Some((done, _)) => Some(*done),
            None => self.backlog.waits_until(),
        };
        next.filter(|at| *at < Time::FAR_FUTURE)
    }

    fn counters(&self, port: Port) -> Counters {
        self.backlog.counters(port, self.serving.as_ref().map(|(_, packet)| &**packet))
    }

    fn link_stats(&self, port: Port, now: Time) -> Option<LinkStats> {
        Some(self.backlog.stats(port, now, self.capacity.bytes_until(now)))
    }
}
