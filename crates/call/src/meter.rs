//! Rate of what arrives.

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::{Rate, Time};

/// Time over which a rate is averaged.
const WINDOW: Duration = Duration::from_secs(1);

/// Meter of the rate over the last second.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter {
    arrived: VecDeque<(Time, u64)>,
    bytes: u64,
    first: Option<Time>,
}

impl Meter {
    pub(crate) fn add(&mut self, now: Time, bytes: u64) {
        self.forget(now);
        self.first.get_or_insert(now);
        self.arrived.push_back((now, bytes));
        self.bytes += bytes;
    }

    fn forget(&mut self, now: Time) {
        while let Some((at, bytes)) = self.arrived.front().copied()
            && now - at > WINDOW
        {
            self.arrived.pop_front();
            self.bytes -= bytes;
        }
    }

    pub(crate) fn rate(&mut self, now: Time) -> Rate {
        self.forget(now);
        let Some(first) = self.first else { return Rate::ZERO };
        Rate::of(self.bytes, (now - first).clamp(Duration::from_millis(100), WINDOW))
    }
}
