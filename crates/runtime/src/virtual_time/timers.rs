//! Timers in virtual time.
//!
//! A transport moves its loss timer with every acknowledgement, nearly always to a later time. So
//! a timer that moves later keeps its place in the schedule, and looks at its deadline again when
//! that comes up.

use std::task::{Poll, Waker};

use airlane_base::{Schedule, Time};

/// A timer's place in the table.
pub(super) type TimerId = usize;

#[derive(Default)]
struct Slot {
    deadline: Option<Time>,
    waker: Option<Waker>,
}

/// All timers of a world.
#[derive(Default)]
pub(super) struct Timers {
    slots: Vec<Slot>,
    free: Vec<TimerId>,
    schedule: Schedule,
    sequence: u64,
}

impl Timers {
    pub(super) fn insert(&mut self, deadline: Time) -> TimerId {
        let id = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() - 1
        });
        self.set(id, deadline);
        id
    }

    pub(super) fn remove(&mut self, id: TimerId) {
        self.slots[id] = Slot::default();
        self.schedule.clear(id);
        self.free.push(id);
    }

    /// Sets the deadline. The schedule is touched only if the timer has to come up earlier.
    pub(super) fn set(&mut self, id: TimerId, deadline: Time) {
        self.slots[id].deadline = Some(deadline);
        if self.schedule.of(id).is_none_or(|at| deadline < at) {
            self.arm(id, deadline);
        }
    }

    /// Ready if the deadline has passed; if not, remembers whom to wake.
    pub(super) fn poll(&mut self, id: TimerId, now: Time, waker: &Waker) -> Poll<()> {
        let slot = &mut self.slots[id];
        if slot.deadline.is_none_or(|at| at <= now) {
            return Poll::Ready(());
        }
        match &mut slot.waker {
            Some(w) => w.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
        Poll::Pending
    }

    /// Time of the next timer, though it may have moved.
    pub(super) fn next(&self) -> Option<Time> {
        self.schedule.next().map(|(at, _)| at)
    }

    /// Takes the next waker that is due, in the order of (time, sequence).
    pub(super) fn fire(&mut self, now: Time) -> Option<Waker> {
        while let Some((_, id)) = self.schedule.next().filter(|(at, _)| *at <= now) {
            let slot = &mut self.slots[id];
            if let Some(deadline) = slot.deadline.filter(|at| *at > now) {
                self.arm(id, deadline);
                continue;
            }
            let waker = slot.waker.take();
            self.schedule.clear(id);
            if waker.is_some() {
                return waker;
            }
        }
        None
    }

    fn arm(&mut self, id: TimerId, at: Time) {
        self.schedule.set(id, at, self.sequence);
        self.sequence += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_moved_later_fires_once_at_its_last_deadline() {
        let mut t = Timers::default();
        let waker = Waker::noop();
        let at = Time::from_millis;
        let id = t.insert(at(10));
        assert!(t.poll(id, at(0), waker).is_pending());
        t.set(id, at(30));
        assert!(t.fire(at(10)).is_none());
        assert_eq!(t.next(), Some(at(30)));
        assert!(t.fire(at(30)).is_some());
        assert!(t.poll(id, at(30), waker).is_ready());
        assert!(t.fire(at(99)).is_none());
    }

    #[test]
    fn a_timer_moved_earlier_fires_at_the_earlier_time_only() {
        let mut t = Timers::default();
        let at = Time::from_millis;
        let id = t.insert(at(30));
        assert!(t.poll(id, at(0), Waker::noop()).is_pending());
        t.set(id, at(10));
        assert!(t.fire(at(10)).is_some());
        assert!(
            t.poll(id, at(5), Waker::noop()).is_pending(),
            "the deadline counts, not the firing"
        );
        assert!(t.fire(at(30)).is_none(), "the old entry is stale");
    }

    #[test]
    fn a_removed_timer_never_fires_even_if_its_place_is_taken_again() {
        let mut t = Timers::default();
        let at = Time::from_millis;
        let a = t.insert(at(10));
        assert!(t.poll(a, at(0), Waker::noop()).is_pending());
        t.remove(a);
        let b = t.insert(at(20));
        assert_eq!(a, b);
        assert!(t.poll(b, at(0), Waker::noop()).is_pending());
        assert!(t.fire(at(10)).is_none());
        assert!(t.fire(at(20)).is_some());
    }
}
