//! The streams of a queue: a table of a size that is fixed when it is made.

use airlane_base::{Seed, Time, folded};

use crate::rates::Arrivals;
use crate::reason::Reason;

/// No place in a table.
pub(crate) const NONE: u32 = u32::MAX;

/// State of a stream.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    flow: u64,
    id: u16,
    /// Its packets in the queue.
    pub(crate) queued: u32,
    /// By threshold 1 to 7 the latest dropper that is whole in the queue; `has` tells of which there
    /// is one, bit by bit.
    pub(crate) droppers: [u32; 8],
    pub(crate) has: u8,
    /// The latest message that is whole in the queue.
    pub(crate) whole: Option<u32>,
    /// The message that was decided on last, and why it is dropped if it is.
    pub(crate) decided: Option<(u32, Option<Reason>)>,
    /// True if the decision may change where the message has begun to leave.
    pub(crate) reconsider: bool,
    /// The latest message that was taken out of the queue or found no room in it, and why.
    pub(crate) lost: Option<(u32, Reason)>,
    pub(crate) arrivals: Arrivals,
    /// Demand of the stream when shares were last computed with it, bits/s, and the number of that
    /// computation.
    pub(crate) demand: (u64, f64),
    /// Time at which its last packet came.
    pub(crate) at: Time,
    /// The streams whose last packets came just before and just after.
    older: u32,
    newer: u32,
}

/// Streams by flow and id. When there is no room for another, the one that has been quiet for longest
/// and has nothing in the queue makes way.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    list: Vec<Stream>,
    room: usize,
    /// Places in `list` by hash, with linear probing; twice as many as streams at least.
    index: Vec<u32>,
    seeds: (u64, u64),
    oldest: u32,
    newest: u32,
}

impl Streams {
    /// Room for `room` streams, at least one. With a `seed` that a stranger does not know, nobody can
    /// choose streams that hash alike.
    pub(crate) fn new(room: usize, seed: Seed) -> Self {
        let room = room.clamp(1, NONE as usize / 4);
        Self {
            list: Vec::with_capacity(room),
            room,
            index: vec![NONE; (2 * room).next_power_of_two()],
            seeds: (seed.split("flow").0, seed.split("stream").0),
            oldest: NONE,
            newest: NONE,
        }
    }

    #[inline]
    pub(crate) fn get(&mut self, place: u32) -> &mut Stream {
        &mut self.list[place as usize]
    }

    /// The stream of which a packet comes now, and its place; `None` if there is no room for another.
    #[inline]
    pub(crate) fn of(&mut self, now: Time, flow: u64, id: u16) -> Option<(u32, &mut Stream)> {
        let newest = self.newest;
        // Packets come in messages.
        if self.list.get(newest as usize).is_some_and(|s| (s.flow, s.id) == (flow, id)) {
            let stream = self.get(newest);
            stream.at = now;
            return Some((newest, stream));
        }
        let place = self.renew(now, flow, id)?;
        let stream = self.get(place);
        stream.at = now;
        Some((place, stream))
    }

    /// Makes a stream the newest, old or new; its place.
    #[inline(never)]
    fn renew(&mut self, now: Time, flow: u64, id: u16) -> Option<u32> {
        let place = match self.find(flow, id) {
            Ok(place) => {
                self.unlink(place);
                place
            }
            Err(slot) => self.insert(now, flow, id, slot)?,
        };
        self.link_newest(place);
        Some(place)
    }

    /// All of them.
    pub(crate) fn for_each(&mut self, each: impl FnMut(&mut Stream)) {
        self.list.iter_mut().for_each(each);
    }

    /// Those whose last packet came at most [`Arrivals::MEMORY`] before `now`, latest first.
    pub(crate) fn for_each_recent(&mut self, now: Time, mut each: impl FnMut(&mut Stream)) {
        let mut place = self.newest;
        while let Some(stream) = self.list.get_mut(place as usize) {
            if now.since(stream.at) > Arrivals::MEMORY {
                return;
            }
            place = stream.older;
            each(stream);
        }
    }

    /// The place of a stream, or where in the index it would be.
    #[inline]
    fn find(&self, flow: u64, id: u16) -> Result<u32, usize> {
        let mut slot = self.slot(flow, id);
        loop {
            match self.index[slot] {
                NONE => return Err(slot),
                place => {
                    let stream = &self.list[place as usize];
                    if (stream.flow, stream.id) == (flow, id) {
                        return Ok(place);
                    }
                }
            }
            slot = self.next(slot);
        }
    }

    #[inline]
    fn slot(&self, flow: u64, id: u16) -> usize {
        let mixed = folded(flow ^ self.seeds.0, u64::from(id) ^ self.seeds.1);
        mixed as usize & (self.index.len() - 1)
    }

    #[inline]
    fn next(&self, slot: usize) -> usize {
        (slot + 1) & (self.index.len() - 1)
    }

