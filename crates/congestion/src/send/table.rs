//! The packets in flight, by packet number.

use std::collections::VecDeque;

use airlane_base::Time;

/// Record of a packet until it is acknowledged or lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFlight {
    /// Its number.
    pub pn: u64,
    /// Time at which it was sent, as the transport said.
    pub at: Time,
    /// Its size in bytes of UDP payload.
    pub bytes: u16,
}

/// Packets that there stays room for when none is in flight: the room for all of a chunk, which may
/// leave at once, is not for a connection to keep while its player watches.
const KEPT: usize = 32;

/// Packets sent and neither acknowledged nor lost, sorted by number.
///
/// Numbers rise but have gaps: transports skip some on purpose, and packets that carry nothing but
/// acknowledgements are not tracked.
#[derive(Debug)]
pub(super) struct Table {
    /// `None` where a packet was taken out of the middle; the front is never `None`.
    slots: VecDeque<(u64, Option<InFlight>)>,
}

impl Table {
    pub(super) fn new() -> Self {
        Self { slots: VecDeque::new() }
    }

    /// Adds a packet, unless its number does not rise.
    pub(super) fn insert(&mut self, sent: InFlight) -> bool {
        if self.slots.back().is_some_and(|(pn, _)| *pn >= sent.pn) {
            return false;
        }
        self.slots.push_back((sent.pn, Some(sent)));
        true
    }

    /// Takes the packet of this number out, if it is here and `is` it.
    pub(super) fn take(&mut self, pn: u64, is: impl FnOnce(&InFlight) -> bool) -> Option<InFlight> {
        // Mostly the front; near it where acknowledgements come in order.
        let i = match self.slots.front() {
            Some((front, _)) if *front == pn => 0,
            _ => self.slots.binary_search_by_key(&pn, |(pn, _)| *pn).ok()?,
        };
        let slot = &mut self.slots[i].1;
        if !slot.as_ref().is_some_and(is) {
            return None;
        }
        let taken = slot.take();
        while self.slots.front().is_some_and(|(_, s)| s.is_none()) {
            self.slots.pop_front();
        }
        if self.slots.is_empty() {
            self.slots.shrink_to(KEPT);
        }
        taken
    }

    /// Number of packets in flight.
    pub(super) fn packets(&self) -> u64 {
        self.slots.iter().filter(|(_, slot)| slot.is_some()).count() as u64
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.slots.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn sent(pn: u64) -> InFlight {
        InFlight { pn, at: Time::from_nanos(pn), bytes: 1 }
    }

    proptest! {
        #[test]
        fn behaves_like_a_map(ops in prop::collection::vec((any::<bool>(), 1u64..4), 1..300)) {
            let (mut table, mut map) = (Table::new(), BTreeMap::new());
            let mut next = 0;
            for (insert, step) in ops {
                if insert {
                    next += step;
                    prop_assert!(table.insert(sent(next)));
                    prop_assert!(!table.insert(sent(next)));
                    map.insert(next, sent(next));
                } else {
                    // Some number near the front, taken or not, known or not.
                    let pn = map.keys().next().map_or(0, |pn| pn + step - 1);
                    prop_assert_eq!(table.take(pn, |_| false), None);
                    prop_assert_eq!(table.take(pn, |_| true), map.remove(&pn));
                }
            }
            for (pn, s) in map {
                prop_assert_eq!(table.take(pn, |_| true), Some(s));
            }
            prop_assert!(table.slots.is_empty());
        }
    }
}
