//! What happens next, and to whom: the order of events by (time, sequence).

use airlane_base::Time;

/// Whose event it is: the index of a source, in the order of adding.
pub(super) type Source = u32;

/// A time in the upper half and a sequence number in the lower: one comparison orders both.
type Key = u128;

/// The key of a source that waits for nothing.
const NEVER: Key = Key::MAX;

/// One event per source at most, in a tournament: each source is a leaf, each inner place holds
/// whoever comes first of the two below. Setting an event plays the matches on the way up, and
/// nothing stale is ever left behind.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// By source.
    keys: Vec<Key>,
    /// Inner places from index 1 on, the children of `i` being `2 i` and `2 i + 1`; then the
    /// leaves, as many as a power of two.
    winners: Vec<Source>,
    sequence: u64,
}

impl Events {
    /// A new source, which waits for nothing.
    pub(super) fn add(&mut self) -> Source {
        let source = self.keys.len();
        self.keys.push(NEVER);
        if self.keys.len() > self.leaves() {
            self.rebuild(self.keys.len().next_power_of_two());
        }
        source as Source
    }

    fn leaves(&self) -> usize {
        self.winners.len() / 2
    }

    fn rebuild(&mut self, leaves: usize) {
        self.winners = vec![0; leaves];
        self.winners.extend(0..leaves as Source);
        for i in (1..leaves).rev() {
            self.winners[i] = self.earlier(self.winners[2 * i], self.winners[2 * i + 1]);
        }
    }

    /// Whoever comes first; sources that are not there yet never do.
    #[inline]
    fn earlier(&self, a: Source, b: Source) -> Source {
        let key = |s: Source| self.keys.get(s as usize).copied().unwrap_or(NEVER);
        if key(b) < key(a) { b } else { a }
    }

    /// A fresh sequence number.
    #[inline]
    pub(super) fn sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// Sets the event of `source` in place of the one it has.
    #[inline]
    pub(super) fn set(&mut self, source: Source, at: Time, seq: u64) {
        self.play(source, Key::from(at.as_nanos()) << 64 | Key::from(seq));
    }

    /// `source` waits for nothing any more.
    #[inline]
    pub(super) fn clear(&mut self, source: Source) {
        self.play(source, NEVER);
    }

    #[inline]
    fn play(&mut self, source: Source, key: Key) {
        self.keys[source as usize] = key;
        let mut place = (self.leaves() + source as usize) / 2;
        while place > 0 {
            self.winners[place] =
                self.earlier(self.winners[2 * place], self.winners[2 * place + 1]);
            place /= 2;
        }
    }

    /// When the event of `source` is.
    #[inline]
    pub(super) fn of(&self, source: Source) -> Option<Time> {
        time(self.keys[source as usize])
    }

    /// The first event.
    #[inline]
    pub(super) fn next(&self) -> Option<Time> {
        time(*self.keys.get(self.first()? as usize)?)
    }

    #[inline]
    fn first(&self) -> Option<Source> {
        // A single leaf is its own winner.
        self.winners.get(1).copied()
    }

    /// The first source whose event is due, and when that was; the event stays set.
    #[inline]
    pub(super) fn due(&self, now: Time) -> Option<(Time, Source)> {
        let source = self.first()?;
        let at = time(self.keys[source as usize])?;
        (at <= now).then_some((at, source))
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
        /// Against a plain table: the first is always the least of (time, sequence).
        #[test]
        fn the_first_event_is_the_least(
            sources in 1_u32..20,
            steps in prop::collection::vec((0_u32..20, prop::option::of(0_u64..9)), 0..200),
        ) {
            let mut events = Events::default();
            let mut model = Vec::new();
            let mut added = 0;
            for (source, at) in steps {
                // Sources come late, too.
                while added <= source.min(sources - 1) {
                    prop_assert_eq!(events.add(), added);
                    model.push(None);
                    added += 1;
                }
                let source = source.min(sources - 1);
                match at.map(Time::from_nanos) {
                    Some(at) => {
                        let seq = events.sequence();
                        events.set(source, at, seq);
                        model[source as usize] = Some((at, seq, source));
                    }
                    None => {
                        events.clear(source);
                        model[source as usize] = None;
                    }
                }
                let least = model.iter().flatten().min().copied();
                prop_assert_eq!(events.next(), least.map(|l| l.0));
                prop_assert_eq!(events.of(source), model[source as usize].map(|l| l.0));
                let five = Time::from_nanos(5);
                let due = least.filter(|l| l.0 <= five).map(|l| (l.0, l.2));
                prop_assert_eq!(events.due(five), due);
            }
        }
    }
}
