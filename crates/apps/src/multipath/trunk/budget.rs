//! Memory for streams: bounded for each and for all of them together.

use std::sync::{Arc, Mutex, PoisonError};

/// What any stream is sure of, bytes in each direction.
pub(super) const LEAST_BYTES: u64 = 256 << 10;
/// What one stream may have at most, bytes in each direction: 200 Mbit/s over 500 ms, and as much
/// again for what waits for late segments.
const MOST_BYTES: u64 = 32 << 20;
/// A stream gets this part of what is left.
const PART: u64 = 16;

/// What streams may have together.
#[derive(Clone, Debug)]
pub(super) struct Budget(Arc<Mutex<Left>>);

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
        Self(Arc::new(Mutex::new(Left { streams, bytes })))
    }

    /// A share for another stream; `None` if there are too many.
    pub(super) fn grant(&self) -> Option<Grant> {
        let mut left = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        left.streams = left.streams.checked_sub(1)?;
        let extra = (left.bytes / PART).min(MOST_BYTES - LEAST_BYTES);
        left.bytes -= extra;
        Some(Grant { budget: self.clone(), extra })
    }
}

impl Grant {
    /// Bytes in each direction.
    pub(super) fn bytes(&self) -> u64 {
        LEAST_BYTES + self.extra
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        let mut left = self.budget.0.lock().unwrap_or_else(PoisonError::into_inner);
        left.streams += 1;
        left.bytes += self.extra;
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
        assert!(grants[0].bytes() > 24 << 20 && grants[999].bytes() >= LEAST_BYTES);
        let given: u64 = grants.iter().map(Grant::bytes).sum();
        assert!(given <= all + 1000 * LEAST_BYTES, "{given}");
        assert!(budget.grant().is_none());
        let first = grants[0].bytes();
        drop(grants);
        assert_eq!(budget.grant().unwrap().bytes(), first);
    }
}
