//! First in, first out; what does not fit is dropped on arrival.

use std::collections::VecDeque;

use airlane_base::{DropReason, Packet, Time};

use crate::node::{Dequeued, Dropped, Queue};
use crate::queue::Capacity;

/// A FIFO that drops arrivals which would exceed its capacity.
///
/// The packet in service is the link's, not the queue's: it does not count.
#[derive(Debug)]
pub struct DropTail {
    capacity: Capacity,
    bytes: u64,
    waiting: VecDeque<Box<Packet>>,
}

impl DropTail {
    /// An empty queue.
    pub fn new(capacity: Capacity) -> Self {
        Self { capacity, bytes: 0, waiting: VecDeque::new() }
    }
}

impl Queue for DropTail {
    fn enqueue(&mut self, _now: Time, packet: Box<Packet>, drops: &mut Vec<Dropped>) {
        let bytes = self.bytes + u64::from(packet.ip_bytes());
        if self.capacity.exceeded_by(self.waiting.len() + 1, bytes) {
            drops.push(Dropped { packet, reason: DropReason::Overflow });
        } else {
            self.bytes = bytes;
            self.waiting.push_back(packet);
        }
    }

    fn dequeue(&mut self, _now: Time, _drops: &mut Vec<Dropped>) -> Dequeued {
        let Some(packet) = self.waiting.pop_front() else { return Dequeued::Empty };
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
        "droptail"
    }
}
