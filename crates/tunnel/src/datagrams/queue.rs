//! Datagrams that wait for room in a stream.

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::Time;
use airlane_runtime::RuntimeHandle;
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// Bytes that wait at most: a burst of 500 datagrams that each fill a packet.
const MAX_BYTES: usize = 768 << 10;
/// Maximum time that a datagram waits: after it, it is of no use any more.
const LATE: Duration = Duration::from_millis(300);

/// Datagrams in the order in which they came.
#[derive(Debug)]
pub(crate) struct Queue {
    runtime: RuntimeHandle,
    waiting: Mutex<Waiting>,
    news: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    frames: VecDeque<(Time, Bytes)>,
    bytes: usize,
    dropped: u64,
}

impl Queue {
    pub(crate) fn new(runtime: RuntimeHandle) -> Self {
        Self { runtime, waiting: Mutex::default(), news: Notify::new() }
    }

    /// Appends one; the oldest go if there are too many.
    pub(crate) fn push(&self, frame: Bytes) {
        let now = self.runtime.now();
        let mut waiting = self.waiting.lock();
        waiting.bytes += frame.len();
        waiting.frames.push_back((now, frame));
        while waiting.bytes > MAX_BYTES && waiting.drop_first() {}
        drop(waiting);
        self.news.notify_one();
    }

    /// Waits for the first that is not late.
    pub(crate) async fn next(&self) -> Bytes {
        loop {
            if let Some(frame) = self.take() {
                return frame;
            }
            self.news.notified().await;
        }
    }

    fn take(&self) -> Option<Bytes> {
        let now = self.runtime.now();
        let mut waiting = self.waiting.lock();
        while waiting.frames.front().is_some_and(|(at, _)| now - *at > LATE) {
            waiting.drop_first();
        }
        let (_, frame) = waiting.frames.pop_front()?;
        waiting.bytes -= frame.len();
        Some(frame)
    }

    /// Number of datagrams dropped since this was asked last.
    pub(crate) fn dropped(&self) -> u64 {
        std::mem::take(&mut self.waiting.lock().dropped)
    }
}

impl Waiting {
    fn drop_first(&mut self) -> bool {
        let Some((_, frame)) = self.frames.pop_front() else { return false };
        self.bytes -= frame.len();
        self.dropped += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use airlane_base::Seed;
    use airlane_runtime::real_time::TokioRuntime;

    use super::*;

    #[tokio::test]
    async fn the_oldest_go_first() {
        let queue = Queue::new(TokioRuntime::new(Seed(1)));
        let frame = |n: u8| Bytes::from(vec![n; MAX_BYTES / 4]);
        for n in 0..6 {
            queue.push(frame(n));
        }
        assert_eq!(queue.dropped(), 2);
        for n in 2..6 {
            assert_eq!(queue.next().await, frame(n));
        }
        assert_eq!((queue.take(), queue.dropped()), (None, 0));
    }
}
