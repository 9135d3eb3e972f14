//! FQ-CoDel (RFC 8290): a queue per flow under CoDel, served in turn by deficit, new flows first.

use std::collections::VecDeque;

use airlane_base::{DropReason, Fnv64, Packet, Seed, Time};

use super::codel::{CodelConfig, ControlLaw, Fifo};
use crate::node::{Dequeued, Dropped, Queue};
use crate::queue::Capacity;

/// Queues that flows are hashed to (section 5.2.2).
const QUEUES: usize = 1_024;
/// IP bytes that a queue may send in its turn (section 5.2.3).
const QUANTUM_BYTES: i64 = 1_514;
/// Packets dropped at once from the longest queue where there is no room (section 4.1.2 of the RFC:
/// half of it, at most so many).
const MAX_DROPPED: usize = 64;

#[derive(Debug, Default)]
struct FlowQueue {
    fifo: Fifo,
    law: ControlLaw,
    deficit: i64,
    /// It stands on a list.
    listed: bool,
}

/// Many queues under CoDel.
#[derive(Debug)]
pub struct FqCodel {
    config: CodelConfig,
    is_slow: bool,
    capacity: Capacity,
    queues: Vec<FlowQueue>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    packets: usize,
    bytes: u64,
    seed: u64,
}

impl FqCodel {
    /// Empty queues. Which flow has which depends on `seed`.
    pub fn new(config: CodelConfig, capacity: Capacity, seed: Seed) -> Self {
        Self {
            config,
            is_slow: false,
            capacity,
            queues: (0..QUEUES).map(|_| FlowQueue::default()).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: 0,
            seed: seed.0,
        }
    }

    fn queue_of(&self, packet: &Packet) -> usize {
        let mut hash = Fnv64::new();
        hash.write_u64(self.seed);
        hash.write(format!("{} {}", packet.src, packet.dst).as_bytes());
        (hash.finish() % QUEUES as u64) as usize
    }

    /// Drops from the front of the longest queue: half of it.
    fn make_room(&mut self, drops: &mut Vec<Dropped>) {
        let longest = (0..QUEUES).max_by_key(|i| self.queues[*i].fifo.bytes()).unwrap_or(0);
        let half = self.queues[longest].fifo.bytes() / 2;
        let mut gone = 0;
        for _ in 0..MAX_DROPPED {
            let Some(packet) = self.queues[longest].fifo.pop() else { break };
            let bytes = u64::from(packet.ip_bytes());
            (self.packets, self.bytes) = (self.packets - 1, self.bytes - bytes);
            gone += bytes;
            drops.push(Dropped { packet, reason: DropReason::Overflow });
            if gone >= half {
                break;
            }
        }
    }
}

impl Queue for FqCodel {
    fn enqueue(&mut self, _now: Time, packet: Box<Packet>, drops: &mut Vec<Dropped>) {
        let number = self.queue_of(&packet);
        self.packets += 1;
        self.bytes += u64::from(packet.ip_bytes());
        let queue = &mut self.queues[number];
        queue.fifo.push(packet);
        if !queue.listed {
            queue.listed = true;
            queue.deficit = QUANTUM_BYTES;
            self.new.push_back(number);
        }
        while self.capacity.exceeded_by(self.packets, self.bytes) {
            self.make_room(drops);
        }
    }

    fn set_slow(&mut self, is_slow: bool) {
        self.is_slow = is_slow;
    }

    fn dequeue(&mut self, now: Time, drops: &mut Vec<Dropped>) -> Dequeued {
        let config = if self.is_slow { self.config.slow() } else { self.config };
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let Some(&number) = list.front() else { return Dequeued::Empty };
            let queue = &mut self.queues[number];
            if queue.deficit <= 0 {
                queue.deficit += QUANTUM_BYTES;
                list.pop_front();
                self.old.push_back(number);
                continue;
            }
            let before = (drops.len(), queue.fifo.len(), queue.fifo.bytes());
            let packet = queue.law.dequeue(now, &config, &mut queue.fifo, drops);
            self.packets -= before.1 - queue.fifo.len();
            self.bytes -= before.2 - queue.fifo.bytes();
            match packet {
                Some(packet) => {
                    queue.deficit -= i64::from(packet.ip_bytes());
                    return Dequeued::Packet(packet);
                }
                None => {
                    // An empty new flow has one more turn among the old ones (section 4.2): it could
                    // otherwise stay new for ever.
                    list.pop_front();
                    if is_new {
                        self.old.push_back(number);
                    } else {
                        queue.listed = false;
                    }
                }
            }
        }
    }

    fn len(&self) -> usize {
        self.packets
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn name(&self) -> &'static str {
        "fq-codel"
    }
}
