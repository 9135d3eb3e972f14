//! Which packets have come: so that none is taken twice, and the peer hears of them.

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::{Ecn, Time};
use airlane_congestion::EcnCounts;

use crate::rtt::MAX_ACK_DELAY;
use crate::wire::{Ack, MAX_RANGES};

/// Packets with data after which an acknowledgement leaves at once (RFC 9000, section 13.2.2).
const ACK_EVERY: u32 = 2;

/// The numbers of packets that have come.
#[derive(Debug, Default)]
pub(crate) struct ReceivedPackets {
    /// Ranges, both ends included: rising, apart from each other. The oldest are forgotten.
    ranges: VecDeque<(u64, u64)>,
    /// Numbers below are refused: what was forgotten may have held them.
    floor: u64,
    /// Time at which the newest packet arrived.
    newest_at: Time,
    /// Packets with data since the last acknowledgement.
    unacknowledged: u32,
    /// Time by which the acknowledgement must leave.
    due: Option<Time>,
    /// Packets that came with ECT(1) or marked.
    ecn: EcnCounts,
}

impl ReceivedPackets {
    /// The number that is expected next.
    pub(crate) fn expected(&self) -> u64 {
        self.ranges.back().map_or(0, |&(_, last)| last.saturating_add(1))
    }

    /// True if a packet of this number has arrived, or may have.
    pub(crate) fn has(&self, pn: u64) -> bool {
        let after = self.ranges.partition_point(|&(first, _)| first <= pn);
        pn < self.floor || after.checked_sub(1).is_some_and(|i| pn <= self.ranges[i].1)
    }

    /// A packet has come for the first time; `data`: it is to be acknowledged.
    pub(crate) fn add(&mut self, now: Time, pn: u64, data: bool) {
        let expected = self.expected();
        if pn >= expected {
            self.newest_at = now;
        }
        self.insert(pn);
        if data {
            self.unacknowledged += 1;
            // What is missing, or comes late, is told at once (RFC 9000, section 13.2.1).
            let at_once = self.unacknowledged >= ACK_EVERY || pn != expected;
            let due = if at_once { now } else { now + MAX_ACK_DELAY };
            self.due = Some(self.due.map_or(due, |before| before.min(due)));
        }
    }

    /// A packet that has come had this code point.
    pub(crate) fn count(&mut self, ecn: Ecn) {
        match ecn {
            Ecn::Ect1 => self.ecn.ect1 += 1,
            Ecn::Ce => self.ecn.ce += 1,
            Ecn::NotEct | Ecn::Ect0 => {}
        }
    }

    fn insert(&mut self, pn: u64) {
        let after = self.ranges.partition_point(|&(first, _)| first <= pn);
        let joins_below = after.checked_sub(1).filter(|&i| self.ranges[i].1 + 1 == pn);
        let joins_above = self.ranges.get(after).is_some_and(|&(first, _)| first == pn + 1);
        match (joins_below, joins_above) {
            (Some(i), true) => {
                self.ranges[i].1 = self.ranges[after].1;
                self.ranges.remove(after);
            }
            (Some(i), false) => self.ranges[i].1 = pn,
            (None, true) => self.ranges[after].0 = pn,
            (None, false) => self.ranges.insert(after, (pn, pn)),
        }
        // As many again as are told: what is told once more may have been lost.
        while self.ranges.len() > 2 * MAX_RANGES {
            if let Some((_, last)) = self.ranges.pop_front() {
                self.floor = last + 1;
            }
        }
    }

    /// Time by which an acknowledgement must leave.
    pub(crate) fn due(&self) -> Option<Time> {
        self.due
    }

    /// The acknowledgement that leaves now, if it is time.
    pub(crate) fn take_ack(&mut self, now: Time) -> Option<Ack> {
        self.due.filter(|due| *due <= now)?;
        self.due = None;
        self.unacknowledged = 0;
        let delay: Duration = now - self.newest_at;
        Some(Ack {
            delay_us: u32::try_from(delay.as_micros()).unwrap_or(u32::MAX),
            ranges: self.ranges.iter().rev().take(MAX_RANGES).copied().collect(),
            ecn: (self.ecn != EcnCounts::default()).then_some(self.ecn),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// No number is new twice, and none that came lately is missing in what the peer hears.
        #[test]
        fn it_knows_what_has_come(numbers in prop::collection::vec(0u64..400, 1..400)) {
            let mut received = ReceivedPackets::default();
            let mut came = BTreeSet::new();
            for pn in numbers {
                if came.contains(&pn) {
                    prop_assert!(received.has(pn));
                } else if !received.has(pn) {
                    received.add(Time::ZERO, pn, true);
                    came.insert(pn);
                }
                prop_assert!(received.ranges.len() <= 2 * MAX_RANGES);
            }
            for pn in 0..400 {
                prop_assert_eq!(received.has(pn), came.contains(&pn) || pn < received.floor);
            }
            let ack = received.take_ack(Time::from_millis(10)).unwrap();
            let told: BTreeSet<u64> =
                ack.ranges.iter().flat_map(|&(first, last)| first..=last).collect();
            prop_assert!(told.is_subset(&came));
            let (oldest, newest) = (ack.ranges.last().unwrap().0, ack.ranges[0].1);
            prop_assert_eq!(Some(&newest), came.last());
            prop_assert_eq!(told, came.range(oldest..).copied().collect::<BTreeSet<_>>());
        }
    }

    #[test]
    fn acknowledgements_wait_for_a_second_packet_and_for_nothing_else() {
        let mut received = ReceivedPackets::default();
        let at = Time::from_millis;
        received.add(at(0), 0, true);
        assert_eq!(received.due(), Some(at(0) + MAX_ACK_DELAY));
        assert_eq!(received.take_ack(at(1)), None);
        received.add(at(2), 1, true);
        assert_eq!(received.take_ack(at(2)), Some(Ack { ranges: vec![(0, 1)], ..Ack::default() }));
        assert_eq!(received.due(), None);
        // A gap.
        received.add(at(3), 3, true);
        let ack = Ack { delay_us: 500, ranges: vec![(3, 3), (0, 1)], ecn: None };
        assert_eq!(received.take_ack(Time::from_micros(3500)), Some(ack));
        // What needs no acknowledgement causes none.
        received.add(at(4), 9, false);
        assert_eq!(received.due(), None);
    }
}
