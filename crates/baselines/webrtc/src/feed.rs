//! The pace at which packets are handed to str0m.
//!
//! Its pacer lets 40 ms of its rate leave back to back, which is a whole frame. Packets that arrive
//! like that are one group to its estimator, and on a busy link so is all that comes within 100 ms
//! (as in libwebrtc), so it notices late that the link is too; meanwhile its estimate rises with
//! each packet. Handed over one by one, frames still leave at the pacer's rate at most.

use std::collections::VecDeque;

use airlane_base::{Rate, Time};

/// The slowest pace.
const MIN_PACE: Rate = Rate::from_bps(10_000);

/// Packets that wait to be handed over.
#[derive(Debug)]
pub(crate) struct Feed<T> {
    waiting: VecDeque<(u64, T)>,
    /// Time at which the next one may go.
    next: Time,
}

impl<T> Feed<T> {
    pub(crate) fn new() -> Self {
        Self { waiting: VecDeque::new(), next: Time::ZERO }
    }

    pub(crate) fn push(&mut self, bytes: u64, packet: T) {
        self.waiting.push_back((bytes, packet));
    }

    /// The next packet that is due, at `pace`; without one all are.
    pub(crate) fn pop(&mut self, now: Time, pace: Option<Rate>) -> Option<T> {
        if self.next > now {
            return None;
        }
        let (bytes, packet) = self.waiting.pop_front()?;
        self.next = match pace {
            Some(pace) => now + pace.max(MIN_PACE).time_for(bytes),
            None => now,
        };
        Some(packet)
    }

    /// Time at which the next packet is due.
    pub(crate) fn due(&self) -> Option<Time> {
        (!self.waiting.is_empty()).then_some(self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_go_at_the_pace_or_at_once() {
        let mut feed = Feed::new();
        let pace = Some(Rate::from_mbps(8.0));
        (0..4).for_each(|i| feed.push(1_000, i));
        assert_eq!(feed.pop(Time::from_millis(5), pace), Some(0));
        assert_eq!(feed.pop(Time::from_millis(5), pace), None);
        assert_eq!(feed.due(), Some(Time::from_millis(6)));
        assert_eq!(feed.pop(Time::from_millis(9), pace), Some(1));
        assert_eq!(feed.due(), Some(Time::from_millis(10)));
        assert_eq!(feed.pop(Time::from_millis(10), None), Some(2));
        assert_eq!(feed.pop(Time::from_millis(10), Some(Rate::ZERO)), Some(3));
        assert_eq!((feed.pop(Time::from_millis(10), None), feed.due()), (None, None));
    }
}
