//! Whoever fills an aggregate goes first. Others are held back for a while, so that they may fill one, and then
//! go once nobody does.

use std::collections::BTreeMap;
use std::time::Duration;

use airlane_base::Time;

use super::super::ids::LinkId;
use super::{Candidate, Pick, Scheduler, following};

#[derive(Debug)]
pub(super) struct FullAggregate {
    hold: Duration,
    last: Option<LinkId>,
    /// Since when a link has had something to send, and has not been served.
    since: BTreeMap<LinkId, Time>,
}

impl FullAggregate {
    pub(super) fn new(hold: Duration) -> Self {
        Self { hold, last: None, since: BTreeMap::new() }
    }
}

impl Scheduler for FullAggregate {
    fn arrived(&mut self, now: Time, link: LinkId) {
        self.since.entry(link).or_insert(now);
    }

    fn pick(&mut self, now: Time, candidates: &[Candidate]) -> Pick {
        // What is left of a link that was served waits anew.
        for candidate in candidates {
            self.since.entry(candidate.link).or_insert(now);
        }
        let due = |c: &Candidate| self.since[&c.link] + self.hold;
        let full: Vec<Candidate> = candidates.iter().filter(|c| c.is_full()).copied().collect();
        let over: Vec<Candidate> =
            candidates.iter().filter(|c| due(c) <= now || c.outstanding > 0).copied().collect();
        let link = match (full.as_slice(), over.as_slice()) {
            ([], []) => {
                let soonest = candidates.iter().map(due).min();
                return Pick::Wait(soonest.unwrap_or(now));
            }
            ([], over) => following(self.last, over),
            (full, _) => following(self.last, full),
        };
        self.last = Some(link);
        self.since.remove(&link);
        Pick::Link(link)
    }
}
