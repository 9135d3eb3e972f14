//! One budget of air for both directions: a server that takes packets of two queues in turns.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Packet, Time};

use super::backlog::{Backlog, PortQueue};
use super::profile::RateProfile;
use super::{SerialLink, Supply, TraceLink};
use crate::direction::Direction;
use crate::meter::LinkStats;
use crate::node::{Counters, Dropped, Node, Port, Queue};

/// Queues of both directions in front of one server: round robin per packet.
///
/// After a packet of one direction it is the other's turn. A direction whose queue serves nothing
/// leaves its turn to the other, so that the server is idle only while neither has a packet to serve.
pub struct RoundRobin {
    /// By [`RoundRobin::port`].
    queues: [PortQueue; 2],
    shares: [Share; 2],
    /// Port whose turn it is.
    turn: usize,
    /// Port of the packet that was served last.
    in_service: usize,
}

/// Capacity that one direction has of a server, of which the other takes a part.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    /// IP bytes that the server could have carried, at the last look.
    capacity: f64,
    /// IP bytes that the other direction has carried, at the last look.
    other: f64,
    /// IP bytes that were left to this direction until then.
    own: f64,
}

impl Share {
    /// IP bytes that are left to the direction until now: all but those of the other, and no less
    /// than half, as its turn comes after each packet of the other.
    fn until(&mut self, capacity: f64, other: f64) -> f64 {
        let more = capacity - self.capacity;
        self.own += (more - (other - self.other)).max(more / 2.0);
        (self.capacity, self.other) = (capacity, other);
        self.own
    }
}

impl RoundRobin {
    /// Two unused queues. The first turn is the way down's.
    pub fn new(down: Box<dyn Queue>, up: Box<dyn Queue>) -> Self {
        Self {
            queues: [PortQueue::new(down), PortQueue::new(up)],
            shares: [Share::default(); 2],
            turn: 0,
            in_service: 0,
        }
    }

    /// Port of a direction.
    pub const fn port(direction: Direction) -> Port {
        match direction {
            Direction::Down => Port(0),
            Direction::Up => Port(1),
        }
    }

    fn queue(&self, port: Port) -> &PortQueue {
        &self.queues[usize::from(port.0)]
    }
}

impl Backlog for RoundRobin {
    fn ports(&self) -> u16 {
        2
    }

    fn push(&mut self, now: Time, port: Port, packet: Box<Packet>, drops: &mut Vec<Dropped>) {
        self.queues[usize::from(port.0)].push(now, port, packet, drops);
    }

    fn next(
        &mut self,
        now: Time,
        capacity: impl Fn() -> f64,
        drops: &mut Vec<Dropped>,
    ) -> Option<Box<Packet>> {
        for port in [self.turn, 1 - self.turn] {
            if !self.queues[port].may_be_asked(now) {
                continue;
            }
            let other = self.queues[1 - port].carried_bytes() as f64;
            let share = Cell::new(self.shares[port]);
            let left_to_it = || {
                let mut looked = share.get();
                let own = looked.until(capacity(), other);
                share.set(looked);
                own
            };
            let packet = self.queues[port].next(now, left_to_it, drops);
            self.shares[port] = share.get();
            if packet.is_some() {
                (self.turn, self.in_service) = (1 - port, port);
                return packet;
            }
        }
        None
    }

    fn left(&mut self, packet: &Packet) {
        self.queues[self.in_service].left(packet);
    }

    fn is_idle(&self) -> bool {
        self.queues.iter().all(Backlog::is_idle)
    }

    fn wake(&mut self, now: Time) {
        self.queues.iter_mut().for_each(|queue| queue.wake(now));
    }

    fn waits_until(&self) -> Option<Time> {
        self.queues.iter().filter_map(Backlog::waits_until).min()
    }

    fn counters(&self, port: Port, in_service: Option<&Packet>) -> Counters {
        let own = in_service.filter(|_| usize::from(port.0) == self.in_service);
        self.queue(port).counters(port, own)
    }

    fn stats(&self, port: Port, now: Time, capacity: f64) -> LinkStats {
        self.queue(port).stats(port, now, capacity)
    }
}

impl Supply {
    /// Half-duplex link with this supply, of whose two ports ([`RoundRobin::port`]) each has a queue;
    /// the world starts at `offset`.
    pub fn half_duplex(
        &self,
        offset: Duration,
        down: Box<dyn Queue>,
        up: Box<dyn Queue>,
    ) -> Box<dyn Node> {
        let queues = RoundRobin::new(down, up);
        match self {
            Self::Constant(rate) => {
                let profile = Arc::new(RateProfile::constant(*rate));
                Box::new(SerialLink::of(profile, Duration::ZERO, queues))
            }
            Self::Profile(profile) => Box::new(SerialLink::of(Arc::clone(profile), offset, queues)),
            Self::Opportunities(trace) => {
                Box::new(TraceLink::of(Arc::clone(trace), offset, queues))
            }
        }
    }
}
