//! The machine's clocks: the one place of this crate that reads them.

use std::time::{Duration, Instant, SystemTime};

use airlane_base::Time;
use rustix::event::Timespec;
use rustix::time::{ClockId, clock_gettime};

/// The axis of a link's times, by the machine's monotonic clock. Its copies agree.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

#[expect(clippy::disallowed_methods, reason = "a link in real time lives by the machine's clock")]
impl Clock {
    /// A clock that starts at zero now.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// What time it is.
    pub fn now(&self) -> Time {
        Time::ZERO + self.0.elapsed()
    }

    /// The time by this clock of something that the wall clock saw: now, less its age. What lies
    /// in the wall clock's future (it was set back) was now.
    pub(crate) fn of_wall(&self, wall: &Wall, seen: Duration) -> Time {
        wall.monotonic - wall.epoch.saturating_sub(seen).min(Wall::OLDEST)
    }

    /// Both clocks at once.
    pub(crate) fn wall(&self) -> Wall {
        let epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Wall { monotonic: self.now(), epoch }
    }
}

/// What both clocks showed at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wall {
    monotonic: Time,
    epoch: Duration,
}

impl Wall {
    /// Nothing waits longer in a socket: a greater age comes from a wall clock that was set.
    const OLDEST: Duration = Duration::from_secs(1);
}

/// Processor time that this thread has used.
pub(crate) fn thread_cpu() -> Duration {
    let t = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

/// A time to wait, as the system takes it.
pub(crate) fn timespec(wait: Duration) -> Timespec {
    // A day at once: who waits longer looks at the clock in between.
    let wait = wait.min(Duration::from_secs(86_400));
    Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) }
}
