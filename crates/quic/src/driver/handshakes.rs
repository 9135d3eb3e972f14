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

    pub(super) fn add(&mut self, handshakes: usize) {
        self.own += handshakes;
        self.all.fetch_add(handshakes, Ordering::Relaxed);
    }

    pub(super) fn remove(&mut self, handshakes: usize) {
        let handshakes = handshakes.min(self.own);
        self.own -= handshakes;
        self.all.fetch_sub(handshakes, Ordering::Relaxed);
    }

    pub(super) fn own(&self) -> usize {
        self.own
    }

    /// Those of all endpoints at its address.
    pub(super) fn all(&self) -> usize {
        self.all.load(Ordering::Relaxed)
    }
}

impl Drop for Handshakes {
    fn drop(&mut self) {
        self.remove(self.own);
    }
}
