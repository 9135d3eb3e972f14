//! The priorities of the requests on a connection, from their heads and from PRIORITY_UPDATE.

use std::collections::BTreeMap;

use crate::config::MAX_STREAMS;
use crate::priority::Priority;

/// Priorities that are kept of requests that have not come yet: as many as there may be at a time.
const MAX_EARLY: usize = MAX_STREAMS as usize;

/// The priorities that a client gave its requests, by the numbers of their streams.
#[derive(Debug, Default)]
pub(super) struct Priorities {
    /// Told before the request came.
    early: BTreeMap<u64, Priority>,
    /// Of requests that are being answered.
    open: BTreeMap<u64, Priority>,
    /// Requests up to this number came; those that are not open are over.
    newest: Option<u64>,
}

impl Priorities {
    /// A PRIORITY_UPDATE came. Whether it is for a request that is being answered.
    pub(super) fn on_update(&mut self, request: u64, priority: Priority) -> bool {
        if let Some(open) = self.open.get_mut(&request) {
            *open = priority;
            return true;
        }
        if self.newest.is_some_and(|newest| request <= newest) {
            return false;
        }
        if self.early.len() >= MAX_EARLY {
            // Of requests that never came to be, if any.
            self.early.retain(|early, _| self.newest.is_none_or(|newest| *early > newest));
        }
        if self.early.len() < MAX_EARLY || self.early.contains_key(&request) {
            self.early.insert(request, priority);
        }
        false
    }

    /// A request came, with this priority in its head. The one that counts: that of an update, if
    /// there was one (RFC 9218, section 7).
    pub(super) fn on_request(&mut self, request: u64, in_head: Priority) -> Priority {
        self.newest = self.newest.max(Some(request));
        let priority = self.early.remove(&request).unwrap_or(in_head);
        self.open.insert(request, priority);
        priority
    }

    /// The priority of a request that is being answered.
    pub(super) fn of(&self, request: u64) -> Priority {
        self.open.get(&request).copied().unwrap_or_default()
    }

    /// A request was answered.
    pub(super) fn on_end(&mut self, request: u64) {
        self.open.remove(&request);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn urgent(urgency: u8) -> Priority {
        Priority { urgency, incremental: false }
    }

    #[test]
    fn updates_count_before_and_after_the_head_and_not_after_the_end() {
        let mut all = Priorities::default();
        assert!(!all.on_update(0, urgent(1)));
        assert_eq!(all.on_request(0, urgent(5)), urgent(1));
        assert!(all.on_update(0, urgent(2)));
        assert_eq!(all.of(0), urgent(2));
        all.on_end(0);
        assert!(!all.on_update(0, urgent(4)));
        assert_eq!(all.on_request(4, urgent(5)), urgent(5));
    }

    #[test]
    fn what_is_kept_for_later_is_bounded() {
        let mut all = Priorities::default();
        for n in 0..100_000 {
            all.on_update(4 * n, urgent(1));
        }
        assert_eq!(all.early.len(), MAX_EARLY);
        // What is kept can still be changed.
        all.on_update(0, urgent(2));
        assert_eq!(all.on_request(0, urgent(5)), urgent(2));
    }
}
