//! Which station an access point serves next, a file per way.

mod airtime;
mod fifo;
mod full_aggregate;
mod longest;
mod max_rate;
mod packet_deficit;
mod round_robin;

use std::time::Duration;

use airlane_base::{Rate, Time};

use super::config::SchedulerKind;
use super::ids::LinkId;
use super::link::Backlog;

/// A link that has something to send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// Its number.
    pub(super) link: LinkId,
    /// Packets that have no number yet.
    pub(super) backlog: Backlog,
    /// Bytes of frames that are to be sent again.
    pub(super) outstanding: u64,
    /// The rate of its data.
    pub(super) rate: Rate,
    /// Airtime that an exchange is charged with beside its data.
    pub(super) around: Duration,
    /// Bytes of a PPDU that is as long as may be at this rate.
    pub(super) full: u64,
    /// Packets of a full aggregate.
    pub(super) packets: usize,
}

impl Candidate {
    /// True if it fills an aggregate.
    fn is_full(&self) -> bool {
        self.backlog.packets >= self.packets || self.backlog.bytes + self.outstanding >= self.full
    }

    /// The rate that it would be served at, what surrounds the data counted: the more is waiting, the
    /// higher, up to a whole aggregate.
    fn expected(&self) -> Rate {
        let packets = self.backlog.packets.max(1) as u64;
        let one = self.backlog.bytes.div_ceil(packets);
        let waiting = self.outstanding + one * packets.min(self.packets as u64);
        let bytes = waiting.min(self.full);
        Rate::of(bytes, self.around + self.rate.time_for(bytes))
    }
}

/// Decision of a scheduler: the link to serve next, or a time to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pick {
    /// A link.
    Link(LinkId),
    /// None before this time.
    Wait(Time),
}

/// Chooses between the stations of an access point.
pub(super) trait Scheduler: Send {
    /// A packet came for a link.
    fn arrived(&mut self, now: Time, link: LinkId) {
        let _ = (now, link);
    }
    /// Chooses whom to serve next, of those that have something to send: one at least.
    fn pick(&mut self, now: Time, candidates: &[Candidate]) -> Pick;
    /// A link was served: what it is charged with, and the bytes of the frames.
    fn served(&mut self, link: LinkId, charge: Duration, bytes: u64) {
        let _ = (link, charge, bytes);
    }
    /// The station of a link has sent.
    fn heard(&mut self, link: LinkId, charge: Duration) {
        let _ = (link, charge);
    }
}

impl SchedulerKind {
    pub(super) fn build(self) -> Box<dyn Scheduler> {
        match self {
            Self::RoundRobin => Box::<round_robin::RoundRobin>::default(),
            Self::PacketDeficit => Box::<packet_deficit::PacketDeficit>::default(),
            Self::AirtimeDeficit { both } => Box::new(airtime::AirtimeDeficit::new(both)),
            Self::Fifo => Box::<fifo::Fifo>::default(),
            Self::LongestQueue => Box::<longest::LongestQueue>::default(),
            Self::FullAggregate { hold } => Box::new(full_aggregate::FullAggregate::new(hold)),
            Self::MaximumRate => Box::<max_rate::MaximumRate>::default(),
        }
    }
}

/// The link that follows another in a circle.
fn following(last: Option<LinkId>, candidates: &[Candidate]) -> LinkId {
    let after = |c: &&Candidate| last.is_some_and(|last| c.link > last);
    candidates.iter().find(after).unwrap_or(&candidates[0]).link
}

/// Deficit round robin (Shreedhar and Varghese, SIGCOMM 1995) in whatever is counted. A link that has
/// used up its quantum waits until all others that have something to send have.
#[derive(Debug, Default)]
struct Deficit {
    /// Deficit counter of each link: what it may still use.
    left: std::collections::BTreeMap<LinkId, i64>,
    last: Option<LinkId>,
}

impl Deficit {
    fn pick(&mut self, quantum: i64, candidates: &[Candidate]) -> LinkId {
        // Who has nothing to send saves nothing up.
        self.left.retain(|link, left| *left <= 0 || candidates.iter().any(|c| c.link == *link));
        if let Some(last) = self.last
            && candidates.iter().any(|c| c.link == last)
            && self.left.get(&last).is_some_and(|left| *left > 0)
        {
            return last;
        }
        loop {
            let link = following(self.last, candidates);
            self.last = Some(link);
            let left = self.left.entry(link).or_default();
            *left += quantum;
            if *left > 0 {
                return link;
            }
        }
    }

    fn use_up(&mut self, link: LinkId, amount: i64) {
        *self.left.entry(link).or_default() -= amount;
    }
}

#[cfg(test)]
mod tests;
