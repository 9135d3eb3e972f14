//! Memory for streams: bounded for each, for those of a session, and for all of them together.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

/// Memory that any stream has, bytes in each direction.
pub(crate) const MIN_BYTES: u64 = 256 << 10;
/// Maximum memory of one stream, bytes in each direction: 200 Mbit/s over 500 ms, and as much
/// again for what waits for late segments.
const MAX_BYTES: u64 = 32 << 20;
/// A stream gets this part of what is left for all sessions.
const PART: u64 = 16;
/// A stream gets this part at most of what is left for its session.
const SESSION_PART: u64 = 8;

/// Memory that streams share.
#[derive(Clone, Debug)]
pub(crate) struct MemoryPool(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    left: Mutex<Left>,
    /// A stream gets this part of what is left.
    part: u64,
    /// The pool that this is a part of.
    whole: Option<MemoryPool>,
}

#[derive(Debug)]
struct Left {
    streams: usize,
    bytes: u64,
}

/// A stream's share, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct MemoryShare {
    memory_pool: MemoryPool,
    /// Bytes taken beyond what any stream is sure of.
    extra: u64,
    bytes: u64,
}

impl MemoryPool {
    /// Memory for `streams` streams with `bytes` in each direction beyond the least of each.
    pub(crate) fn new(streams: usize, bytes: u64) -> Self {
        Self::with(Left { streams, bytes }, PART, None)
    }

    /// Memory for the streams of one session, which comes out of this one's.
    pub(crate) fn part(&self, streams: usize, bytes: u64) -> Self {
        Self::with(Left { streams, bytes }, SESSION_PART, Some(self.clone()))
    }

    fn with(left: Left, part: u64, whole: Option<Self>) -> Self {
        Self(Arc::new(Shared { left: Mutex::new(left), part, whole }))
    }

    fn left(&self) -> MutexGuard<'_, Left> {
        self.0.left.lock()
    }

    /// Memory for another stream; `None` if there are too many. It is `wanted`, as far as there is so
    /// much, or a share of what is left.
    pub(crate) fn grant(&self, wanted: Option<u64>) -> Option<MemoryShare> {
        let extra = match wanted {
            Some(wanted) => self.take(wanted.saturating_sub(MIN_BYTES), false)?,
            None => self.take(MAX_BYTES - MIN_BYTES, true)?,
        };
        let bytes = wanted.unwrap_or(u64::MAX).min(MIN_BYTES + extra);
        Some(MemoryShare { memory_pool: self.clone(), extra, bytes })
    }

    /// Takes a stream, and as many bytes as it may have, up to `max_bytes`, or up to its share.
    fn take(&self, max_bytes: u64, is_share: bool) -> Option<u64> {
        let mut left = self.left();
        let streams = left.streams.checked_sub(1)?;
        let part = if is_share { self.0.part } else { 1 };
        let own = (left.bytes / part).min(max_bytes);
        let extra = match &self.0.whole {
            Some(whole) => whole.take(own, is_share)?,
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

impl MemoryShare {
    /// Bytes in each direction.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for MemoryShare {
    fn drop(&mut self) {
        self.memory_pool.give_back(self.extra);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_have_much_the_last_enough_and_all_no_more_than_there_is() {
        let all = 512 << 20;
        let memory_pool = MemoryPool::new(1000, all);
        let grants: Vec<MemoryShare> = std::iter::from_fn(|| memory_pool.grant(None)).collect();
        assert_eq!(grants.len(), 1000);
        assert!(grants[0].bytes() > 24 << 20 && grants[999].bytes() >= MIN_BYTES);
        let given: u64 = grants.iter().map(MemoryShare::bytes).sum();
        assert!(given <= all + 1000 * MIN_BYTES, "{given}");
        assert!(memory_pool.grant(None).is_none());
        let first = grants[0].bytes();
        drop(grants);
        assert_eq!(memory_pool.grant(None).unwrap().bytes(), first);
    }

    #[test]
    fn who_says_how_much_gets_that_while_it_is_there() {
        let all = MemoryPool::new(10, 8 << 20);
        let session = all.part(10, 6 << 20);
        let small = session.grant(Some(64 << 10)).unwrap();
        assert_eq!((small.bytes(), small.extra), (64 << 10, 0));
        assert_eq!(session.grant(Some(6 << 20)).unwrap().bytes(), 6 << 20);
        assert_eq!(session.grant(Some(64 << 20)).unwrap().bytes(), (6 << 20) + MIN_BYTES);
    }

    #[test]
    fn a_trunk_leaves_the_others_half_and_has_an_end_of_its_own() {
        let all = MemoryPool::new(1000, 512 << 20);
        let (greedy, other) = (all.part(100, 256 << 20), all.part(100, 256 << 20));
        let grants: Vec<MemoryShare> = std::iter::from_fn(|| greedy.grant(None)).collect();
        assert_eq!(grants.len(), 100);
        assert!(grants[0].bytes() >= 31 << 20, "{}", grants[0].bytes());
        let given: u64 = grants.iter().map(MemoryShare::bytes).sum();
        assert!(given <= (256 << 20) + 100 * MIN_BYTES, "{given}");
        assert!(other.grant(None).unwrap().bytes() >= 16 << 20);
        drop(grants);
        assert_eq!(all.left().bytes, 512 << 20);
        assert_eq!((all.left().streams, greedy.left().streams), (1000, 100));
    }
}
