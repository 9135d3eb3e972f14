//! Whoever has most packets waiting, counted in whole aggregates; of several that have as many, one after
//! the other. Queues that are full are as long as each other.

use airlane_base::Time;

use super::super::ids::LinkId;
use super::{Candidate, Pick, Scheduler, following};

#[derive(Debug, Default)]
pub(super) struct LongestQueue {
    last: Option<LinkId>,
}

impl Scheduler for LongestQueue {
    fn pick(&mut self, _now: Time, candidates: &[Candidate]) -> Pick {
        let waiting = |c: &Candidate| c.backlog.packets / c.packets.max(1);
        let most = candidates.iter().map(waiting).max();
        let longest: Vec<Candidate> =
            candidates.iter().filter(|c| Some(waiting(c)) == most).copied().collect();
        let link = following(self.last, &longest);
        self.last = Some(link);
        Pick::Link(link)
    }
}
