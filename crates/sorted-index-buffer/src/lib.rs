//! A map from numbers that mostly follow one another, in room that it gives back.
//!
//! noq keeps what it must know of each packet in flight in the map of the crate of this name, by
//! packet number: some 500 bytes for each, in room for twice as many as ever were in flight at a
//! time, for as long as the connection lives. A server has thousands of connections of which most
//! wait for the next chunk, and most of its memory was such room. This map takes the place of that
//! one (`[patch.crates-io]` in the workspace's `Cargo.toml`), has the part of its interface that
//! noq uses, and keeps room for four times what it holds at most.

use std::collections::VecDeque;
use std::fmt;
use std::ops::{Bound, Range, RangeBounds};

/// Room that is kept in any case, in values.
const KEPT: usize = 8;

/// Values by numbers; its room is as large as the range of these numbers.
pub struct SortedIndexBuffer<T> {
    /// Of the numbers from `first` on. The first and the last are there.
    slots: VecDeque<Option<T>>,
    first: u64,
}

impl<T> Default for SortedIndexBuffer<T> {
    fn default() -> Self {
        Self { slots: VecDeque::new(), first: 0 }
    }
}

impl<T: fmt::Debug> fmt::Debug for SortedIndexBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<T> SortedIndexBuffer<T> {
    /// One without values, and without room for any.
    pub fn new() -> Self {
        Self::default()
    }

    /// True if there are no values.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Values that it has room for.
    pub fn capacity(&self) -> usize {
        self.slots.capacity()
    }

    /// The value at `index`.
    pub fn get(&self, index: u64) -> Option<&T> {
        self.slots.get(self.place(index)?)?.as_ref()
    }

    /// Sets the value at `index`.
    pub fn insert(&mut self, index: u64, value: T) {
        if self.slots.is_empty() {
            self.first = index;
        }
        while index < self.first {
            self.slots.push_front(None);
            self.first -= 1;
        }
        let place = (index - self.first) as usize;
        if place < self.slots.len() {
            self.slots[place] = Some(value);
            return;
        }
        self.slots.resize_with(place, || None);
        self.slots.push_back(Some(value));
    }

    /// Takes the value at `index` out.
    pub fn remove(&mut self, index: u64) -> Option<T> {
        let place = self.place(index)?;
        let value = self.slots.get_mut(place)?.take()?;
        self.trim();
        Some(value)
    }

    /// Keeps those values of which `keep` says so.
    pub fn retain(&mut self, mut keep: impl FnMut(u64, &mut T) -> bool) {
        for (index, slot) in (self.first..).zip(&mut self.slots) {
            if slot.as_mut().is_some_and(|value| !keep(index, value)) {
                *slot = None;
            }
        }
        self.trim();
    }

    /// The numbers in `range` that have values, in order.
    pub fn keys_range<R: RangeBounds<u64>>(
        &self,
        range: R,
    ) -> impl DoubleEndedIterator<Item = u64> + '_ {
        self.iter_range(range).map(|(index, _)| index)
    }

    /// Those that have values, in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = u64> + '_ {
        self.keys_range(..)
    }

    /// The values, in the order of their numbers.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &T> + '_ {
        self.slots.iter().flatten()
    }

    /// The values, to be changed, in the order of their numbers.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut T> + '_ {
        self.slots.iter_mut().flatten()
    }

    /// The numbers in `range` that have values, and these, in order.
    pub fn iter_range<R: RangeBounds<u64>>(
        &self,
        range: R,
    ) -> impl DoubleEndedIterator<Item = (u64, &T)> + '_ {
        let places = self.places(range);
        let first = self.first + places.start as u64;
        let slots = self.slots.range(places).enumerate();
        slots.filter_map(move |(i, slot)| Some((first + i as u64, slot.as_ref()?)))
    }

    /// All numbers that have values, and these, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, &T)> + '_ {
        self.iter_range(..)
    }

    /// The same, with the values themselves.
    #[expect(clippy::should_implement_trait, reason = "as noq asks for it")]
    pub fn into_iter(self) -> impl DoubleEndedIterator<Item = (u64, T)> {
        let slots = self.slots.into_iter().enumerate();
        slots.filter_map(move |(i, slot)| Some((self.first + i as u64, slot?)))
    }

    /// Position at which the value at `index` would stand: perhaps behind the last.
    fn place(&self, index: u64) -> Option<usize> {
        usize::try_from(index.checked_sub(self.first)?).ok()
    }

    /// Positions of the values in `range`.
    fn places<R: RangeBounds<u64>>(&self, range: R) -> Range<usize> {
        let behind = |index: u64| {
            let place = index.saturating_sub(self.first);
            usize::try_from(place).unwrap_or(usize::MAX).min(self.slots.len())
        };
        let start = match range.start_bound() {
            Bound::Included(&index) => behind(index),
            Bound::Excluded(&index) => behind(index.saturating_add(1)),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&index) => behind(index.saturating_add(1)),
            Bound::Excluded(&index) => behind(index),
            Bound::Unbounded => self.slots.len(),
        };
        start..end.max(start)
    }

    /// Lets go of slots at both ends that are empty, and of room that is far too large.
    fn trim(&mut self) {
        while let Some(None) = self.slots.front() {
            self.slots.pop_front();
            self.first += 1;
        }
        while let Some(None) = self.slots.back() {
            self.slots.pop_back();
        }
        let (held, room) = (self.slots.len(), self.slots.capacity());
        if room > KEPT && held <= room / 4 {
            self.slots.shrink_to((2 * held).max(KEPT));
        }
    }
}
