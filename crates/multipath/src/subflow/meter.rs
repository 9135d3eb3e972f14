//! Rate limit and credit of a subflow at the end that sends.

use std::task::{Context, Poll, Waker};
use std::time::Duration;

use airlane_base::Time;
use airlane_runtime::Timer;
use parking_lot::{Mutex, MutexGuard};

use crate::subflow::frame::{HEADER_BYTES, MAX_SEGMENT_BYTES};

/// Time for which an unused rate is saved up.
const BURST_WINDOW: Duration = Duration::from_millis(100);
/// Bytes of the longest frame with a segment.
const MAX_FRAME_BYTES: u64 = HEADER_BYTES as u64 + 64 + MAX_SEGMENT_BYTES as u64;

/// Bytes that so many of a subflow cost on its interface, but for packets that are nearly empty: headers of
/// IP, TCP and TLS, or of UDP and QUIC, and the acknowledgements of the other direction. Retransmissions
/// come on top.
pub(crate) fn on_air(bytes: u64) -> u64 {
    bytes + bytes / 12
}

/// Bytes of a subflow that cost no more than so many on its interface.
pub(crate) fn on_subflow(bytes: u64) -> u64 {
    bytes - bytes.div_ceil(13)
}

/// Rate limit and credit of one subflow at the end that sends.
pub(crate) struct Meter {
    state: Mutex<State>,
}

struct State {
    bucket: Option<Bucket>,
    /// Bytes that may be sent in all; `None`: any number.
    limit: Option<u64>,
    /// Number of bytes that were sent, or are being sent.
    sent: u64,
    waiting: Vec<Waker>,
}

/// Bytes that the rate allows at once: below 0 after a frame that was longer.
struct Bucket {
    bytes_per_s: f64,
    bytes: f64,
    at: Time,
}

impl Meter {
    /// A meter with a rate limit in bit/s on the air, and a credit in bytes.
    pub(crate) fn new(now: Time, max_bps: Option<u64>, limit: Option<u64>) -> Self {
        let bucket = |bps: u64| Bucket { bytes_per_s: bps as f64 / 8.0, bytes: 0.0, at: now };
        let state = State { bucket: max_bps.map(bucket), limit, sent: 0, waiting: Vec::new() };
        Self { state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Number of bytes that were sent, or are being sent.
    pub(crate) fn sent(&self) -> u64 {
        self.lock().sent
    }

    /// Sets aside what a turn of `most` bytes may send, and a frame more: the last one begins before
    /// that. Pending while there is nothing: the task is woken. What `is_light` may run into debt.
    pub(crate) fn poll_turn(
        &self,
        cx: &mut Context<'_>,
        now: Time,
        timer: &mut Box<dyn Timer>,
        (is_light, most): (bool, u64),
    ) -> Poll<Turn<'_>> {
        let mut state = self.lock();
        let State { bucket, limit, sent, .. } = &mut *state;
        let mut may = most;
        let mut refilled = None;
        if let Some(limit) = *limit {
            may = may.min(limit.saturating_sub(*sent).saturating_sub(MAX_FRAME_BYTES));
        }
        if let Some(bucket) = bucket {
            match bucket.has(now, is_light) {
                Ok(has) => may = may.min(has),
                Err(at) => (may, refilled) = (0, Some(at)),
            }
        }
        if may > 0 {
            let aside = may + MAX_FRAME_BYTES;
            state.add(aside);
            return Poll::Ready(Turn { meter: self, bytes: may, aside });
        }
        state.wait(cx);
        drop(state);
        // It may have come already: then at once again, in the task's next turn.
        if refilled.is_some_and(|at| timer.poll_at(at, cx).is_ready()) {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// So many bytes were sent that wait for nothing: acknowledgements, questions and answers.
    pub(crate) fn add(&self, bytes: u64) {
        self.lock().add(bytes);
    }

    /// Sets the credit: bytes that may be sent in all.
    pub(crate) fn set_limit(&self, limit: u64) {
        let mut state = self.lock();
        state.limit = Some(limit);
        state.wake();
    }

    /// Raises the credit: bytes that may be sent in all, unless it is more already.
    pub(crate) fn raise_limit(&self, limit: u64) {
        let mut state = self.lock();
        if state.limit.is_some_and(|before| limit > before) {
            state.limit = Some(limit);
            state.wake();
        }
    }
}

impl State {
    fn add(&mut self, bytes: u64) {
        self.sent += bytes;
        if let Some(bucket) = &mut self.bucket {
            bucket.bytes -= on_air(bytes) as f64;
        }
    }

    fn take_back(&mut self, bytes: u64) {
        self.sent -= bytes.min(self.sent);
        if let Some(bucket) = &mut self.bucket {
            bucket.bytes += on_air(bytes) as f64;
        }
        // Another may have been refused what was set aside.
        self.wake();
    }

    fn wait(&mut self, cx: &Context<'_>) {
        if !self.waiting.iter().any(|known| known.will_wake(cx.waker())) {
            self.waiting.push(cx.waker().clone());
        }
    }

    fn wake(&mut self) {
        self.waiting.drain(..).for_each(Waker::wake);
    }
}

/// Bytes set aside for a turn. Dropped, it gives back those that were not sent.
pub(crate) struct Turn<'a> {
    meter: &'a Meter,
    /// The last frame of the turn begins before so many bytes.
    pub(crate) bytes: u64,
    aside: u64,
}

impl Turn<'_> {
    /// So many bytes are sent.
    pub(crate) fn spend(&mut self, bytes: u64) {
        self.aside = self.aside.saturating_sub(bytes);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.meter.lock().take_back(self.aside);
    }
}

impl Bucket {
    /// Number of bytes that may be sent now, or the time from which some may be.
    fn has(&mut self, now: Time, is_light: bool) -> Result<u64, Time> {
        let burst = self.bytes_per_s * BURST_WINDOW.as_secs_f64();
        let passed = (now - self.at).as_secs_f64();
        self.bytes = (self.bytes + passed * self.bytes_per_s).min(burst);
        self.at = now;
        let least = if is_light { -burst } else { 0.0 };
        if self.bytes > least {
            return Ok(on_subflow((self.bytes.max(1.0)) as u64).max(1));
        }
        let wait_s = (least + 1.0 - self.bytes) / self.bytes_per_s;
        // Not so soon that nothing has been added by then.
        let wait = Duration::from_secs_f64(wait_s.min(1e6)).max(Duration::from_micros(100));
        Err(now + wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_line_costs_and_what_that_leaves_go_together() {
        for bytes in [0, 1, 12, 13, 1000, 123_456_789] {
            assert!(on_air(on_subflow(bytes)) <= bytes, "{bytes}");
            assert!(on_air(on_subflow(bytes)) + 2 >= bytes, "{bytes}");
        }
    }
}
