//! The machine's clock: the one place of this crate that reads it.

use std::time::{Duration, Instant};

use airlane_base::Time;
use rustix::event::Timespec;

/// The axis of a link's times, by the machine's monotonic clock. Its copies agree.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

#[expect(clippy::disallowed_methods, reason = "a link in real time lives by the machine's clock")]
impl Clock {
    /// A clock that starts at zero now.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Time of the clock.
    pub fn now(&self) -> Time {
        Time::ZERO + self.0.elapsed()
    }
}

/// Processor time that this thread has used, where the system tells it. (Not by the thread's clock: what
/// reads it goes by the kernel's own code in the process, which does not run under valgrind.)
pub fn thread_cpu() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// A time to wait, as the system takes it.
pub(crate) fn timespec(wait: Duration) -> Timespec {
    // A day at once: who waits longer looks at the clock in between.
    let wait = wait.min(Duration::from_secs(86_400));
    Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) }
}
