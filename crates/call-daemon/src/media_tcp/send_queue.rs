//! Queue of frames that wait to be written to a connection. It is bounded in bytes: a datagram that does not fit is
//! dropped, as UDP would lose it, so that a peer that reads slowly delays nobody.

use std::collections::VecDeque;
use std::io::Read;

use airlane_runtime::WatchCell;

use super::framing::frame_header;

/// Bytes that wait: 175 ms at the 6 Mbit/s that a participant receives at most.
pub(crate) const MAX_QUEUED_BYTES: usize = 128 << 10;

/// Queue between whoever sends datagrams and the task that writes them.
#[derive(Debug, Default)]
pub(crate) struct SendQueue(WatchCell<State>);

#[derive(Debug, Default)]
struct State {
    bytes: VecDeque<u8>,
    is_closed: bool,
}

impl SendQueue {
    /// Appends a datagram as a frame. False if it is dropped, for lack of room or because the queue is closed.
    pub(crate) fn push(&self, datagram: &[u8]) -> bool {
        let Some(header) = frame_header(datagram) else { return false };
        self.0.update(|State { bytes, is_closed }| {
            let length = header.len() + datagram.len();
            let is_taken = !*is_closed && bytes.len() + length <= MAX_QUEUED_BYTES;
            if is_taken {
                bytes.extend(header);
                bytes.extend(datagram);
            }
            is_taken
        })
    }

    /// Closes the queue: what waits is still written.
    pub(crate) fn close(&self) {
        self.0.update(|state| state.is_closed = true);
    }

    /// Waits until the queue is closed.
    pub(crate) async fn closed(&self) {
        self.0.wait_for(|state| state.is_closed.then_some(())).await;
    }

    /// Waits for bytes and moves them into `chunk`; their number, 0 if the queue is closed and empty.
    pub(crate) async fn take(&self, chunk: &mut [u8]) -> usize {
        let is_ready = |state: &State| !state.bytes.is_empty() || state.is_closed;
        self.0.wait_for(|state| is_ready(state).then_some(())).await;
        // A queue in memory does not fail.
        self.0.update(|state| state.bytes.read(chunk).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use airlane_runtime::virtual_time;

    use super::*;

    #[test]
    fn what_does_not_fit_is_dropped_whole_and_the_rest_is_written_after_the_end() {
        virtual_time::run_alone(|_| async move {
            let queue = SendQueue::default();
            let taken = (0..1000).filter(|_| queue.push(&[7; 1000])).count();
            assert_eq!(taken, MAX_QUEUED_BYTES / 1002);
            // A short one finds room where a long one does not.
            assert!(queue.push(&[7; 100]) && !queue.push(&[7; 3000]));
            queue.close();
            assert!(!queue.push(&[]));
            queue.closed().await;
            let (mut chunk, mut total) = ([0; 4096], 0);
            loop {
                match queue.take(&mut chunk).await {
                    0 => break,
                    n => total += n,
                }
            }
            assert_eq!(total, taken * 1002 + 102);
        });
    }
}
