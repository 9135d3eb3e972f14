//! Handshakes under way that clients have begun: those of an endpoint, and of all at its address.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The handshakes of an endpoint. When it is dropped none are left.
#[derive(Debug)]
pub(super) struct Handshakes {
    own: usize,
    /// With those of the other endpoints at its address.
    all: Arc<AtomicUsize>,
}

impl Handshakes {
    /// None of its own yet; `all` counts for every endpoint at its address.
    pub(super) fn new(all: Arc<AtomicUsize>) -> Self {
        Self { own: 0, all }
    }

    /// One begins, unless there are `most` at its address. Whether it does: of several endpoints that
    /// ask at once, no more than there is room for are told so.
    pub(super) fn begin(&mut self, most: usize) -> bool {
        let one_more = |all| (all < most).then_some(all + 1);
        let begins = self.all.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok();
        self.own += usize::from(begins);
        begins
    }

    /// So many are done, or given up.
    pub(super) fn end(&mut self, handshakes: usize) {
        let handshakes = handshakes.min(self.own);
        self.own -= handshakes;
        self.all.fetch_sub(handshakes, Ordering::Relaxed);
    }

    /// Those of all endpoints at its address.
    pub(super) fn all(&self) -> usize {
        self.all.load(Ordering::Relaxed)
    }
}

impl Drop for Handshakes {
    fn drop(&mut self) {
        self.end(self.own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_that_ask_at_once_have_no_more_than_one_would() {
        const MAX: usize = 4;
        let all = Arc::new(AtomicUsize::new(0));
        std::thread::scope(|threads| {
            for _ in 0..4 {
                let mut handshakes = Handshakes::new(all.clone());
                threads.spawn(move || {
                    for _ in 0..20_000 {
                        let begun = (0..MAX).filter(|_| handshakes.begin(MAX)).count();
                        assert!(handshakes.all() <= MAX);
                        handshakes.end(begun);
                    }
                    // What it has begun now ends with it.
                    handshakes.begin(MAX);
                });
            }
        });
        assert_eq!(all.load(Ordering::Relaxed), 0);
    }
}
