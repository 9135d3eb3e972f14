//! A stream over several paths: its ends, and the state that their tasks share.

pub(crate) mod shared;

use std::future::poll_fn;

use airlane_base::Histogram;
use bytes::Bytes;

use crate::error::MultipathError;
pub use shared::{PathCounts, StreamCounts};

use shared::Shared;

/// A stream of bytes in each direction over several paths. Dropped, it is given up.
pub struct MultipathStream {
    shared: Shared,
}

impl std::fmt::Debug for MultipathStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("MultipathStream").field(&self.counts()).finish()
    }
}

impl MultipathStream {
    pub(crate) fn new(shared: Shared) -> Self {
        Self { shared }
    }

    /// Appends `data`; waits while there is no room for it.
    ///
    /// # Errors
    /// If the stream has failed.
    pub async fn write(&self, mut data: Bytes) -> Result<(), MultipathError> {
        poll_fn(|cx| self.shared.poll_write(cx, &mut data)).await
    }

    /// Waits until no more than `most` bytes that were written have not arrived: for writers whose
    /// data is worth little when it is late.
    ///
    /// # Errors
    /// If the stream has failed.
    pub async fn writable_within(&self, most: u64) -> Result<(), MultipathError> {
        poll_fn(|cx| self.shared.poll_within(cx, most)).await
    }

    /// Nothing comes after what was written.
    pub fn finish(&self) {
        self.shared.finish();
    }

    /// The next pieces in order, all that there are; none after the end.
    ///
    /// # Errors
    /// If the stream has failed.
    pub async fn read(&self) -> Result<Vec<Bytes>, MultipathError> {
        self.read_within(usize::MAX).await
    }

    /// The same, but no more than `max_bytes` and the rest of a piece: the memory of what is not taken
    /// stays that of the stream, which bounds it.
    ///
    /// # Errors
    /// If the stream has failed.
    pub async fn read_within(&self, max_bytes: usize) -> Result<Vec<Bytes>, MultipathError> {
        poll_fn(|cx| self.shared.poll_read(cx, max_bytes)).await
    }

    /// Waits until the stream has failed: given up by the other end, say. For who does not wait for
    /// what comes.
    pub async fn failed(&self) -> MultipathError {
        poll_fn(|cx| self.shared.poll_failed(cx)).await
    }

    /// Waits until everything has arrived in both directions.
    ///
    /// # Errors
    /// If the stream has failed.
    pub async fn over(&self) -> Result<(), MultipathError> {
        poll_fn(|cx| self.shared.poll_over(cx)).await
    }

    /// Times that bytes waited from coming to being read, byte by byte: for others before them, and
    /// for the application.
    pub fn waited(&self) -> Histogram {
        self.shared.waited()
    }

    /// Counts of the stream so far.
    pub fn counts(&self) -> StreamCounts {
        self.shared.counts()
    }
}

impl Drop for MultipathStream {
    fn drop(&mut self) {
        self.shared.give_up();
    }
}
