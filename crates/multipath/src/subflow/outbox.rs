//! Frames that wait until a subflow takes them: answers to the other end's questions, and what this end
//! tells of streams.
//!
//! Their number is bounded, for the other end may ask again and again and never read an answer.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

/// Frames that wait at most. An end that keeps to the protocol has no more streams open than a
/// quarter of that, and is told of each of them once or twice.
pub(crate) const MAX_WAITING_FRAMES: usize = 4096;
/// Bytes that are written at once, but for a frame that is longer: others wait for that long.
const BATCH_BYTES: usize = 16 << 10;

/// More frames wait than may: the other end does not read.
#[derive(Debug)]
pub(crate) struct OutboxFull;

/// Frames in the order in which they are to be sent.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    waiting: Mutex<VecDeque<Bytes>>,
    news: Notify,
}

impl Outbox {
    fn waiting(&self) -> MutexGuard<'_, VecDeque<Bytes>> {
        self.waiting.lock()
    }

    /// Appends a frame, or several that belong together.
    pub(crate) fn push(&self, frames: Bytes) -> Result<(), OutboxFull> {
        let mut waiting = self.waiting();
        if waiting.len() >= MAX_WAITING_FRAMES {
            // Nobody will want them any more.
            waiting.clear();
            return Err(OutboxFull);
        }
        waiting.push_back(frames);
        drop(waiting);
        self.news.notify_one();
        Ok(())
    }

    /// Waits for frames, and takes the first of them.
    pub(crate) async fn next(&self) -> Bytes {
        loop {
            if let Some(batch) = self.take() {
                return batch;
            }
            self.news.notified().await;
        }
    }

    fn take(&self) -> Option<Bytes> {
        let mut waiting = self.waiting();
        let first = waiting.pop_front()?;
        if waiting.is_empty() {
            return Some(first);
        }
        let mut batch = BytesMut::from(&first[..]);
        while let Some(next) = waiting.front()
            && batch.len() + next.len() <= BATCH_BYTES
        {
            batch.extend_from_slice(next);
            waiting.pop_front();
        }
        Some(batch.freeze())
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn frames_leave_in_order_and_together() {
        let outbox = Outbox::default();
        for n in 0..3000_u32 {
            outbox.push(Bytes::copy_from_slice(&n.to_be_bytes())).unwrap();
        }
        let mut left = Vec::new();
        while let Some(batch) = outbox.next().now_or_never() {
            assert!(batch.len() <= BATCH_BYTES);
            left.extend_from_slice(&batch);
        }
        let expected: Vec<u8> = (0..3000_u32).flat_map(u32::to_be_bytes).collect();
        assert_eq!(left, expected);
        // One that is longer than a batch goes alone.
        outbox.push(Bytes::from(vec![0; 2 * BATCH_BYTES])).unwrap();
        outbox.push(Bytes::from_static(b"next")).unwrap();
        assert_eq!(outbox.next().now_or_never().map(|b| b.len()), Some(2 * BATCH_BYTES));
        assert_eq!(outbox.next().now_or_never().unwrap(), &b"next"[..]);
    }

    #[test]
    fn what_nobody_reads_has_an_end() {
        let outbox = Outbox::default();
        for _ in 0..MAX_WAITING_FRAMES {
            outbox.push(Bytes::from_static(b"x")).unwrap();
        }
        assert!(outbox.push(Bytes::from_static(b"x")).is_err());
        assert!(outbox.next().now_or_never().is_none());
    }
}
