//! One transmit opportunity after the other.

use airlane_base::Time;

use super::super::ids::LinkId;
use super::{Candidate, Pick, Scheduler, following};

#[derive(Debug, Default)]
pub(super) struct RoundRobin {
    last: Option<LinkId>,
}

impl Scheduler for RoundRobin {
    fn pick(&mut self, _now: Time, candidates: &[Candidate]) -> Pick {
        let link = following(self.last, candidates);
        self.last = Some(link);
        Pick::Link(link)
    }
}
