//! One window of the sender: which of its segments were handed to which path, which arrived, and
//! the pointers that move through it.

use std::mem;

use airlane_base::Time;
use bytes::Bytes;

use crate::wire::Ranges;
use crate::{MAX_PATHS, PathId};

/// The way in which a pointer moves through its gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    /// From the first segment towards the last.
    Forward,
    /// From the last towards the first.
    Backward,
}

/// A run of segments that no path has taken, with the pointers at its two ends.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Gap {
    /// The first segment of the run (Fwd_Snd_Nxt).
    low: u32,
    /// One past its last (Bwd_Snd_Nxt + 1).
    high: u32,
    /// Path that takes segments from the low end, in ascending order.
    forward: Option<PathId>,
    /// Path that takes segments from the high end, in descending order.
    backward: Option<PathId>,
}

/// A segment as the sender sees it.
#[derive(Clone, Debug)]
struct Slot {
    payload: Bytes,
    arrived: bool,
    /// True if any path ever took the segment.
    is_sent: bool,
    /// The path that took it first, of those that are there.
    taken: Option<Taken>,
    /// Paths that sent it again, by number.
    again: u64,
}

/// Path and time at which a segment was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// The path that took it first.
    pub(crate) path: PathId,
    /// Time at which it took it.
    pub(crate) at: Time,
    /// Bytes that had been handed to that path until then, with this segment.
    pub(crate) handed: u64,
}

/// Segments of a path in one window that an acknowledgement reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arrived {
    pub(crate) bytes: u64,
    /// Time at which the last of them was handed over; `None` if each was sent on several paths.
    pub(crate) taken_at: Option<Time>,
}

/// A window that is not complete at the receiver.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    slots: Vec<Slot>,
    gaps: Vec<Gap>,
    is_two_way: bool,
    /// Time at which the last segment of the window was taken.
    all_taken_at: Option<Time>,
    /// Segments that have not arrived.
    missing: u32,
    /// Of these, those that each path took first, by path.
    on_way: [u32; MAX_PATHS],
}

impl Window {
    /// A window of these segments, with `order` the paths from the most to the least reliable, each
    /// with its share of the rate; shares add up to one.
    ///
    /// Paths come in pairs that face each other: the first sends the window forward from its start,
    /// the second backward from the end of the pair's part, and so on; an odd one at the end has
    /// its part alone, backward.
    pub(crate) fn new(segments: Vec<Bytes>, order: &[(PathId, f64)]) -> Self {
        let count = u32::try_from(segments.len()).unwrap_or(u32::MAX);
        let slots = segments
            .into_iter()
            .map(|payload| Slot { payload, arrived: false, is_sent: false, taken: None, again: 0 })
            .collect();
        let mut gaps = Vec::new();
        let mut low = 0;
        let mut share = 0.0;
        let pairs: Vec<&[(PathId, f64)]> = order.chunks(2).collect();
        for (i, pair) in pairs.iter().enumerate() {
            share += pair.iter().map(|(_, share)| share).sum::<f64>();
            let end = (f64::from(count) * share).round().clamp(0.0, f64::from(count)) as u32;
            let high = if i + 1 == pairs.len() { count } else { end.max(low) };
            let alone = i > 0 && pair.len() == 1;
            gaps.push(Gap {
                low,
                high,
                forward: (!alone).then_some(pair[0].0),
                backward: if alone { Some(pair[0].0) } else { pair.get(1).map(|p| p.0) },
            });
            low = high;
        }
        if gaps.is_empty() {
            gaps.push(Gap { low: 0, high: count, forward: None, backward: None });
        }
        let mut window = Self {
            slots,
            gaps,
            is_two_way: true,
            all_taken_at: None,
            missing: count,
            on_way: [0; MAX_PATHS],
        };
        window.drop_empty_gaps();
        window
    }

    /// A window that all paths take from its beginning on.
    pub(crate) fn one_way(segments: Vec<Bytes>) -> Self {
        Self { is_two_way: false, ..Self::new(segments, &[]) }
    }

    /// Number of segments in the window.
    pub(crate) fn count(&self) -> u32 {
        self.slots.len() as u32
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.missing == 0
    }

    /// True if every segment has been handed to a path.
    pub(crate) fn is_all_taken(&self) -> bool {
        self.gaps.is_empty()
    }

    /// True if every segment has arrived or is on its way on two paths.
    pub(crate) fn is_settled(&self) -> bool {
        self.is_all_taken() && self.slots.iter().all(|slot| slot.arrived || slot.again != 0)
    }

