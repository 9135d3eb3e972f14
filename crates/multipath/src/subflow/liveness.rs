//! Liveness of a subflow: when something last came, and the round trips of pings.

use std::time::Duration;

use airlane_base::Time;
use parking_lot::{Mutex, MutexGuard};

/// Liveness of one subflow.
pub(crate) struct Liveness(Mutex<State>);

struct State {
    /// Time at which something last came, and at which on the low-latency channel.
    heard: Time,
    heard_low_latency: Time,
    /// The last ping and its time, until it is answered.
    asked: Option<(u64, Time)>,
    asks: u64,
    rtt: Option<Duration>,
    min_rtt: Option<Duration>,
}

impl Liveness {
    /// Liveness of a subflow that begins now.
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
        self.0.lock()
    }

    /// Something came, on the low-latency channel or on the other.
    pub(crate) fn on_heard(&self, now: Time, is_low_latency: bool) {
        let mut state = self.lock();
        state.heard = now;
        if is_low_latency {
            state.heard_low_latency = now;
        }
    }

    /// Number of a ping to be sent now; `None` while one is unanswered.
    pub(crate) fn ask(&self, now: Time) -> Option<u64> {
        let mut state = self.lock();
        if state.asked.is_some() {
            return None;
        }
        state.asks += 1;
        state.asked = Some((state.asks, now));
        Some(state.asks)
    }

    /// The ping of this number is answered.
    pub(crate) fn on_answer(&self, now: Time, number: u64) {
        let mut state = self.lock();
        if let Some((_, at)) = state.asked.take_if(|(asked, _)| *asked == number) {
            let rtt = now - at;
            state.rtt = Some(rtt);
            state.min_rtt = Some(state.min_rtt.map_or(rtt, |least| least.min(rtt)));
        }
    }

    /// Time at which something last came.
    pub(crate) fn heard(&self) -> Time {
        self.lock().heard
    }

    /// Time at which something last came on the low-latency channel.
    pub(crate) fn heard_low_latency(&self) -> Time {
        self.lock().heard_low_latency
    }

    /// Round trip of the last ping.
    pub(crate) fn rtt(&self) -> Option<Duration> {
        self.lock().rtt
    }

    /// Smallest round trip of a ping.
    pub(crate) fn min_rtt(&self) -> Option<Duration> {
        self.lock().min_rtt
    }

    /// Times since which a ping is unanswered and nothing else has come either: on any channel, and on
    /// the low-latency channel.
    pub(crate) fn silent_since(&self) -> Option<(Time, Time)> {
        let state = self.lock();
        state.asked.map(|(_, at)| (at.max(state.heard), at.max(state.heard_low_latency)))
    }
}
