//! Whoever would be served fastest; of several that would be as fast, one after the other.

use airlane_base::Time;

use super::super::ids::LinkId;
use super::{Candidate, Pick, Scheduler, following};

/// Rates from this part of the highest on are as fast.
const EQUAL: f64 = 0.99;

#[derive(Debug, Default)]
pub(super) struct MaximumRate {
    last: Option<LinkId>,
}

impl Scheduler for MaximumRate {
    fn pick(&mut self, _now: Time, candidates: &[Candidate]) -> Pick {
        let rate = |c: &Candidate| c.expected().as_f64();
        let most = candidates.iter().map(rate).fold(0.0, f64::max);
        // Packets are not all of one length: what that makes is not worth a difference.
        let fastest: Vec<Candidate> =
            candidates.iter().filter(|c| rate(c) >= EQUAL * most).copied().collect();
        let link = following(self.last, &fastest);
        self.last = Some(link);
        Pick::Link(link)
    }
}
