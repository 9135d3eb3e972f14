//! In the order in which packets came.

use std::collections::{BTreeMap, VecDeque};

use airlane_base::Time;

use super::super::ids::LinkId;
use super::{Candidate, Pick, Scheduler};

/// Scheduler that serves the link whose oldest packet came first. Each packet that comes is noted;
/// what an aggregate has taken along since is no longer in the link's backlog, and its notes go.
#[derive(Debug, Default)]
pub(super) struct Fifo {
    arrivals: u64,
    links: BTreeMap<LinkId, Notes>,
}

/// Arrivals of the packets of a link.
#[derive(Debug, Default)]
struct Notes {
    /// Arrivals of the packets that wait, as numbers in the order of all arrivals.
    waiting: VecDeque<u64>,
    /// Arrival of the packet that was taken last.
    taken: u64,
}

/// Notes of a link at most; a queue holds fewer packets.
const MAX_NOTES: usize = 1 << 16;

impl Notes {
    /// Arrival of the first packet of a candidate. What is to be sent again counts as old as the
    /// last packet that was taken.
    fn first(&mut self, candidate: &Candidate) -> u64 {
        while self.waiting.len() > candidate.backlog.packets {
            self.taken = self.waiting.pop_front().unwrap_or(self.taken);
        }
        match candidate.outstanding {
            0 => self.waiting.front().copied().unwrap_or(self.taken),
            _ => self.taken,
        }
    }
}

impl Scheduler for Fifo {
    fn arrived(&mut self, _now: Time, link: LinkId) {
        self.arrivals += 1;
        let waiting = &mut self.links.entry(link).or_default().waiting;
        if waiting.len() < MAX_NOTES {
            waiting.push_back(self.arrivals);
        }
    }

    fn pick(&mut self, _now: Time, candidates: &[Candidate]) -> Pick {
        let mut first = (u64::MAX, candidates[0].link);
        for candidate in candidates {
            let came = self.links.entry(candidate.link).or_default().first(candidate);
            first = first.min((came, candidate.link));
        }
        Pick::Link(first.1)
    }
}
