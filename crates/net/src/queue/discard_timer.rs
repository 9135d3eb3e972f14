//! Dropping by deadline: the discard timer of a base station's PDCP layer (3GPP TS 38.323, section 5.3; its values are
//! those of `discardTimer` in TS 38.331, 10 ms to 1.5 s).

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::{DropReason, Packet, Time};

use crate::node::{Dequeued, Dropped, Queue};
use crate::queue::Capacity;

/// A FIFO that drops each packet once it has waited for a time, whatever it belongs to.
///
/// A packet in service belongs to the link, and is not dropped.
#[derive(Debug)]
pub struct DiscardTimer {
    timer: Duration,
    capacity: Capacity,
    bytes: u64,
    /// Packets with the time at which each came, the oldest first.
    waiting: VecDeque<(Time, Box<Packet>)>,
}

impl DiscardTimer {
    /// An empty queue.
    pub fn new(timer: Duration, capacity: Capacity) -> Self {
        Self { timer, capacity, bytes: 0, waiting: VecDeque::new() }
    }

    fn discard(&mut self, now: Time, drops: &mut Vec<Dropped>) {
        while let Some((_, packet)) = self.waiting.pop_front_if(|(at, _)| now - *at >= self.timer) {
            self.bytes -= u64::from(packet.ip_bytes());
            drops.push(Dropped { packet, reason: DropReason::Aqm });
        }
    }
}

impl Queue for DiscardTimer {
    fn enqueue(&mut self, now: Time, packet: Box<Packet>, drops: &mut Vec<Dropped>) {
        self.discard(now, drops);
        let bytes = self.bytes + u64::from(packet.ip_bytes());
        if self.capacity.exceeded_by(self.waiting.len() + 1, bytes) {
            drops.push(Dropped { packet, reason: DropReason::Overflow });
        } else {
            self.bytes = bytes;
            self.waiting.push_back((now, packet));
        }
    }

    fn dequeue(&mut self, now: Time, drops: &mut Vec<Dropped>) -> Dequeued {
        self.discard(now, drops);
        let Some((_, packet)) = self.waiting.pop_front() else { return Dequeued::Empty };
        self.bytes -= u64::from(packet.ip_bytes());
        Dequeued::Packet(packet)
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn name(&self) -> &'static str {
        "discard-timer"
    }
}
