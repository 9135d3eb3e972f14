//! The receiver's side of a block-ack agreement: frames are passed on in order.

use std::collections::BTreeMap;
use std::time::Duration;

use airlane_base::{Packet, Time};

/// Longest time that a gap is waited for.
pub(super) const TIMEOUT: Duration = Duration::from_millis(100);

/// Frames that came before others which are still missing.
#[derive(Debug, Default)]
pub(super) struct Reorder {
    /// The next number to pass on.
    next: u64,
    waiting: BTreeMap<u64, Vec<Box<Packet>>>,
    /// Since when the first of them has waited.
    since: Time,
}

impl Reorder {
    /// Time at which to give up the gap in front of what waits.
    pub(super) fn deadline(&self) -> Option<Time> {
        (!self.waiting.is_empty()).then(|| self.since + TIMEOUT)
    }

    /// The sender sends nothing before this number any more: what waits in front of it goes on.
    pub(super) fn advance(&mut self, now: Time, start: u64, out: &mut Vec<Box<Packet>>) {
        while let Some(entry) = self.waiting.first_entry().filter(|entry| *entry.key() < start) {
            out.extend(entry.remove());
        }
        self.next = self.next.max(start);
        self.release(now, out);
    }

    /// A frame came for the first time. Gives it back where its gap has been given up: it is discarded,
    /// as packets stay in order (802.11-2020, 10.25.6.6.2).
    pub(super) fn receive(
        &mut self,
        now: Time,
        number: u64,
        packets: Vec<Box<Packet>>,
        out: &mut Vec<Box<Packet>>,
    ) -> Vec<Box<Packet>> {
        if number < self.next {
            return packets;
        }
        if self.waiting.is_empty() {
            self.since = now;
        }
        self.waiting.insert(number, packets);
        self.release(now, out);
        Vec::new()
    }

    /// The gap is given up.
    pub(super) fn give_up(&mut self, now: Time, out: &mut Vec<Box<Packet>>) {
        if let Some((first, _)) = self.waiting.first_key_value() {
            self.next = *first;
            self.release(now, out);
        }
    }

    fn release(&mut self, now: Time, out: &mut Vec<Box<Packet>>) {
        while let Some(entry) = self.waiting.first_entry().filter(|e| *e.key() == self.next) {
            out.extend(entry.remove());
            self.next += 1;
            self.since = now;
        }
    }
}
