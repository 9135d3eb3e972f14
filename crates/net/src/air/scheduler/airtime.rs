//! The same airtime for each station, as in Hoiland-Jorgensen et al., USENIX ATC 2017.

use std::time::Duration;

use airlane_base::Time;

use super::super::ids::LinkId;
use super::{Candidate, Deficit, Pick, Scheduler};

/// Airtime that a station is given in a round, nanoseconds: mac80211's 300 us.
const QUANTUM: i64 = 300_000;

#[derive(Debug)]
pub(super) struct AirtimeDeficit {
    deficit: Deficit,
    both: bool,
}

impl AirtimeDeficit {
    pub(super) fn new(both: bool) -> Self {
        Self { deficit: Deficit::default(), both }
    }
}

impl Scheduler for AirtimeDeficit {
    fn pick(&mut self, _now: Time, candidates: &[Candidate]) -> Pick {
        Pick::Link(self.deficit.pick(QUANTUM, candidates))
    }

    fn served(&mut self, link: LinkId, charge: Duration, _bytes: u64) {
        self.deficit.use_up(link, charge.as_nanos() as i64);
    }

    fn heard(&mut self, link: LinkId, charge: Duration) {
        if self.both {
            self.deficit.use_up(link, charge.as_nanos() as i64);
        }
    }
}
