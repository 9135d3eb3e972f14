//! The wall clock: for `run.json`, which alone holds circumstances, and for progress.

use std::time::{Duration, Instant, SystemTime};

/// Time at which the command started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    date: SystemTime,
    start: Instant,
}

#[expect(clippy::disallowed_methods, reason = "the command line alone knows the date")]
impl Clock {
    /// Now.
    pub(crate) fn start() -> Self {
        Self { date: SystemTime::now(), start: Instant::now() }
    }

    /// The time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// The date of the start, UTC, RFC 3339.
    pub(crate) fn date(&self) -> String {
        humantime::format_rfc3339_seconds(self.date).to_string()
    }
}
