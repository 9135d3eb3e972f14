//! Bytes that wait in order, in the pieces in which they came.

use std::collections::VecDeque;

use bytes::{Buf, Bytes, BytesMut};

/// Bytes that were written and not taken.
#[derive(Clone, Debug, Default)]
pub struct ByteQueue {
    pieces: VecDeque<Bytes>,
    len: u64,
}

impl ByteQueue {
    /// How many bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a piece.
    pub fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.len += piece.len() as u64;
            self.pieces.push_back(piece);
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
        }
        self.len -= length as u64;
        taken
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bytes_come_out_in_the_order_in_which_they_went_in(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..20),
            lengths in prop::collection::vec(0usize..50, 0..40),
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
