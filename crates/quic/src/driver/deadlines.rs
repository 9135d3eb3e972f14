//! When which connection wants to be looked at.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

use noq_proto::ConnectionHandle;

/// A heap of deadlines, kept lazily: connections move theirs later with nearly every packet, and
/// that costs nothing here. A deadline that comes up may have moved: ask, and set it anew.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    heap: BinaryHeap<Reverse<(Instant, usize)>>,
    /// By handle: the earliest entry in the heap. Others of the same handle are void.
    earliest: Vec<Option<Instant>>,
}

impl Deadlines {
    /// Makes `handle` due at `at` or before.
    pub(super) fn set(&mut self, handle: ConnectionHandle, at: Instant) {
        if self.earliest.len() <= handle.0 {
            self.earliest.resize(handle.0 + 1, None);
        }
        let earliest = &mut self.earliest[handle.0];
        if earliest.is_none_or(|e| at < e) {
            *earliest = Some(at);
            self.heap.push(Reverse((at, handle.0)));
        }
    }

    /// The next deadline.
    pub(super) fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// A connection whose deadline has come by `now`.
    pub(super) fn due(&mut self, now: Instant) -> Option<ConnectionHandle> {
        while let Some(Reverse((at, handle))) = self.heap.peek().copied() {
            if at > now {
                return None;
            }
            self.heap.pop();
            let earliest = &mut self.earliest[handle];
            if *earliest == Some(at) {
                *earliest = None;
                return Some(ConnectionHandle(handle));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::clock::Clock;

    proptest! {
        /// Against a plain table: whoever is due is named exactly once, and never too early.
        #[test]
        fn whoever_is_due_is_named(steps in prop::collection::vec((0_usize..5, 0_u64..50, any::<bool>()), 1..200)) {
            let base = Clock::new(Duration::ZERO).instant(airlane_base::Time::ZERO);
            let mut deadlines = Deadlines::default();
            let mut model = [None; 5];
            for (handle, ms, advance) in steps {
                let at = base + Duration::from_millis(ms);
                if !advance {
                    deadlines.set(ConnectionHandle(handle), at);
                    let m: &mut Option<Instant> = &mut model[handle];
                    *m = Some(m.map_or(at, |m| m.min(at)));
                    continue;
                }
                let mut named = Vec::new();
                while let Some(h) = deadlines.due(at) {
                    named.push(h.0);
                }
                named.sort_unstable();
                let expected: Vec<usize> =
                    (0..5).filter(|h| model[*h].is_some_and(|m| m <= at)).collect();
                prop_assert_eq!(&named, &expected);
                for h in named {
                    model[h] = None;
                }
                let next = model.iter().flatten().min().copied();
                prop_assert!(deadlines.next() <= next || next.is_none());
            }
        }
    }
}
