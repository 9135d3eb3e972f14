//! Pings while the peer is silent.

use std::time::Duration;

use airlane_base::Time;

/// Schedule of pings to a peer that is silent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeepAlive {
    interval: Duration,
    pinged_at: Time,
}

impl KeepAlive {
    /// A schedule from `now` on.
    pub(crate) fn new(now: Time, interval: Duration) -> Self {
        Self { interval, pinged_at: now }
    }

    /// Time of the next ping, of a peer whose latest datagram arrived at `heard_at`.
    pub(crate) fn due(&self, heard_at: Time) -> Time {
        heard_at.max(self.pinged_at) + self.interval
    }

    /// Notes that a ping leaves.
    pub(crate) fn pinged(&mut self, now: Time) {
        self.pinged_at = now;
    }
}
