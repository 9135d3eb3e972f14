//! The states that the receiver's decoder has been in, and which frames it can take.
//!
//! Salsify's codec is functional: decoding takes a state and a frame to a new state, and any state
//! that is kept can be built on (section 3.1 of its paper). A state is known by its hash; here by
//! that of all frames that led to it, which also shows that they came as they were sent.

use std::collections::VecDeque;

use airlane_base::{Fnv64, Time};
use bytes::{BufMut, Bytes, BytesMut};

use crate::assembly::Whole;
use crate::wire::State;

/// States that are kept: those of the newest frames.
pub(crate) const KEPT: usize = 64;
/// Whole frames that wait for the state that they build on. It can only come late by reordering.
const MAX_WAITING: usize = 16;
/// Bytes of the time of capture in front of a frame.
pub(crate) const TIME_BYTES: usize = 8;

/// A frame that a decoder can take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Its number among all that the source was asked for, from 0.
    pub number: u32,
    /// The frame that it builds on, or that it stands alone.
    pub reference: Option<u32>,
    /// Data that the source gave.
    pub data: Bytes,
    /// Time at which the sender was given it, by the sender's word.
    pub captured: Time,
    /// Time at which its first packet came.
    pub first_at: Time,
    /// Time at which its last packet came.
    pub last_at: Time,
    /// Time at which it could be decoded.
    pub at: Time,
}

/// Bytes that a frame travels as: its time of capture, then its data.
pub(crate) fn body(captured: Time, data: &[u8]) -> Bytes {
    let mut body = BytesMut::with_capacity(TIME_BYTES + data.len());
    body.put_u64(captured.as_nanos());
    body.put_slice(data);
    body.freeze()
}

/// The state after a frame.
pub(crate) fn after(source: State, body: &[u8]) -> State {
    let mut hash = Fnv64::new();
    hash.write(&source.0.to_be_bytes());
    hash.write(body);
    let hash = hash.finish();
    State(((hash >> 32) as u32 ^ hash as u32).max(1))
}

/// The receiver's states.
#[derive(Debug, Default)]
pub(crate) struct States {
    /// With the frames that they are of, the oldest first.
    known: VecDeque<(u32, State)>,
    waiting: VecDeque<Whole>,
}

impl States {
    /// The newest state.
    pub(crate) fn newest(&self) -> Option<(u32, State)> {
        self.known.back().copied()
    }

    /// A frame is whole. Those that can be decoded now; older ones than were decoded before are of
    /// no more use.
    pub(crate) fn add(&mut self, now: Time, whole: Whole) -> Vec<Delivered> {
        let mut decoded = Vec::new();
        self.waiting.push_back(whole);
        while let Some(ready) = self.waiting.iter().position(|whole| self.has(whole.source)) {
            let Some(whole) = self.waiting.remove(ready) else { break };
            decoded.extend(self.decode(now, whole));
        }
        if self.waiting.len() > MAX_WAITING {
            self.waiting.pop_front();
        }
        decoded
    }

    fn has(&self, state: State) -> bool {
        state == State::default() || self.known.iter().any(|(_, known)| *known == state)
    }

    fn decode(&mut self, now: Time, whole: Whole) -> Option<Delivered> {
        let Whole { number, source, target, mut body, first_at, last_at } = whole;
        let old = self.newest().is_some_and(|(newest, _)| number <= newest);
        if old || after(source, &body) != target || body.len() < TIME_BYTES {
            return None;
        }
        let data = body.split_off(TIME_BYTES);
        let captured = body.first_chunk().map(|bytes| u64::from_be_bytes(*bytes))?;
        let reference = self.known.iter().find(|(_, known)| *known == source).map(|known| known.0);
        self.known.push_back((number, target));
        if self.known.len() > KEPT {
            self.known.pop_front();
        }
        let captured = Time::from_nanos(captured);
        Some(Delivered { number, reference, data, captured, first_at, last_at, at: now })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(number: u32, source: State) -> Whole {
        let body = body(Time::from_millis(number.into()), &[number as u8]);
        let target = after(source, &body);
        let at = Time::from_millis(100);
        Whole { number, source, target, body, first_at: at, last_at: at }
    }

    #[test]
    fn a_frame_needs_its_state() {
        let mut states = States::default();
        let now = Time::from_millis(200);
        let zero = whole(0, State::default());
        let (one, two) = (whole(1, zero.target), whole(2, zero.target));
        let four = whole(4, whole(3, two.target).target);
        // One before what it builds on.
        assert_eq!(states.add(now, one.clone()), []);
        let numbers = |frames: Vec<Delivered>| {
            let number = |f: Delivered| (f.number, f.reference, f.captured.as_nanos() / 1_000_000);
            frames.into_iter().map(number).collect::<Vec<_>>()
        };
        assert_eq!(numbers(states.add(now, zero.clone())), [(0, None, 0), (1, Some(0), 1)]);
        assert_eq!(numbers(states.add(now, two.clone())), [(2, Some(0), 2)]);
        assert_eq!(states.add(now, four), []);
        assert_eq!(states.newest(), Some((2, two.target)));
        // What is old, twice there, or changed on the way.
        assert_eq!(states.add(now, one), []);
        let mut changed = whole(5, two.target);
        changed.body = body(Time::ZERO, &[9]);
        assert_eq!(states.add(now, changed), []);
        assert_eq!(states.newest(), Some((2, two.target)));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut states = States::default();
        for number in 0..1_000 {
            states.add(Time::ZERO, whole(number, State::default()));
            states.add(Time::ZERO, whole(number, State(7)));
        }
        assert_eq!((states.known.len(), states.waiting.len()), (KEPT, MAX_WAITING));
    }
}
