//! A queue that serves its newest packet first.

use std::collections::VecDeque;

use airlane_base::{DropReason, Packet, Seed, Time};
use airlane_net::queue::{Capacity, QueueKind};
use airlane_net::{Dequeued, Dropped, Queue};

#[derive(Debug)]
pub(crate) struct NewestFirst;

impl QueueKind for NewestFirst {
    fn name(&self) -> &'static str {
        "newest-first"
    }

    fn build(&self, capacity: Capacity, _: Seed) -> Box<dyn Queue> {
        Box::new(Stack(capacity, VecDeque::new()))
    }
}

struct Stack(Capacity, VecDeque<Box<Packet>>);

impl Queue for Stack {
    fn enqueue(&mut self, _: Time, packet: Box<Packet>, drops: &mut Vec<Dropped>) {
        let bytes = self.bytes() + u64::from(packet.ip_bytes());
        if self.0.exceeded_by(self.len() + 1, bytes) {
            drops.push(Dropped { packet, reason: DropReason::Overflow });
        } else {
            self.1.push_back(packet);
        }
    }

    fn dequeue(&mut self, _: Time, _: &mut Vec<Dropped>) -> Dequeued {
        self.1.pop_back().into()
    }

    fn len(&self) -> usize {
        self.1.len()
    }

    fn bytes(&self) -> u64 {
        self.1.iter().map(|packet| u64::from(packet.ip_bytes())).sum()
    }

    fn name(&self) -> &'static str {
        "newest-first"
    }
}
