//! What was cut off the stream and not acknowledged: the send queue of the meta level.

use std::collections::{BTreeSet, VecDeque};

use bytes::Bytes;

/// A segment that was handed over and has not been acknowledged.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
    pub(crate) dsn: u64,
    pub(crate) payload: Bytes,
    /// Paths that sent it or have it queued, one bit each by number, but those that ended.
    pub(crate) carriers: u32,
    /// True if a path has sent it.
    pub(crate) was_sent: bool,
}

impl Flight {
    fn end(&self) -> u64 {
        self.dsn + self.payload.len() as u64
    }

    pub(crate) fn is_carried_by(&self, path: usize) -> bool {
        self.carriers & (1 << path) != 0
    }
}

/// Segments from the first that is not acknowledged to the last that was cut, numbered in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flights {
    queue: VecDeque<Flight>,
    first: u64,
    /// Numbers of those that another path is to send.
    again: BTreeSet<u64>,
    bytes: u64,
}

impl Flights {
    /// The number of the first.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// One past the number of the last.
    pub(crate) fn end(&self) -> u64 {
        self.first + self.queue.len() as u64
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Bytes of all of them.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn push(&mut self, dsn: u64, payload: Bytes) -> u64 {
        self.bytes += payload.len() as u64;
        self.queue.push_back(Flight { dsn, payload, carriers: 0, was_sent: false });
        self.end() - 1
    }

    pub(crate) fn get(&self, number: u64) -> Option<&Flight> {
        self.queue.get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut Flight> {
        self.queue.get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    /// Everything below `dsn` has arrived. Whether that is news.
    pub(crate) fn acknowledge(&mut self, dsn: u64) -> bool {
        let before = self.first;
        while self.queue.front().is_some_and(|f| f.end() <= dsn) {
            if let Some(flight) = self.queue.pop_front() {
                self.bytes -= flight.payload.len() as u64;
                self.first += 1;
            }
        }
        while self.again.first().is_some_and(|number| *number < self.first) {
            self.again.pop_first();
        }
        self.first > before
    }

    /// The first segment that another path is to send.
    pub(crate) fn first_again(&self) -> Option<u64> {
        self.again.first().copied()
    }

    /// Another path is to send it.
    pub(crate) fn send_again(&mut self, number: u64) {
        self.again.insert(number);
    }

    /// A path sent it again.
    pub(crate) fn sent_again(&mut self, number: u64) {
        self.again.remove(&number);
    }

    /// Leaves what `path` carries to others, unless one of the `live` has it as well. A path that
    /// ended carries nothing any more. Bytes that this gives to others.
    pub(crate) fn give_back(&mut self, path: usize, live: u32, has_ended: bool) -> u64 {
        let mut bytes = 0;
        for (number, flight) in (self.first..).zip(&mut self.queue) {
            if !flight.is_carried_by(path) {
                continue;
            }
            if has_ended {
                flight.carriers &= !(1 << path);
            }
            if flight.carriers & live == 0 {
                bytes += flight.payload.len() as u64;
                self.again.insert(number);
            }
        }
        bytes
    }

    /// A path that had fallen silent goes on: what it carries need not be sent again.
    pub(crate) fn keep(&mut self, path: usize) {
        let (first, queue) = (self.first, &self.queue);
        self.again.retain(|number| !queue[(number - first) as usize].is_carried_by(path));
    }
}
