//! A value that tasks wait for.

use std::pin::pin;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

/// A value shared by tasks, each of which may wait until it is as the task wants it. Tasks are woken in
/// the order in which they began to wait, so that a run in virtual time repeats: `tokio::sync::watch`
/// wakes them in an order that it draws.
#[derive(Debug, Default)]
pub struct WatchCell<T> {
    value: Mutex<T>,
    changed: Notify,
}

impl<T> WatchCell<T> {
    /// A value for which nobody waits yet.
    pub fn new(value: T) -> Self {
        Self { value: Mutex::new(value), changed: Notify::new() }
    }

    /// The value, locked. Not to be held across an await, and not for a change: nobody would hear of it.
    fn lock(&self) -> MutexGuard<'_, T> {
        self.value.lock()
    }

    /// Replaces the value, and returns the one before.
    pub fn set(&self, value: T) -> T {
        self.update(|before| std::mem::replace(before, value))
    }

    /// Changes the value.
    pub fn update<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let result = change(&mut self.lock());
        self.changed.notify_waiters();
        result
    }

    /// Looks at the value.
    pub fn with<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        look(&self.lock())
    }

    /// Waits until `found` finds what it looks for in the value.
    pub async fn wait_for<R>(&self, mut found: impl FnMut(&T) -> Option<R>) -> R {
        loop {
            let mut changed = pin!(self.changed.notified());
            // From here on no change is missed.
            changed.as_mut().enable();
            let result = found(&self.lock());
            match result {
                Some(result) => return result,
                None => changed.await,
            }
        }
    }
}

impl<T: Copy> WatchCell<T> {
    /// The value.
    pub fn get(&self) -> T {
        *self.lock()
    }
}

impl<T: Copy + PartialEq> WatchCell<T> {
    /// Waits until the value is not `before`; the value then.
    pub async fn changed_from(&self, before: T) -> T {
        self.wait_for(|now| (*now != before).then_some(*now)).await
    }

    /// Waits until the value is `wanted`.
    pub async fn until(&self, wanted: T) {
        self.wait_for(|now| (*now == wanted).then_some(())).await;
    }
}