    #[cold]
    fn insert(&mut self, now: Time, flow: u64, id: u16, slot: usize) -> Option<u32> {
        let stream = Stream {
            flow,
            id,
            queued: 0,
            droppers: [0; 8],
            has: 0,
            whole: None,
            decided: None,
            reconsider: false,
            lost: None,
            arrivals: Arrivals::new(now),
            demand: (0, 0.0),
            at: now,
            older: NONE,
            newer: NONE,
        };
        if self.list.len() < self.room {
            let place = self.list.len() as u32;
            self.list.push(stream);
            self.index[slot] = place;
            return Some(place);
        }
        let place = self.quiet()?;
        self.unlink(place);
        let Stream { flow: old_flow, id: old_id, .. } = self.list[place as usize];
        self.forget(old_flow, old_id);
        self.list[place as usize] = stream;
        // What was forgotten may have moved others.
        if let Err(slot) = self.find(flow, id) {
            self.index[slot] = place;
        }
        Some(place)
    }

    /// The stream without packets in the queue that has been quiet for longest.
    fn quiet(&self) -> Option<u32> {
        let mut place = self.oldest;
        while let Some(stream) = self.list.get(place as usize) {
            if stream.queued == 0 {
                return Some(place);
            }
            place = stream.newer;
        }
        None
    }

    /// Takes a stream out of the index, and moves those behind it up that would no longer be found.
    fn forget(&mut self, flow: u64, id: u16) {
        let mut slot = self.slot(flow, id);
        while self.index[slot] != NONE {
            let stream = &self.list[self.index[slot] as usize];
            if (stream.flow, stream.id) == (flow, id) {
                break;
            }
            slot = self.next(slot);
        }
        let mut free = slot;
        let mut slot = self.next(free);
        while self.index[slot] != NONE {
            let stream = &self.list[self.index[slot] as usize];
            let home = self.slot(stream.flow, stream.id);
            let mask = self.index.len() - 1;
            if (slot.wrapping_sub(home) & mask) >= (slot.wrapping_sub(free) & mask) {
                self.index[free] = self.index[slot];
                free = slot;
            }
            slot = self.next(slot);
        }
        self.index[free] = NONE;
    }

    fn unlink(&mut self, place: u32) {
        let Stream { older, newer, .. } = self.list[place as usize];
        match self.list.get_mut(older as usize) {
            Some(stream) => stream.newer = newer,
            None => self.oldest = newer,
        }
        match self.list.get_mut(newer as usize) {
            Some(stream) => stream.older = older,
            None => self.newest = older,
        }
    }

    fn link_newest(&mut self, place: u32) {
        let older = self.newest;
        let stream = &mut self.list[place as usize];
        (stream.older, stream.newer) = (older, NONE);
        match self.list.get_mut(older as usize) {
            Some(stream) => stream.newer = place,
            None => self.oldest = place,
        }
        self.newest = place;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a map with the time of the last packet.
        #[test]
        fn streams_are_found_until_they_make_way(
            room in 1_usize..9,
            seed: u64,
            steps in proptest::collection::vec((0_u64..4, 0_u16..5, any::<bool>()), 1..200),
        ) {
            let mut streams = Streams::new(room, Seed(seed));
            let mut model: BTreeMap<(u64, u16), (u32, u64, u32)> = BTreeMap::new();
            for (now, (flow, id, stays)) in steps.into_iter().enumerate() {
                let now = now as u64;
                let place = streams.of(Time::from_nanos(now), flow, id).map(|(place, _)| place);
                let is_known = model.contains_key(&(flow, id));
                if !is_known && model.len() == room {
                    let quiet = model.iter().filter(|(_, (_, _, queued))| *queued == 0);
                    match quiet.min_by_key(|(_, (_, at, _))| *at).map(|(key, _)| *key) {
                        None => {
                            prop_assert_eq!(place, None);
                            continue;
                        }
                        Some(oldest) => {
                            model.remove(&oldest);
                        }
                    }
                }
                let place = place.unwrap();
                let entry = model.entry((flow, id)).or_insert((place, now, 0));
                prop_assert_eq!(entry.0, place);
                entry.1 = now;
                if stays {
                    entry.2 += 1;
                    streams.get(place).queued += 1;
                } else if entry.2 > 0 {
                    entry.2 -= 1;
                    streams.get(place).queued -= 1;
                }
                for ((flow, id), (place, _, queued)) in &model {
                    prop_assert_eq!(streams.find(*flow, *id), Ok(*place));
                    prop_assert_eq!(streams.get(*place).queued, *queued);
                }
                let mut times: Vec<u64> = Vec::new();
                streams.for_each_recent(Time::from_nanos(now), |s| times.push(s.at.as_nanos()));
                let mut expected: Vec<u64> = model.values().map(|(_, at, _)| *at).collect();
                expected.sort_unstable_by(|a, b| b.cmp(a));
                prop_assert_eq!(times, expected);
            }
        }
    }
}
