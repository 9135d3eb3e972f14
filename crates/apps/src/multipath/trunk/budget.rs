//! Memory for streams: bounded for each, for those of a trunk, and for all of them together.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What any stream is sure of, bytes in each direction.
pub(super) const MIN_BYTES: u64 = 256 << 10;
/// What one stream may have at most, bytes in each direction: 200 Mbit/s over 500 ms, and as much
/// again for what waits for late segments.
const MAX_BYTES: u64 = 32 << 20;
/// A stream gets this part of what is left for all trunks.
const PART: u64 = 16;
/// A stream gets this part at most of what is left for its trunk.
const PART_OF_TRUNK: u64 = 8;

/// What streams may have together.
#[derive(Clone, Debug)]
pub(super) struct Budget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    left: Mutex<Left>,
    /// A stream gets this part of what is left.
    part: u64,
    /// What this is a part of.
    whole: Option<Budget>,
}

#[derive(Debug)]
struct Left {
    streams: usize,
    bytes: u64,
}

/// A stream's share, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Grant {
    budget: Budget,
    extra: u64,
}

impl Budget {
    /// Memory for `streams` streams with `bytes` in each direction beyond the least of each.
    pub(super) fn new(streams: usize, bytes: u64) -> Self {
        Self::with(Left { streams, bytes }, PART, None)
    }

    /// Memory for the streams of one trunk, which comes out of this one's.
    pub(super) fn part(&self, streams: usize, bytes: u64) -> Self {
        Self::with(Left { streams, bytes }, PART_OF_TRUNK, Some(self.clone()))
    }

    fn with(left: Left, part: u64, whole: Option<Self>) -> Self {
        Self(Arc::new(Shared { left: Mutex::new(left), part, whole }))
    }

    fn left(&self) -> MutexGuard<'_, Left> {
        self.0.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A share for another stream; `None` if there are too many.
    pub(super) fn grant(&self) -> Option<Grant> {
        let extra = self.take(MAX_BYTES - MIN_BYTES)?;
        Some(Grant { budget: self.clone(), extra })
    }

    /// Takes a stream, and as many bytes as it may have, up to `most`.
    fn take(&self, most: u64) -> Option<u64> {
        let mut left = self.left();
        let streams = left.streams.checked_sub(1)?;
        let own = (left.bytes / self.0.part).min(most);
        let extra = match &self.0.whole {
            Some(whole) => whole.take(own)?,
            None => own,
        };
        left.streams = streams;
        left.bytes -= extra;
        Some(extra)
    }

    fn give_back(&self, extra: u64) {
        {
            let mut left = self.left();
            left.streams += 1;
            left.bytes += extra;
        }
        if let Some(whole) = &self.0.whole {
            whole.give_back(extra);
        }
    }
}

impl Grant {
    /// Bytes in each direction.
    pub(super) fn bytes(&self) -> u64 {
        MIN_BYTES + self.extra
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        self.budget.give_back(self.extra);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_have_much_the_last_enough_and_all_no_more_than_there_is() {
        let all = 512 << 20;
        let budget = Budget::new(1000, all);
        let grants: Vec<Grant> = std::iter::from_fn(|| budget.grant()).collect();
        assert_eq!(grants.len(), 1000);
        assert!(grants[0].bytes() > 24 << 20 && grants[999].bytes() >= MIN_BYTES);
        let given: u64 = grants.iter().map(Grant::bytes).sum();
        assert!(given <= all + 1000 * MIN_BYTES, "{given}");
        assert!(budget.grant().is_none());
        let first = grants[0].bytes();
        drop(grants);
        assert_eq!(budget.grant().unwrap().bytes(), first);
    }
    #[test]
    fn a_trunk_leaves_the_others_half_and_has_an_end_of_its_own() {
        let all = Budget::new(1000, 512 << 20);
        let (greedy, other) = (all.part(100, 256 << 20), all.part(100, 256 << 20));
        let grants: Vec<Grant> = std::iter::from_fn(|| greedy.grant()).collect();
        assert_eq!(grants.len(), 100);
        assert!(grants[0].bytes() >= 31 << 20, "{}", grants[0].bytes());
        let given: u64 = grants.iter().map(Grant::bytes).sum();
        assert!(given <= (256 << 20) + 100 * MIN_BYTES, "{given}");
        assert!(other.grant().unwrap().bytes() >= 16 << 20);
        drop(grants);
        assert_eq!(all.left().bytes, 512 << 20);
        assert_eq!((all.left().streams, greedy.left().streams), (1000, 100));
    }
}
