//! Choice of the participants that a client receives, where it has lines for some of them alone.

/// Lines of a client, each an audio and a video line together, by the source that they have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slots<K> {
    sources: Vec<Option<K>>,
    /// Slot that was freed or given last: others are given first, so that what is under way of a source is not taken
    /// for the next one's.
    last: usize,
}

impl<K: Copy + PartialEq> Slots<K> {
    pub(crate) fn new(count: usize) -> Self {
        Self { sources: vec![None; count], last: count.saturating_sub(1) }
    }

    /// Source of each slot.
    pub(crate) fn sources(&self) -> &[Option<K>] {
        &self.sources
    }

    /// Gives slots to those who can be received, the most recent speakers first. Nobody loses a slot but to the
    /// first of them, and the slots that have a new source, or none, are returned.
    pub(crate) fn assign(&mut self, receivable: &[K]) -> Vec<usize> {
        let mut changed = Vec::new();
        for slot in 0..self.sources.len() {
            if self.sources[slot].is_some_and(|source| !receivable.contains(&source)) {
                self.sources[slot] = None;
                self.last = slot;
                changed.push(slot);
            }
        }
        for source in receivable {
            if self.sources.contains(&Some(*source)) {
                continue;
            }
            let Some(slot) = self.next_free() else { break };
            self.give(slot, *source, &mut changed);
        }
        if let Some(first) = receivable.first()
            && !self.sources.contains(&Some(*first))
            && let Some(slot) = self.least_recent(receivable)
        {
            self.give(slot, *first, &mut changed);
        }
        changed
    }

    fn give(&mut self, slot: usize, source: K, changed: &mut Vec<usize>) {
        self.sources[slot] = Some(source);
        self.last = slot;
        if !changed.contains(&slot) {
            changed.push(slot);
        }
    }

    /// Free slot, the one after the last first.
    fn next_free(&self) -> Option<usize> {
        let count = self.sources.len();
        let mut slots = (1..=count).map(|ahead| (self.last + ahead) % count);
        slots.find(|slot| self.sources[*slot].is_none())
    }

    /// Slot of who spoke least recently.
    fn least_recent(&self, receivable: &[K]) -> Option<usize> {
        let place = |source: &Option<K>| receivable.iter().position(|of| Some(*of) == *source);
        (0..self.sources.len()).max_by_key(|slot| place(&self.sources[*slot]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_get_a_slot_and_keep_it_while_others_come_and_go() {
        let mut slots = Slots::new(3);
        assert_eq!(slots.assign(&[1, 2]), [0, 1]);
        assert!(slots.assign(&[2, 1]).is_empty());
        assert_eq!(slots.assign(&[2]), [0]);
        // A slot that nobody had for longer is given first.
        assert_eq!(slots.assign(&[2, 3]), [2]);
        assert_eq!(slots.sources(), [None, Some(2), Some(3)]);
    }

    #[test]
    fn where_slots_are_few_the_speaker_takes_that_of_who_spoke_least_recently() {
        let mut slots = Slots::new(2);
        slots.assign(&[1, 2, 3]);
        assert_eq!(slots.sources(), [Some(1), Some(2)]);
        assert_eq!(slots.assign(&[3, 2, 1]), [0]);
        assert_eq!(slots.sources(), [Some(3), Some(2)]);
        let mut none: Slots<u8> = Slots::new(0);
        assert!(none.assign(&[1]).is_empty());
    }
}
