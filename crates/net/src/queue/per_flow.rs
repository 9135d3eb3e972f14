//! A queue of the same discipline for each flow, as a base station has one for each bearer of a user,
//! served in turn by deficit round robin (Shreedhar and Varghese, SIGCOMM 1995).

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use airlane_base::{Packet, Rate, Seed, Time};

use super::QueueSpec;
use super::octopus::Flows;
use crate::node::{Dequeued, Dropped, Queue};

/// Flows that have a queue of their own; later ones share those.
const MAX_QUEUES: usize = 1_024;
/// IP bytes that a queue may send in its turn.
const QUANTUM_BYTES: i64 = 1_514;

struct FlowQueue {
    queue: Box<dyn Queue>,
    deficit: i64,
    /// It takes turns.
    is_active: bool,
}

/// Queues of flows. A flow is a pair of addresses with ports; what has none is one flow.
pub struct PerFlow {
    spec: QueueSpec,
    rate: Rate,
    rtt: Duration,
    seed: Seed,
    flows: Flows,
    /// By flow, the place of its queue.
    places: BTreeMap<u64, usize>,
    queues: Vec<FlowQueue>,
    /// Places of queues that take turns.
    turns: VecDeque<usize>,
    packets: usize,
    bytes: u64,
    is_slow: bool,
}

impl PerFlow {
    /// Without queues yet: that of each flow is built to `spec`, for a link of `rate` with a round trip of
    /// `rtt`, with the whole limit for itself.
    pub fn new(spec: QueueSpec, rate: Rate, rtt: Duration, seed: Seed) -> Self {
        Self {
            spec,
            rate,
            rtt,
            seed,
            flows: Flows::new(seed),
            places: BTreeMap::new(),
            queues: Vec::new(),
            turns: VecDeque::new(),
            packets: 0,
            bytes: 0,
            is_slow: false,
        }
    }

    fn place(&mut self, packet: &Packet) -> usize {
        let flow = self.flows.of(packet).map_or(0, |(flow, _)| flow);
        if let Some(place) = self.places.get(&flow) {
            return *place;
        }
        if self.queues.len() == MAX_QUEUES {
            return (flow % MAX_QUEUES as u64) as usize;
        }
        let place = self.queues.len();
        let seed = self.seed.index(place as u64);
        let mut queue = self.spec.build(self.rate, self.rtt, seed);
        queue.set_slow(self.is_slow);
        self.queues.push(FlowQueue { queue, deficit: 0, is_active: false });
        self.places.insert(flow, place);
        place
    }

    /// Changes a queue, and counts the packets and bytes that wait anew.
    fn with<R>(&mut self, place: usize, act: impl FnOnce(&mut FlowQueue) -> R) -> R {
        let queue = &mut self.queues[place];
        let (packets, bytes) = (queue.queue.len(), queue.queue.bytes());
        let result = act(queue);
        self.packets = self.packets + queue.queue.len() - packets;
        self.bytes = self.bytes + queue.queue.bytes() - bytes;
        result
    }
}

impl Queue for PerFlow {
    fn enqueue(&mut self, now: Time, packet: Box<Packet>, drops: &mut Vec<Dropped>) {
        let place = self.place(&packet);
        self.with(place, |queue| queue.queue.enqueue(now, packet, drops));
        let queue = &mut self.queues[place];
        if !queue.is_active && !queue.queue.is_empty() {
            queue.is_active = true;
            queue.deficit = QUANTUM_BYTES;
            self.turns.push_back(place);
        }
    }

    fn dequeue(&mut self, now: Time, drops: &mut Vec<Dropped>) -> Dequeued {
        let mut earliest: Option<Time> = None;
        // Queues in a row that serve nothing yet.
        let mut passed = 0;
        while let Some(&place) = self.turns.front() {
            if passed == self.turns.len() {
                return earliest.map_or(Dequeued::Empty, Dequeued::NotBefore);
            }
            if self.queues[place].deficit <= 0 {
                self.queues[place].deficit += QUANTUM_BYTES;
                self.turns.rotate_left(1);
                continue;
            }
            match self.with(place, |queue| queue.queue.dequeue(now, drops)) {
                Dequeued::Packet(packet) => {
                    let queue = &mut self.queues[place];
                    queue.deficit -= i64::from(packet.ip_bytes());
                    if queue.queue.is_empty() {
                        queue.is_active = false;
                        self.turns.pop_front();
                    }
                    return Dequeued::Packet(packet);
                }
                Dequeued::Empty => {
                    self.queues[place].is_active = false;
                    self.turns.pop_front();
                }
                Dequeued::NotBefore(at) => {
                    earliest = Some(earliest.map_or(at, |earliest| earliest.min(at)));
                    passed += 1;
                    self.turns.rotate_left(1);
                }
            }
        }
        Dequeued::Empty
    }

    fn set_slow(&mut self, is_slow: bool) {
        self.is_slow = is_slow;
        self.queues.iter_mut().for_each(|queue| queue.queue.set_slow(is_slow));
    }

    fn len(&self) -> usize {
        self.packets
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn name(&self) -> &'static str {
        "per-flow"
    }
}
