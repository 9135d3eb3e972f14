//! The sessions without a share in the order in which they fell silent: the first ones make room for
//! others.

use std::collections::BTreeSet;

use airlane_base::Time;

use super::Session;

/// The numbers of the sessions without a share, by the time of their last activity. A client that makes
/// up session ids has one forgotten with every request, so that finding it must not take a look at all.
#[derive(Debug, Default)]
pub(super) struct Silent(BTreeSet<(Time, u64)>);

impl Silent {
    /// A session began, was used, or got or lost a share.
    pub(super) fn update(&mut self, session: &mut Session) {
        let listed = session.shares.is_empty().then_some(session.last_activity);
        if listed != session.listed {
            self.remove(session);
            self.0.extend(listed.map(|since| (since, session.number)));
            session.listed = listed;
        }
    }

    /// A session is forgotten.
    pub(super) fn remove(&mut self, session: &Session) {
        if let Some(since) = session.listed {
            self.0.remove(&(since, session.number));
        }
    }

    /// The number of the one that is silent for longest.
    pub(super) fn longest(&self) -> Option<u64> {
        self.0.first().map(|(_, number)| *number)
    }

    /// The last activity and number of each.
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = (Time, u64)> {
        self.0.iter().copied()
    }
}
