//! Whoever would be served fastest.

use airlane_base::Time;

use super::{Candidate, Pick, Scheduler, following};

#[derive(Debug, Default)]
pub(super) struct MaximumRate {
    last: Option<usize>,
}

impl Scheduler for MaximumRate {
    fn pick(&mut self, _now: Time, candidates: &[Candidate]) -> Pick {
        let most = candidates.iter().map(|c| c.rate).max();
        let fastest: Vec<Candidate> =
            candidates.iter().filter(|c| Some(c.rate) == most).copied().collect();
        let link = following(self.last, &fastest);
        self.last = Some(link);
        Pick::Link(link)
    }
}
