//! How often a connection's peer may come from another address.
//!
//! noq takes any packet from elsewhere that the peer's keys protect for a move, and asks there for a sign
//! of life with a datagram of 1200 bytes (RFC 9000, section 8.2.1), however short the packet was: whoever
//! has a connection and forges addresses would have us send thirty times as much to others.

use std::time::{Duration, Instant};

/// Moves that are taken at once, and the time after which there is one more. A client moves once in a
/// while; what its network had under way may come from the address before.
const BURST: u32 = 8;
const EVERY: Duration = Duration::from_millis(500);

/// The moves that a peer may still make.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moves {
    left: u32,
    since: Instant,
}

impl Moves {
    /// As many as are taken at once.
    pub(super) fn new(now: Instant) -> Self {
        Self { left: BURST, since: now }
    }

    /// Whether one more is taken.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        let more = now.saturating_duration_since(self.since).as_nanos() / EVERY.as_nanos();
        let more = u32::try_from(more).unwrap_or(BURST).min(BURST);
        if self.left + more >= BURST {
            (self.left, self.since) = (BURST, now);
        } else {
            (self.left, self.since) = (self.left + more, self.since + EVERY * more);
        }
        let taken = self.left > 0;
        self.left = self.left.saturating_sub(1);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_are_taken_at_a_rate() {
        // Any base will do: only differences matter.
        let begin = crate::clock::Clock::new(Duration::ZERO).instant(airlane_base::Time::ZERO);
        let mut moves = Moves::new(begin);
        let mut within = |from: u64, to: u64| {
            let times = (from..to).step_by(10);
            times.filter(|ms| moves.take(begin + Duration::from_millis(*ms))).count()
        };
        assert_eq!(within(0, 400), 8);
        assert_eq!(within(400, 10_400), 20);
        assert_eq!(within(60_000, 60_400), 8, "after a rest");
    }
}
