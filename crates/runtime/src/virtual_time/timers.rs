//! Timers in virtual time: a heap with lazy invalidation.
//!
//! A transport moves its loss timer with every acknowledgement, nearly always to a later time.
//! So a timer keeps the earliest heap entry it has and looks at its deadline again when that
//! entry comes up, instead of pushing an entry per reset.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::task::Waker;

use airlane_base::Time;

/// A timer's place in the table.
pub(super) type TimerId = usize;

#[derive(Default)]
struct Slot {
    deadline: Option<Time>,
    /// The heap entry that stands for this timer, if any.
    armed: Option<(Time, u64)>,
    waker: Option<Waker>,
}

/// All timers of a world.
#[derive(Default)]
pub(super) struct Timers {
    slots: Vec<Slot>,
    free: Vec<TimerId>,
    heap: BinaryHeap<Reverse<(Time, u64, TimerId)>>,
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
        self.free.push(id);
    }

    /// Sets the deadline. The heap is touched only if the timer has to come up earlier.
    pub(super) fn set(&mut self, id: TimerId, deadline: Time) {
        self.slots[id].deadline = Some(deadline);
        if self.slots[id].armed.is_none_or(|(at, _)| deadline < at) {
            self.arm(id, deadline);
        }
    }

    /// Whether the deadline has passed; if not, remembers whom to wake.
    pub(super) fn poll(&mut self, id: TimerId, now: Time, waker: &Waker) -> bool {
        let slot = &mut self.slots[id];
        if slot.deadline.is_none_or(|at| at <= now) {
            return true;
        }
        match &mut slot.waker {
            Some(w) => w.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
        false
    }

    /// When the next entry comes up, stale ones included.
    pub(super) fn next(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((at, _, _))| *at)
    }

    /// Takes the next waker that is due, in the order of (time, sequence).
    pub(super) fn fire(&mut self, now: Time) -> Option<Waker> {
        while let Some(&Reverse((at, sequence, id))) = self.heap.peek() {
            if at > now {
                return None;
            }
            self.heap.pop();
            let slot = &mut self.slots[id];
            if slot.armed != Some((at, sequence)) {
                continue;
            }
            slot.armed = None;
            match slot.deadline {
                Some(deadline) if deadline > now => self.arm(id, deadline),
                Some(_) => {
                    if let Some(waker) = slot.waker.take() {
                        return Some(waker);
                    }
                }
                None => {}
            }
        }
        None
    }

    fn arm(&mut self, id: TimerId, at: Time) {
        self.slots[id].armed = Some((at, self.sequence));
        self.heap.push(Reverse((at, self.sequence, id)));
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
        assert!(!t.poll(id, at(0), waker));
        t.set(id, at(30));
        assert!(t.fire(at(10)).is_none());
        assert_eq!(t.next(), Some(at(30)));
        assert!(t.fire(at(30)).is_some());
        assert!(t.poll(id, at(30), waker));
        assert!(t.fire(at(99)).is_none());
    }

    #[test]
    fn a_timer_moved_earlier_fires_at_the_earlier_time_only() {
        let mut t = Timers::default();
        let at = Time::from_millis;
        let id = t.insert(at(30));
        assert!(!t.poll(id, at(0), Waker::noop()));
        t.set(id, at(10));
        assert!(t.fire(at(10)).is_some());
        assert!(!t.poll(id, at(5), Waker::noop()), "the deadline counts, not the firing");
        assert!(t.fire(at(30)).is_none(), "the old entry is stale");
    }

    #[test]
    fn a_removed_timer_never_fires_even_if_its_place_is_taken_again() {
        let mut t = Timers::default();
        let at = Time::from_millis;
        let a = t.insert(at(10));
        assert!(!t.poll(a, at(0), Waker::noop()));
        t.remove(a);
        let b = t.insert(at(20));
        assert_eq!(a, b);
        assert!(!t.poll(b, at(0), Waker::noop()));
        assert!(t.fire(at(10)).is_none());
        assert!(t.fire(at(20)).is_some());
    }
}
