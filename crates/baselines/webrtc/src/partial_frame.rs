//! A frame whose packets have begun to come.

use std::collections::BTreeMap;
use std::sync::Arc;

use airlane_base::Time;
use bytes::{Bytes, BytesMut};

use crate::delivered::Delivered;
use crate::packet::Descriptor;

/// A packet, as the network gave it.
#[derive(Debug)]
pub(crate) struct Piece {
    /// The number of the packet, extended.
    pub(crate) sequence: u64,
    /// True if it ends its frame.
    pub(crate) last: bool,
    /// Descriptor and piece.
    pub(crate) payload: Arc<[u8]>,
    /// Time at which it came.
    pub(crate) at: Time,
}

/// A frame of which something has come.
#[derive(Debug)]
pub(crate) struct PartialFrame {
    key: bool,
    captured: Time,
    first: Option<u64>,
    last: Option<u64>,
    pieces: BTreeMap<u64, Bytes>,
    first_at: Time,
    last_at: Time,
}

impl PartialFrame {
    /// A frame whose first packet to arrive came `at` this time.
    pub(crate) fn new(key: bool, at: Time) -> Self {
        let pieces = BTreeMap::new();
        let (first, last) = (None, None);
        Self { key, captured: Time::ZERO, first, last, pieces, first_at: at, last_at: at }
    }

    /// Takes a packet of the frame; false if it came before.
    pub(crate) fn push(&mut self, piece: &Piece, descriptor: &Descriptor, data: &[u8]) -> bool {
        if self.pieces.contains_key(&piece.sequence) {
            return false;
        }
        self.pieces.insert(piece.sequence, Bytes::copy_from_slice(data));
        self.last_at = self.last_at.max(piece.at);
        if let Some(captured) = descriptor.captured {
            self.first = Some(piece.sequence);
            self.captured = captured;
        }
        if piece.last {
            self.last = Some(piece.sequence);
        }
        true
    }

    /// True if it can be decoded without another frame.
    pub(crate) fn is_key(&self) -> bool {
        self.key
    }

    /// Number of its last packet, once that has come.
    pub(crate) fn last(&self) -> Option<u64> {
        self.last
    }

    /// Number of its newest packet so far.
    pub(crate) fn newest(&self) -> u64 {
        self.pieces.last_key_value().map_or(0, |(sequence, _)| *sequence)
    }

    /// Number of its packets so far.
    pub(crate) fn packets(&self) -> usize {
        self.pieces.len()
    }

    /// True if all of it is there. Packets of another frame would lie outside its ends.
    pub(crate) fn is_complete(&self) -> bool {
        match (self.first, self.last) {
            (Some(first), Some(last)) => {
                let count = self.pieces.len() as u64;
                let inside = self.pieces.first_key_value().is_some_and(|(s, _)| *s == first)
                    && self.pieces.last_key_value().is_some_and(|(s, _)| *s == last);
                inside && last.checked_sub(first).is_some_and(|n| n + 1 == count)
            }
            _ => false,
        }
    }

    /// The frame in one piece, as it is handed on at `now`.
    pub(crate) fn deliver(&self, number: u32, now: Time) -> Delivered {
        let bytes = self.pieces.values().map(Bytes::len).sum();
        let mut data = BytesMut::with_capacity(bytes);
        for piece in self.pieces.values() {
            data.extend_from_slice(piece);
        }
        Delivered {
            number,
            data: data.freeze(),
            key: self.key,
            captured: self.captured,
            first_at: self.first_at,
            last_at: self.last_at,
            at: now,
        }
    }
}
