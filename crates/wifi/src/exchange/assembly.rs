//! The frame exchanges that are open, and what goes on with which.

use airlane_base::Time;

use super::part::{Part, PartKind};
use super::{FrameExchange, Role};

/// The number of exchanges that are kept open beside the latest: more collide seldom.
const MAX_ASIDE: usize = 4;

/// The rule by which transmissions are put together to frame exchanges.
pub trait Association {
    /// Role of a transmission in an open exchange; `None` if it is of another exchange.
    fn role(&self, exchange: &FrameExchange, part: &Part<'_>) -> Option<Role>;

    /// True if an exchange stays open although a transmission of another one began at `at`.
    fn stays_open(&self, exchange: &FrameExchange, at: Time) -> bool;
}

/// The place of a transmission among frame exchanges, and the exchanges that it shows to be over.
#[derive(Clone, Debug)]
pub struct Placement {
    /// Role in an open exchange; `None` if it begins another.
    pub role: Option<Role>,
    /// Exchanges that were open beside the latest and are over.
    pub over: Vec<FrameExchange>,
    /// The exchange that was the latest, if it is over: the last to be looked at.
    pub before: Option<FrameExchange>,
}

/// Puts transmissions together to frame exchanges.
#[derive(Clone, Debug, Default)]
pub struct Exchanges<A> {
    association: A,
    latest: Option<FrameExchange>,
    /// Exchanges at the same time as the latest, or so soon before it that they may still be answered: only
    /// a receiver that hears both of a collision has such.
    aside: Vec<FrameExchange>,
}

impl<A: Association> Exchanges<A> {
    /// A state without an open exchange.
    pub const fn new(association: A) -> Self {
        Self { association, latest: None, aside: Vec::new() }
    }

    /// The exchange that began last, if it is open.
    pub const fn latest(&self) -> Option<&FrameExchange> {
        self.latest.as_ref()
    }

    /// Takes a transmission: into an open exchange, or as the beginning of another.
    pub fn push(&mut self, part: &Part<'_>) -> Placement {
        let Self { association, latest, aside } = self;
        let (mut over, mut before) = (Vec::new(), None);
        // Of what has no address only its time says where it belongs.
        let named = aside.iter_mut().filter(|_| !matches!(part.kind, PartKind::Unread));
        for exchange in latest.iter_mut().chain(named) {
            if let Some(role) = association.role(exchange, part) {
                exchange.add(part, role);
                return Placement { role: Some(role), over, before };
            }
        }
        while let Some(at) = aside.iter().position(|e| !association.stays_open(e, part.begin)) {
            over.push(aside.swap_remove(at));
        }
        if let Some(last) = latest.replace(FrameExchange::new(part)) {
            match aside.len() < MAX_ASIDE && association.stays_open(&last, part.begin) {
                true => aside.push(last),
                false => before = Some(last),
            }
        }
        Placement { role: None, over, before }
    }

    /// Takes what is open out: first the exchanges beside the latest.
    pub fn finish(&mut self) -> impl Iterator<Item = FrameExchange> {
        std::mem::take(&mut self.aside).into_iter().chain(self.latest.take())
    }
}
