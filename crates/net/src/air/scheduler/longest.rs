//! Whoever has most bytes waiting.

use airlane_base::Time;

use super::{Candidate, Pick, Scheduler};

#[derive(Debug)]
pub(super) struct LongestQueue;

impl Scheduler for LongestQueue {
    fn pick(&mut self, _now: Time, candidates: &[Candidate]) -> Pick {
        let waiting = |c: &Candidate| c.backlog.bytes + c.outstanding;
        // Of several that are as long the first.
        let longest = candidates.iter().rev().max_by_key(|c| waiting(c));
        Pick::Link(longest.map_or(0, |c| c.link))
    }
}
