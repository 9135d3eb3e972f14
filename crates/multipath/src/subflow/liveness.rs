//! Whether the other end of a subflow is there: what came last, and how long questions take.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use airlane_base::Time;

/// Of one subflow.
pub(crate) struct Liveness(Mutex<State>);

struct State {
    /// When something last came, and when on the low-latency channel.
    heard: Time,
    heard_low_latency: Time,
    /// The last question, and when it was asked, while nothing has answered it.
    asked: Option<(u64, Time)>,
    asks: u64,
    rtt: Option<Duration>,
    min_rtt: Option<Duration>,
}

impl Liveness {
    /// Of a subflow that begins now.
    pub(crate) fn new(now: Time) -> Self {
        Self(Mutex::new(State {
            heard: now,
            heard_low_latency: now,
            asked: None,
            asks: 0,
            rtt: None,
            min_rtt: None,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something came, on the low-latency channel or on the other.
    pub(crate) fn on_heard(&self, now: Time, is_low_latency: bool) {
        let mut state = self.lock();
        state.heard = now;
        if is_low_latency {
            state.heard_low_latency = now;
        }
    }

    /// The number of a question to be asked now; `None` while one is open.
    pub(crate) fn ask(&self, now: Time) -> Option<u64> {
        let mut state = self.lock();
        if state.asked.is_some() {
            return None;
        }
        state.asks += 1;
        state.asked = Some((state.asks, now));
        Some(state.asks)
    }

    /// The question of this number is answered.
    pub(crate) fn on_answer(&self, now: Time, number: u64) {
        let mut state = self.lock();
        if let Some((_, at)) = state.asked.take_if(|(asked, _)| *asked == number) {
            let rtt = now - at;
            state.rtt = Some(rtt);
            state.min_rtt = Some(state.min_rtt.map_or(rtt, |least| least.min(rtt)));
        }
    }

    /// When something last came.
    pub(crate) fn heard(&self) -> Time {
        self.lock().heard
    }

    /// When something last came on the low-latency channel.
    pub(crate) fn heard_low_latency(&self) -> Time {
        self.lock().heard_low_latency
    }

    /// The last round trip of a question and its answer.
    pub(crate) fn rtt(&self) -> Option<Duration> {
        self.lock().rtt
    }

    /// The least of them.
    pub(crate) fn min_rtt(&self) -> Option<Duration> {
        self.lock().min_rtt
    }

    /// Since when a question waits for an answer and nothing else has come either: on any channel, and
    /// on the low-latency channel.
    pub(crate) fn silent_since(&self) -> Option<(Time, Time)> {
        let state = self.lock();
        state.asked.map(|(_, at)| (at.max(state.heard), at.max(state.heard_low_latency)))
    }
}
