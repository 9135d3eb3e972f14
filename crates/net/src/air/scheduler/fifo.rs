//! In the order in which packets came.

use std::collections::VecDeque;

use airlane_base::Time;

use super::{Candidate, Pick, Scheduler};

/// A note for each packet that came, whose link it is for. What an aggregate took along with an earlier
/// packet has left notes of packets that are gone: they are skipped where their link has nothing.
#[derive(Debug, Default)]
pub(super) struct Fifo {
    order: VecDeque<usize>,
}

/// Notes at most; a queue holds fewer packets.
const MOST: usize = 1 << 16;

impl Scheduler for Fifo {
    fn arrived(&mut self, _now: Time, link: usize) {
        if self.order.len() < MOST {
            self.order.push_back(link);
        }
    }

    fn pick(&mut self, _now: Time, candidates: &[Candidate]) -> Pick {
        // What failed goes again first.
        if let Some(again) = candidates.iter().find(|c| c.outstanding > 0) {
            return Pick::Link(again.link);
        }
        while let Some(link) = self.order.pop_front() {
            if candidates.iter().any(|c| c.link == link) {
                return Pick::Link(link);
            }
        }
        Pick::Link(candidates[0].link)
    }
}
