//! Connections that the driver has to look at.

use std::collections::VecDeque;
use std::task::Waker;

use noq_proto::ConnectionHandle;
use parking_lot::Mutex;

/// Queue of connections that were changed, with the driver's waker.
#[derive(Debug, Default)]
pub(crate) struct RunQueue(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    changed: Vec<ConnectionHandle>,
    driver: Option<Waker>,
}

impl RunQueue {
    /// Has the driver look at a connection.
    pub(crate) fn add(&self, handle: ConnectionHandle) {
        let mut entries = self.0.lock();
        entries.changed.push(handle);
        Self::wake(entries);
    }

    /// Has the driver look at the endpoint.
    pub(crate) fn notify(&self) {
        Self::wake(self.0.lock());
    }

    fn wake(mut entries: parking_lot::MutexGuard<'_, Entries>) {
        let driver = entries.driver.take();
        drop(entries);
        if let Some(driver) = driver {
            driver.wake();
        }
    }

    /// Moves the connections to the end of `ready`; who comes from now on wakes the driver.
    pub(crate) fn take(&self, ready: &mut VecDeque<ConnectionHandle>, driver: &Waker) {
        let mut entries = self.0.lock();
        ready.extend(entries.changed.drain(..));
        entries.driver.get_or_insert_with(|| driver.clone()).clone_from(driver);
    }
}
