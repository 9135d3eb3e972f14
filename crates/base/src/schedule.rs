//! What happens next, and to whom: one time per slot, and the least of all at hand.

use std::mem;

use crate::time::Time;

/// A time in the upper half and a sequence number in the lower: one comparison orders both.
type Key = u128;

/// The key of a slot that waits for nothing.
const NEVER: Key = Key::MAX;

/// One event per slot at most, in the order of (time, sequence number, slot).
///
/// A tournament: slots are leaves, and each inner place holds the earlier of the two below.
/// Setting an event plays the matches on its way up, as far as they change. Unlike in a heap
/// nothing is left behind by an event that moves or is withdrawn, so memory is bounded by the
/// slots.
///
/// ```
/// # use airlane_base::{Schedule, Time};
/// let mut schedule = Schedule::default();
/// schedule.set(3, Time::from_millis(20), 1);
/// schedule.set(0, Time::from_millis(10), 2);
/// assert_eq!(schedule.next(), Some((Time::from_millis(10), 0)));
/// schedule.clear(0);
/// assert_eq!(schedule.next(), Some((Time::from_millis(20), 3)));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// By slot; as many as a power of two.
    keys: Vec<Key>,
    /// Inner places from index 1 on, the children of `i` being `2 i` and `2 i + 1`; then the
    /// leaves, one per slot.
    winners: Vec<u32>,
}

impl Schedule {
    /// Sets the event of a slot in place of the one it has. `sequence` orders events of one time.
    #[inline]
    pub fn set(&mut self, slot: usize, at: Time, sequence: u64) {
        if slot >= self.keys.len() {
            self.grow(slot + 1);
        }
        self.play(slot, Key::from(at.as_nanos()) << 64 | Key::from(sequence));
    }

    /// A slot waits for nothing any more.
    #[inline]
    pub fn clear(&mut self, slot: usize) {
        if slot < self.keys.len() {
            self.play(slot, NEVER);
        }
    }

    /// Time of the event of a slot.
    #[inline]
    pub fn of(&self, slot: usize) -> Option<Time> {
        self.keys.get(slot).and_then(|k| time(*k))
    }

    /// The first event and its slot; it stays set.
    #[inline]
    pub fn next(&self) -> Option<(Time, usize)> {
        // A single leaf is its own winner.
        let slot = *self.winners.get(1)? as usize;
        Some((time(self.keys[slot])?, slot))
    }

    fn grow(&mut self, slots: usize) {
        let leaves = slots.next_power_of_two();
        self.keys.resize(leaves, NEVER);
        self.winners = vec![0; leaves];
        self.winners.extend(0..leaves as u32);
        for place in (1..leaves).rev() {
            let [a, b] = [self.winners[2 * place], self.winners[2 * place + 1]];
            let first = self.keys[a as usize] <= self.keys[b as usize];
            self.winners[place] = if first { a } else { b };
        }
    }

    /// Plays the matches of a slot with its new key, against who won on the other side of each.
    #[inline]
    fn play(&mut self, slot: usize, key: Key) {
        self.keys[slot] = key;
        let mut place = self.keys.len() + slot;
        let (mut winner, mut best) = (slot as u32, key);
        while place > 1 {
            let rival = self.winners[place ^ 1];
            let other = self.keys[rival as usize];
            if other < best || (other == best && rival < winner) {
                (winner, best) = (rival, other);
            }
            place /= 2;
            let before = mem::replace(&mut self.winners[place], winner);
            // Another slot wins as before: nothing changes further up.
            if before == winner && winner != slot as u32 {
                return;
            }
        }
    }
}

#[inline]
fn time(key: Key) -> Option<Time> {
    (key != NEVER).then(|| Time::from_nanos((key >> 64) as u64))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a plain table: the first is always the least of (time, sequence, slot).
        #[test]
        fn the_first_event_is_the_least(
            steps in prop::collection::vec((0_usize..20, prop::option::of((0_u64..9, 0_u64..3))), 0..300),
        ) {
            let mut schedule = Schedule::default();
            let mut model = vec![None; 20];
            for (slot, event) in steps {
                match event {
                    Some((at, sequence)) => {
                        schedule.set(slot, Time::from_nanos(at), sequence);
                    }
                    None => schedule.clear(slot),
                }
                model[slot] = event.map(|(at, sequence)| (at, sequence, slot));
                let least = model.iter().flatten().min();
                prop_assert_eq!(
                    schedule.next(),
                    least.map(|(at, _, slot)| (Time::from_nanos(*at), *slot))
                );
                prop_assert_eq!(schedule.of(slot), event.map(|(at, _)| Time::from_nanos(at)));
            }
        }
    }
}