    /// The path that took the first segment which has not arrived, if one did.
    pub(crate) fn head(&self) -> Option<PathId> {
        let first = self.slots.iter().find(|slot| !slot.arrived)?;
        first.taken.map(|taken| taken.path)
    }

    /// The share of segments before the one place where two paths met; `None` if not two took them,
    /// each from its end.
    pub(crate) fn met(&self) -> Option<f64> {
        let taker = |slot: &Slot| slot.taken.map(|taken| taken.path);
        let (first, last) = (taker(self.slots.first()?), taker(self.slots.last()?));
        let met = self.slots.iter().position(|slot| taker(slot) != first)?;
        let is_split = self.slots[met..].iter().all(|slot| taker(slot) == last);
        is_split.then(|| met as f64 / self.slots.len() as f64)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.slots.iter().map(|s| s.payload.len() as u64).sum()
    }

    pub(crate) fn payload(&self, index: u32) -> Bytes {
        self.slots[index as usize].payload.clone()
    }

    /// The next segment for a path: at its own pointer, else at the far end of the largest gap that
    /// has a free end. `None` if there is none for it. `handed` are the bytes that the path was
    /// handed so far.
    pub(crate) fn take(&mut self, now: Time, path: PathId, handed: u64) -> Option<u32> {
        loop {
            let index = self.advance(path)?;
            if self.gaps.is_empty() {
                self.all_taken_at = Some(now);
            }
            let slot = &mut self.slots[index as usize];
            // A path that ended may have brought it: that is heard later.
            if slot.arrived {
                continue;
            }
            let handed = handed + slot.payload.len() as u64;
            (slot.is_sent, slot.taken) = (true, Some(Taken { path, at: now, handed }));
            self.on_way[path.0] += 1;
            return Some(index);
        }
    }

    /// Moves the pointer of a path past the next segment, which is returned.
    fn advance(&mut self, path: PathId) -> Option<u32> {
        let (gap, direction) = if self.is_two_way {
            self.pointer(path).or_else(|| self.attach(path))?
        } else {
            self.gaps.first().map(|_| (0, Direction::Forward))?
        };
        let gap = &mut self.gaps[gap];
        let index = match direction {
            Direction::Forward => {
                gap.low += 1;
                gap.low - 1
            }
            Direction::Backward => {
                gap.high -= 1;
                gap.high
            }
        };
        self.drop_empty_gaps();
        Some(index)
    }

    fn drop_empty_gaps(&mut self) {
        self.gaps.retain(|gap| gap.low < gap.high);
    }

    fn pointer(&self, path: PathId) -> Option<(usize, Direction)> {
        self.gaps.iter().enumerate().find_map(|(i, gap)| {
            if gap.forward == Some(path) {
                Some((i, Direction::Forward))
            } else if gap.backward == Some(path) {
                Some((i, Direction::Backward))
            } else {
                None
            }
        })
    }

    /// Gives a path without a pointer the free end of the largest gap: the far end, seen from the
    /// pointer that is there. If no gap has a free end, the path gets the end of the largest one's
    /// first half: its owners may be slow, or never ask again.
    fn attach(&mut self, path: PathId) -> Option<(usize, Direction)> {
        let size = |gap: &Gap| gap.high - gap.low;
        let is_free = |gap: &Gap| gap.forward.is_none() || gap.backward.is_none();
        let largest = self.gaps.iter().enumerate();
        let (i, gap) = largest.max_by_key(|(i, g)| (is_free(g), size(g), usize::MAX - i))?;
        if !is_free(gap) && size(gap) > 1 {
            let middle = gap.low + size(gap) / 2;
            let rest = Gap { low: middle, forward: None, ..gap.clone() };
            self.gaps.insert(i + 1, rest);
            (self.gaps[i].high, self.gaps[i].backward) = (middle, None);
        }
        let gap = &mut self.gaps[i];
        if gap.forward.is_some() {
            gap.backward = Some(path);
            Some((i, Direction::Backward))
        } else {
            gap.forward = Some(path);
            Some((i, Direction::Forward))
        }
    }

    /// The receiver has everything but what is in `missing`.
    pub(crate) fn on_missing(&mut self, missing: &Ranges, arrived: &mut [Arrived; MAX_PATHS]) {
        let mut next = 0;
        for (low, high) in missing.iter().chain([(self.count(), self.count())]) {
            for index in next..low.min(self.count()) {
                self.on_arrival(index, arrived);
            }
            next = next.max(high);
        }
    }

