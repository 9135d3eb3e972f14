//! Tasks that wait for the same thing.

use std::mem;
use std::task::Waker;

/// Each waiting task once, in the order in which they came: as many as there are tasks at most.
#[derive(Debug, Default)]
pub(super) struct Wakers(Vec<Waker>);

impl Wakers {
    pub(super) fn add(&mut self, waker: &Waker) {
        if !self.0.iter().any(|w| w.will_wake(waker)) {
            self.0.push(waker.clone());
        }
    }

    pub(super) fn wake(&mut self) {
        for waker in mem::take(&mut self.0) {
            waker.wake();
        }
    }
}
