//! From fragments to frames.

use std::collections::BTreeMap;

use airlane_base::Time;
use bytes::Bytes;

use crate::wire::{Piece, State};

/// Frames of which something but not all has come, at most.
const MAX_FRAMES: usize = 32;
/// Bytes of these at most.
const MAX_BYTES: usize = 8 << 20;
/// A fragment costs at least this.
const FRAGMENT_COST: usize = 64;

/// A frame that has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Whole {
    pub(crate) number: u32,
    pub(crate) source: State,
    pub(crate) target: State,
    pub(crate) body: Bytes,
    pub(crate) first_at: Time,
    pub(crate) last_at: Time,
}

#[derive(Debug)]
struct Partial {
    source: State,
    target: State,
    fragments: Vec<Option<Bytes>>,
    missing: usize,
    cost: usize,
    first_at: Time,
}

/// Frames that are not whole.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    partial: BTreeMap<u32, Partial>,
    cost: usize,
}

impl Assembly {
    /// A fragment came. Its frame, if that is whole now.
    pub(crate) fn add(&mut self, now: Time, piece: &Piece, data: &[u8]) -> Option<Whole> {
        let fragments = usize::from(piece.fragments);
        let cost = &mut self.cost;
        let partial = self.partial.entry(piece.frame).or_insert_with(|| {
            let own = FRAGMENT_COST * fragments;
            *cost += own;
            let (source, target) = (piece.source, piece.target);
            let fragments = vec![None; fragments];
            let missing = fragments.len();
            Partial { source, target, fragments, missing, cost: own, first_at: now }
        });
        let same = (partial.source, partial.target, partial.fragments.len())
            == (piece.source, piece.target, fragments);
        // Only a peer that errs says two things of a frame.
        let slot = partial.fragments.get_mut(usize::from(piece.fragment)).filter(|_| same)?;
        if slot.is_some() {
            return None;
        }
        *slot = Some(Bytes::copy_from_slice(data));
        partial.missing -= 1;
        partial.cost += data.len();
        self.cost += data.len();
        if partial.missing == 0 {
            return self.remove(piece.frame).map(|partial| partial.join(piece.frame, now));
        }
        while self.partial.len() > MAX_FRAMES || self.cost > MAX_BYTES {
            let oldest = *self.partial.first_key_value()?.0;
            self.remove(oldest);
        }
        None
    }

    fn remove(&mut self, frame: u32) -> Option<Partial> {
        let partial = self.partial.remove(&frame)?;
        self.cost -= partial.cost;
        Some(partial)
    }
}

impl Partial {
    fn join(self, number: u32, now: Time) -> Whole {
        let (source, target) = (self.source, self.target);
        let mut fragments: Vec<Bytes> = self.fragments.into_iter().flatten().collect();
        let body = if fragments.len() == 1 {
            fragments.pop().unwrap_or_default()
        } else {
            let mut body = Vec::new();
            fragments.iter().for_each(|fragment| body.extend_from_slice(fragment));
            body.into()
        };
        Whole { number, source, target, body, first_at: self.first_at, last_at: now }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(frame: u32, fragment: u16, fragments: u16) -> Piece {
        Piece { frame, source: State(1), target: State(2), fragment, fragments }
    }

    #[test]
    fn fragments_in_any_order_make_a_frame_once() {
        let mut assembly = Assembly::default();
        let at = Time::from_millis;
        assert_eq!(assembly.add(at(1), &piece(5, 2, 3), &[3]), None);
        assert_eq!(assembly.add(at(2), &piece(5, 0, 3), &[1, 1]), None);
        assert_eq!(assembly.add(at(3), &piece(5, 0, 3), &[9]), None);
        // Another number of fragments, another state.
        assert_eq!(assembly.add(at(3), &piece(5, 1, 2), &[9]), None);
        let other = Piece { target: State(3), ..piece(5, 1, 3) };
        assert_eq!(assembly.add(at(3), &other, &[9]), None);
        let whole = assembly.add(at(4), &piece(5, 1, 3), &[2]).unwrap();
        assert_eq!(whole.body, vec![1, 1, 2, 3]);
        assert_eq!((whole.first_at, whole.last_at), (at(1), at(4)));
        assert_eq!((assembly.partial.len(), assembly.cost), (0, 0));
    }

    #[test]
    fn what_never_becomes_whole_is_bounded() {
        let mut assembly = Assembly::default();
        for frame in 0..1_000 {
            assembly.add(Time::ZERO, &piece(frame, 0, 2_048), &[0; 60_000]);
            assert!(assembly.partial.len() <= MAX_FRAMES && assembly.cost <= MAX_BYTES);
        }
        assert_eq!(assembly.partial.last_key_value().unwrap().0, &999);
    }
}
