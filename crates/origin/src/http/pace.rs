//! How fast requests may follow each other on one connection.

use std::time::Duration;

use airlane_base::Time;

/// Requests that one connection may make in time: those beyond wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestRate {
    /// Requests per second in the long run, at least 1.
    pub per_s: u32,
    /// Requests that may come at once after a pause.
    pub burst: u32,
}

/// The requests of one connection: a token bucket, as the generic cell rate algorithm has it (ITU-T
/// I.371): of all that came, one time is kept.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    rate: RequestRate,
    /// Time at which the bucket is full again.
    full_at: Time,
}

impl Pace {
    /// No request has come.
    pub fn new(rate: RequestRate) -> Self {
        Self { rate, full_at: Time::ZERO }
    }

    /// One comes. How long it is to wait for its answer.
    pub fn take(&mut self, now: Time) -> Duration {
        let each = Duration::from_secs(1) / self.rate.per_s.max(1);
        self.full_at = self.full_at.max(now) + each;
        (self.full_at - now).saturating_sub(each * self.rate.burst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_what_follows_comes_at_the_rate() {
        let mut pace = Pace::new(RequestRate { per_s: 1000, burst: 5000 });
        let mut now = Time::ZERO;
        let mut waited = Duration::ZERO;
        for _ in 0..5000 {
            assert_eq!(pace.take(now), Duration::ZERO);
        }
        for _ in 0..2000 {
            let wait = pace.take(now);
            waited += wait;
            now += wait;
        }
        assert_eq!(waited, Duration::from_secs(2));
        // What a pause earns is a burst, however long it was.
        now += Duration::from_secs(3600);
        let passed = (0..10_000).take_while(|_| pace.take(now).is_zero()).count();
        assert_eq!(passed, 5000);
    }
}
