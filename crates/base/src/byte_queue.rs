//! Bytes that wait in order, in the pieces in which they came; short pieces are put together.

use std::collections::VecDeque;

use bytes::{Buf, Bytes, BytesMut};

/// Bytes of a piece that is put together with those before it: alone, a byte would take the room of
/// forty.
const SHORT_BYTES: usize = 256;
/// Bytes of short pieces that are put together at most.
const MAX_JOINED_BYTES: usize = 4096;

/// Bytes that were written and not taken.
#[derive(Clone, Debug, Default)]
pub struct ByteQueue {
    pieces: VecDeque<Bytes>,
    /// Short pieces behind `pieces`.
    short: BytesMut,
    len: u64,
}

impl ByteQueue {
    /// Number of bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True if there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a piece.
    pub fn push(&mut self, piece: Bytes) {
        if piece.is_empty() {
            return;
        }
        self.len += piece.len() as u64;
        if piece.len() < SHORT_BYTES && !self.pieces.is_empty() {
            self.short.extend_from_slice(&piece);
            if self.short.len() > MAX_JOINED_BYTES - SHORT_BYTES {
                self.end_short();
            }
        } else {
            self.end_short();
            self.pieces.push_back(piece);
        }
    }

    /// Ends the piece into which short pieces were joined: what comes next is no part of it.
    fn end_short(&mut self) {
        if !self.short.is_empty() {
            self.pieces.push_back(std::mem::take(&mut self.short).freeze());
        }
    }

    /// Takes the first `length` bytes, or all if there are fewer: without copying them where they
    /// lie in one piece.
    pub fn take(&mut self, length: usize) -> Bytes {
        if let Some(first) = self.pieces.front()
            && first.len() >= length
        {
            return self.take_of_first(length);
        }
        let mut taken = BytesMut::with_capacity(length);
        while taken.len() < length
            && let Some(first) = self.pieces.front()
        {
            let part = first.len().min(length - taken.len());
            let part = self.take_of_first(part);
            taken.extend_from_slice(&part);
        }
        taken.freeze()
    }

    fn take_of_first(&mut self, length: usize) -> Bytes {
        let Some(first) = self.pieces.front_mut() else { return Bytes::new() };
        let taken = first.split_to(length);
        if !first.has_remaining() {
            self.pieces.pop_front();
            if self.pieces.is_empty() {
                self.end_short();
            }
        }
        self.len -= length as u64;
        taken
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn short_pieces_take_the_room_of_their_bytes() {
        let mut queue = ByteQueue::default();
        for _ in 0..10_000 {
            queue.push(Bytes::from_static(b"x"));
        }
        assert_eq!(queue.len(), 10_000);
        assert!(queue.pieces.len() < 10, "{}", queue.pieces.len());
        assert_eq!(queue.take(20_000).len(), 10_000);
        assert!(queue.is_empty() && queue.short.is_empty());
    }

    proptest! {
        #[test]
        fn bytes_come_out_in_the_order_in_which_they_went_in(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..400), 0..40),
            lengths in prop::collection::vec(0usize..900, 0..40),
        ) {
            let mut queue = ByteQueue::default();
            for piece in &pieces {
                queue.push(Bytes::copy_from_slice(piece));
            }
            let mut rest: &[u8] = &pieces.concat();
            for length in lengths {
                prop_assert_eq!(queue.len(), rest.len() as u64);
                let (expected, after) = rest.split_at(length.min(rest.len()));
                prop_assert_eq!(&queue.take(length)[..], expected);
                rest = after;
            }
            prop_assert_eq!(queue.is_empty(), rest.is_empty());
        }
    }
}
