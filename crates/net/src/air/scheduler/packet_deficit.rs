//! The same number of bytes for each station.

use std::time::Duration;

use airlane_base::Time;

use super::super::ids::LinkId;
use super::{Candidate, Deficit, Pick, Scheduler};

/// Bytes that a station is given in a round: about a packet.
const QUANTUM: i64 = 1_500;

#[derive(Debug, Default)]
pub(super) struct PacketDeficit(Deficit);

impl Scheduler for PacketDeficit {
    fn pick(&mut self, _now: Time, candidates: &[Candidate]) -> Pick {
        Pick::Link(self.0.pick(QUANTUM, candidates))
    }

    fn served(&mut self, link: LinkId, _charge: Duration, bytes: u64) {
        self.0.use_up(link, bytes as i64);
    }
}
