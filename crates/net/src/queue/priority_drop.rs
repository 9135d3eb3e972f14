//! Priority dropping, what the Octopus paper compares with (section 7.2, PDrop): where the queue is full
//! and a message comes, what waits of messages that matter less is dropped, and the message itself if
//! that leaves no room.

use std::collections::{BTreeMap, VecDeque};

use airlane_base::{DropReason, Packet, Seed, Time};
use airlane_octopus::Header;

use super::octopus::Flows;
use crate::node::{Dequeued, Dropped, Queue};
use crate::queue::Capacity;

/// A stream: a connection, and its number in it.
type Stream = (u64, u16);

/// A message that waits in part or whole.
type Message = (Stream, u32);

/// Packet that waits, with its message.
#[derive(Debug)]
struct Waiting {
    packet: Box<Packet>,
    /// Its message and the priority of that; `None` of packets without a header.
    message: Option<(Message, u8)>,
}

/// A FIFO that makes room by priority. It drops whole messages: what begins to leave goes on, and what
/// comes of a message that was dropped is dropped.
#[derive(Debug)]
pub struct PriorityDrop {
    flows: Flows,
    capacity: Capacity,
    waiting: VecDeque<Waiting>,
    bytes: u64,
    /// Of each stream the message that was dropped last: more of it may be coming. As many streams as
    /// have lost a message; the oldest are forgotten.
    lost: BTreeMap<Stream, u32>,
    /// Of each stream the message that began to leave last.
    leaving: BTreeMap<Stream, u32>,
}

/// Streams that are kept at most.
const MAX_STREAMS: usize = 1_024;

impl PriorityDrop {
    /// An empty queue, in which nobody can be taken for another on purpose who does not know `seed`.
    pub fn new(capacity: Capacity, seed: Seed) -> Self {
        Self {
            flows: Flows::new(seed),
            capacity,
            waiting: VecDeque::new(),
            bytes: 0,
            lost: BTreeMap::new(),
            leaving: BTreeMap::new(),
        }
    }

    fn has_room(&self, bytes: u64) -> bool {
        !self.capacity.exceeded_by(self.waiting.len() + 1, self.bytes + bytes)
    }

    /// Drops all waiting packets whose message `goes`.
    fn drop_messages(
        &mut self,
        mut goes: impl FnMut(Message, u8) -> bool,
        drops: &mut Vec<Dropped>,
    ) {
        for _ in 0..self.waiting.len() {
            let Some(next) = self.waiting.pop_front() else { return };
            let (stream, number) = match next.message {
                Some((message @ (stream, number), priority))
                    if self.leaving.get(&stream) != Some(&number) && goes(message, priority) =>
                {
                    (stream, number)
                }
                _ => {
                    self.waiting.push_back(next);
                    continue;
                }
            };
            self.bytes -= u64::from(next.packet.ip_bytes());
            remember(&mut self.lost, stream, number);
            drops.push(Dropped { packet: next.packet, reason: DropReason::Overflow });
        }
    }
}

/// Keeps the latest message of a stream.
fn remember(of: &mut BTreeMap<Stream, u32>, stream: Stream, message: u32) {
    of.insert(stream, message);
    if of.len() > MAX_STREAMS {
        of.pop_first();
    }
}

impl Queue for PriorityDrop {
    fn enqueue(&mut self, _now: Time, packet: Box<Packet>, drops: &mut Vec<Dropped>) {
        let header = self
            .flows
            .of(&packet)
            .and_then(|(flow, payload)| Some((flow, Header::decode(payload).ok()?)));
        let message = header.map(|(flow, header)| {
            (((flow, header.stream), header.message), header.marking.priority)
        });
        let bytes = u64::from(packet.ip_bytes());
        if let Some(((stream, number), _)) = message
            && self.lost.get(&stream) == Some(&number)
        {
            drops.push(Dropped { packet, reason: DropReason::Overflow });
            return;
        }
        if !self.has_room(bytes) {
            // What has no header matters most.
            let own = message.map_or(0, |(_, priority)| priority);
            self.drop_messages(|_, priority| priority > own, drops);
        }
        if !self.has_room(bytes) {
            drops.push(Dropped { packet, reason: DropReason::Overflow });
            if let Some((lost, _)) = message {
                remember(&mut self.lost, lost.0, lost.1);
                self.drop_messages(|message, _| message == lost, drops);
            }
            return;
        }
        self.bytes += bytes;
        self.waiting.push_back(Waiting { packet, message });
    }

    fn dequeue(&mut self, _now: Time, _drops: &mut Vec<Dropped>) -> Dequeued {
        let Some(Waiting { packet, message }) = self.waiting.pop_front() else {
            return Dequeued::Empty;
        };
        self.bytes -= u64::from(packet.ip_bytes());
        if let Some(((stream, number), _)) = message {
            remember(&mut self.leaving, stream, number);
        }
        Dequeued::Packet(packet)
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn name(&self) -> &'static str {
        "priority-drop"
    }
}
