//! The heap of what happens next, ordered by (time, sequence).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use airlane_base::Time;

/// Whose event it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    Node(u32),
    Lane(u32),
}

/// Events in the order of their time, and of their sequence numbers at the same time.
#[derive(Debug, Default)]
pub(super) struct Events {
    heap: BinaryHeap<Reverse<(Time, u64, Source)>>,
    sequence: u64,
}

impl Events {
    /// A fresh sequence number.
    #[inline]
    pub(super) fn sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    #[inline]
    pub(super) fn push(&mut self, at: Time, seq: u64, source: Source) {
        self.heap.push(Reverse((at, seq, source)));
    }

    /// When the first event is, if stale ones were [pruned](Self::prune).
    #[inline]
    pub(super) fn next(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    /// Takes the first event if it is due.
    #[inline]
    pub(super) fn pop(&mut self, now: Time) -> Option<(Time, Source)> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse((at, _, source))| (at, source))
    }

    /// Removes events of nodes that are no longer valid from the top.
    #[inline]
    pub(super) fn prune(&mut self, valid: impl Fn(u32, Time, u64) -> bool) {
        while let Some(Reverse((at, seq, Source::Node(n)))) = self.heap.peek() {
            if valid(*n, *at, *seq) {
                return;
            }
            self.heap.pop();
        }
    }
}
