//! LIA: NewReno on each of several paths, whose growth is coupled (RFC 6356).

use std::sync::Arc;

use airlane_base::{Rate, Time};

use crate::controller::{Ack, Controller, Loss, Marked, Sent};
use crate::group::{Group, Membership};
use crate::reno::Reno;

/// One path's controller.
///
/// Alone it is NewReno. Slow start, recovery and the cut at an event are NewReno's in any case: RFC
/// 6356 couples growth in congestion avoidance only. Alpha is taken anew with every acknowledged
/// packet, from the windows as they are then.
#[derive(Clone, Debug)]
pub struct Coupled {
    reno: Reno,
    /// A copy, which a migrating connection makes, is the same member.
    place: Arc<Membership>,
}

impl Coupled {
    /// A controller in slow start, in a group of its own, for packets of `mtu` bytes of UDP payload.
    pub fn new(mtu: u64) -> Self {
        Self { reno: Reno::new(mtu), place: Arc::new(Group::new().join()) }
    }
}

impl Controller for Coupled {
    fn on_sent(&mut self, sent: &Sent) {
        self.reno.on_sent(sent);
    }

    fn on_ack(&mut self, ack: &Ack) {
        let share = self.place.share(self.reno.real_window(), ack.rtt.smoothed);
        self.reno.grow(ack, share);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.reno.on_loss(loss);
    }

    fn on_marked(&mut self, marked: &Marked) {
        self.reno.on_marked(marked);
    }

    fn on_persistent_congestion(&mut self, now: Time) {
        self.reno.on_persistent_congestion(now);
    }

    fn on_spurious_loss(&mut self, now: Time) {
        self.reno.on_spurious_loss(now);
    }

    fn on_mtu(&mut self, now: Time, bytes: u64) {
        self.reno.on_mtu(now, bytes);
    }

    fn couple(&mut self, group: &Group) -> bool {
        if self.place.group() != group {
            self.place = Arc::new(group.join());
        }
        true
    }

    fn group(&self) -> Option<&Group> {
        Some(self.place.group())
    }

    fn window(&self) -> u64 {
        self.reno.window()
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.reno.pacing_rate()
    }

    fn ssthresh(&self) -> Option<u64> {
        self.reno.ssthresh()
    }

    fn name(&self) -> &'static str {
        "coupled"
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_leave_when_dropped_and_copies_are_the_same_member() {
        let group = Group::new();
        let mut first = Coupled::new(1350);
        assert!(first.couple(&group) && first.couple(&group));
        let second = {
            let mut second = Coupled::new(1350);
            second.couple(&group);
            second.clone()
        };
        assert_eq!(group.len(), 2);
        drop(second);
        assert_eq!(group.len(), 1);
        first.couple(&Group::new());
        assert_eq!(group.len(), 0);
    }
}
