//! The machine's clocks: this is the one place of the bench that reads them.

use std::time::{Duration, Instant, SystemTime};

/// A watch that was started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch(Instant);

#[expect(clippy::disallowed_methods, reason = "a bench reads the machine's clock")]
impl Watch {
    /// Starts.
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// The time since.
    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// The present, for what computes with instants.
#[expect(clippy::disallowed_methods, reason = "a bench reads the machine's clock")]
pub(crate) fn instant() -> Instant {
    Instant::now()
}

/// The date, UTC, RFC 3339.
#[expect(clippy::disallowed_methods, reason = "results carry their date")]
pub(crate) fn date() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}