    /// The receiver has all of it.
    pub(crate) fn on_complete(&mut self, arrived: &mut [Arrived; MAX_PATHS]) {
        for index in 0..self.count() {
            self.on_arrival(index, arrived);
        }
    }

    fn on_arrival(&mut self, index: u32, arrived: &mut [Arrived; MAX_PATHS]) {
        let slot = &mut self.slots[index as usize];
        // What nobody took cannot have arrived: a peer that says so is not believed.
        if !slot.is_sent || mem::replace(&mut slot.arrived, true) {
            return;
        }
        self.missing -= 1;
        // The path that brought it has ended, and no other has taken it since.
        let Some(Taken { path, at, .. }) = slot.taken else { return };
        self.on_way[path.0] -= 1;
        let of = &mut arrived[path.0];
        of.bytes += slot.payload.len() as u64;
        if slot.again == 0 {
            of.taken_at = of.taken_at.max(Some(at));
        }
    }

    /// A segment of another path that `path` is to send as well, and has not yet. Of these the one
    /// that its path took last: it was to be the last to arrive. `None` while segments of `path`
    /// itself are on their way, and for what is not due, which depends on how the segment was taken
    /// and on when all of the window was.
    pub(crate) fn take_again(
        &mut self,
        path: PathId,
        mut is_due: impl FnMut(Taken, Time) -> bool,
    ) -> Option<u32> {
        let all_at = self.all_taken_at?;
        if self.on_way[path.0] > 0 {
            return None;
        }
        let bit = 1u64 << path.0;
        let (index, slot) = self
            .slots
            .iter_mut()
            .enumerate()
            .filter(|(_, s)| !s.arrived && s.again & bit == 0)
            .filter(|(_, s)| s.taken.is_some_and(|t| t.path != path && is_due(t, all_at)))
            .max_by_key(|(i, s)| (s.taken.map(|taken| taken.at), usize::MAX - i))?;
        slot.again |= bit;
        Some(index as u32)
    }

    /// A segment of another path on its way that `path` has not sent: the first.
    pub(crate) fn copy(&mut self, path: PathId) -> Option<u32> {
        let bit = 1u64 << path.0;
        let is_other = |s: &Slot| s.taken.is_some_and(|taken| taken.path != path);
        let index =
            self.slots.iter().position(|s| !s.arrived && s.again & bit == 0 && is_other(s))?;
        self.slots[index].again |= bit;
        Some(index as u32)
    }

    /// If `path` waits here for other paths: since when, and for which.
    pub(crate) fn waiting(&self, path: PathId) -> Option<(Time, impl Iterator<Item = PathId>)> {
        let since = self.all_taken_at.filter(|_| self.on_way[path.0] == 0)?;
        let bit = 1u64 << path.0;
        let others = self.slots.iter().filter(move |s| !s.arrived && s.again & bit == 0);
        let others = others.filter_map(move |s| s.taken.map(|t| t.path).filter(|of| *of != path));
        Some((since, others))
    }

    /// A path is gone, with all that has not arrived: others take it.
    pub(crate) fn give_back(&mut self, path: PathId) {
        for gap in &mut self.gaps {
            for end in [&mut gap.forward, &mut gap.backward] {
                if *end == Some(path) {
                    *end = None;
                }
            }
        }
        let mut runs: Vec<Gap> = Vec::new();
        for (index, slot) in (0..).zip(&mut self.slots) {
            slot.again &= !(1 << path.0);
            if slot.arrived || slot.taken.is_none_or(|taken| taken.path != path) {
                continue;
            }
            slot.taken = None;
            self.on_way[path.0] -= 1;
            match runs.last_mut() {
                Some(run) if run.high == index => run.high += 1,
                _ => runs.push(Gap { low: index, high: index + 1, forward: None, backward: None }),
            }
        }
        if !runs.is_empty() {
            self.all_taken_at = None;
        }
        self.gaps.extend(runs);
        self.join_gaps();
    }

    /// Gaps that touch become one, with the pointers at its outer ends.
    fn join_gaps(&mut self) {
        self.gaps.sort_by_key(|gap| gap.low);
        let mut joined: Vec<Gap> = Vec::new();
        for gap in self.gaps.drain(..) {
            match joined.last_mut() {
                // Two pointers that face each other, or follow each other, keep their gaps apart.
                Some(before)
                    if before.high == gap.low
                        && before.backward.is_none()
                        && gap.forward.is_none() =>
                {
                    before.high = gap.high;
                    before.backward = gap.backward;
                }
                _ => joined.push(gap),
            }
        }
        self.gaps = joined;
    }
}
