//! Bodies of known length whose bytes come from a fixed pattern that both ends know, so that a receiver
//! compares every byte that it gets with the byte that it should get.

use std::ops::Range;
use std::sync::LazyLock;

use bytes::Bytes;
use rand::Rng as _;

use crate::{Fnv64, Seed};

/// Length of the pattern: long enough that no two neighbouring packets look alike, and a prime,
/// so that the objects start at different places of it. Where it ends a piece of a body ends too,
/// and with it a frame.
const PATTERN_BYTES: usize = 1_048_573;

static BYTES: LazyLock<Bytes> = LazyLock::new(|| {
    let mut pattern = vec![0; PATTERN_BYTES];
    Seed(0x41_49_52).rng().fill_bytes(&mut pattern);
    Bytes::from(pattern)
});

/// A body of known length with bytes from the pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Offset in the pattern at which the body starts.
    offset: u64,
    /// Its length in bytes.
    len: u64,
}

impl Pattern {
    /// The body called `name`, of `len` bytes.
    pub fn new(name: &str, len: u64) -> Self {
        let mut h = Fnv64::new();
        h.write(name.as_bytes());
        Self { offset: h.finish() % PATTERN_BYTES as u64, len }
    }

    /// Length in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True if the body has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes of `range`, cut to the body, in pieces of at most `most` bytes without copying.
    pub fn pieces(&self, range: Range<u64>, most: u64) -> impl Iterator<Item = Bytes> + use<> {
        let offset = self.offset;
        let end = range.end.min(self.len);
        let mut at = range.start;
        std::iter::from_fn(move || {
            let start = ((offset + at) % PATTERN_BYTES as u64) as usize;
            let len = end.saturating_sub(at).min(most).min((PATTERN_BYTES - start) as u64);
            if len == 0 {
                return None;
            }
            at += len;
            Some(BYTES.slice(start..start + len as usize))
        })
    }

    /// True if `bytes` are what the body has from `at` on.
    pub fn matches(&self, at: u64, bytes: &[u8]) -> bool {
        let mut rest = bytes;
        if at + bytes.len() as u64 > self.len {
            return false;
        }
        for piece in self.pieces(at..at + bytes.len() as u64, u64::MAX) {
            let (head, tail) = rest.split_at(piece.len());
            if head != &piece[..] {
                return false;
            }
            rest = tail;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_make_up_the_body_and_match_it_anywhere() {
        let body = Pattern::new("/a/0/0.m4s", 3_000_000);
        let all: Vec<u8> = body.pieces(0..body.len(), 65_536).flatten().collect();
        assert_eq!(all.len(), 3_000_000);
        assert!(body.matches(0, &all));
        assert!(body.matches(1_048_000, &all[1_048_000..1_050_000]));
        assert!(!body.matches(1, &all[..100]), "other bytes");
        assert!(!body.matches(2_999_999, &all[..2]), "past the end");
        let range: Vec<u8> = body.pieces(10..20, 3).flatten().collect();
        assert_eq!(range, &all[10..20]);
        assert_eq!(
            body.pieces(5..99_999_999, u64::MAX).map(|p| p.len() as u64).sum::<u64>(),
            2_999_995
        );
    }
}
