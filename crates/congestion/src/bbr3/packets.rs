//! State of the connection when each packet in flight was sent.

use std::collections::VecDeque;

/// Numbers kept at most between the oldest packet in flight and the newest: the oldest are forgotten first.
const MAX_SPAN: u64 = 1 << 18;

/// State of the connection when a packet was sent (section 4.1.2.1.2, `P.`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SentState {
    /// Bytes in flight, the packet included (`P.tx_in_flight`).
    pub in_flight: u64,
    /// Bytes lost so far (`P.lost`).
    pub lost: u64,
}

/// Packets in flight by number, from `base` on; a hole was acknowledged, lost or skipped.
#[derive(Clone, Debug, Default)]
pub(super) struct Packets {
    slots: VecDeque<Option<SentState>>,
    base: u64,
}

impl Packets {
    /// Adds a packet. A number that does not rise is not added.
    pub fn insert(&mut self, pn: u64, state: SentState) {
        if self.slots.is_empty() {
            self.base = pn;
        }
        let next = self.base.saturating_add(self.slots.len() as u64);
        if pn < next {
            return;
        }
        if pn - next >= MAX_SPAN {
            self.clear();
            self.base = pn;
        }
        self.slots.resize((pn - self.base) as usize, None);
        self.slots.push_back(Some(state));
        while self.slots.len() as u64 > MAX_SPAN {
            self.pop_front();
        }
    }

    /// Takes a packet out.
    pub fn take(&mut self, pn: u64) -> Option<SentState> {
        let index = usize::try_from(pn.checked_sub(self.base)?).ok()?;
        let taken = self.slots.get_mut(index)?.take();
        while let Some(None) = self.slots.front() {
            self.pop_front();
        }
        taken
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.slots.clear();
    }

    fn pop_front(&mut self) {
        self.slots.pop_front();
        self.base = self.base.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(lost: u64) -> SentState {
        SentState { in_flight: 1, lost }
    }

    #[test]
    fn holes_repeats_and_jumps_are_borne_and_the_oldest_is_forgotten() {
        let mut p = Packets::default();
        p.insert(5, state(5));
        p.insert(9, state(9));
        p.insert(9, state(10));
        assert!(p.take(4).is_none() && p.take(7).is_none());
        assert_eq!(p.take(9).map(|s| s.lost), Some(9));
        assert!(p.take(9).is_none());
        for pn in 10..10 + MAX_SPAN {
            p.insert(pn, state(pn));
        }
        assert!(p.take(5).is_none());
        assert_eq!(p.slots.len() as u64, MAX_SPAN);
        p.insert(u64::MAX - 1, state(1));
        assert_eq!(p.slots.len(), 1);
        assert!(p.take(10 + MAX_SPAN - 1).is_none());
        assert_eq!(p.take(u64::MAX - 1).map(|s| s.lost), Some(1));
        p.insert(u64::MAX, state(2));
        assert_eq!(p.take(u64::MAX).map(|s| s.lost), Some(2));
    }
}
