//! When a link serves which packet, if it always has one: known beforehand from what it can carry.

use std::sync::Arc;
use std::time::Duration;

use airlane_base::Time;

use super::opportunities::{OPPORTUNITY_BYTES, Opportunities, OpportunityCursor};
use super::profile::ProfileCursor;
use super::{RateProfile, Supply};

/// Times at which the service of each of endless packets of one size begins: to the nanosecond as
/// the link with that supply has it, while its queue is never empty. It ends with the capacity.
#[derive(Clone, Debug)]
pub struct Services {
    link: Link,
    bytes: u32,
    next: Time,
}

#[derive(Clone, Debug)]
enum Link {
    Rate(ProfileCursor),
    /// Bytes left of the opportunity at `next`.
    Trace(Arc<Opportunities>, OpportunityCursor, u32),
}

impl Services {
    /// Of packets of so many IP bytes that wait from `from` on, in a world that starts at `offset` of
    /// the supply.
    pub(super) fn new(supply: &Supply, offset: Duration, from: Time, bytes: u32) -> Self {
        let link = match supply {
            Supply::Constant(rate) => Link::Rate(ProfileCursor::new(
                Arc::new(RateProfile::constant(*rate)),
                Duration::ZERO,
            )),
            Supply::Profile(profile) => Link::Rate(ProfileCursor::new(Arc::clone(profile), offset)),
            Supply::Opportunities(trace) => {
                let mut cursor = OpportunityCursor::new(trace, offset);
                cursor.skip_before(trace, from);
                Link::Trace(Arc::clone(trace), cursor, 0)
            }
        };
        Self { link, bytes: bytes.max(1), next: from }
    }
}

impl Iterator for Services {
    type Item = Time;

    fn next(&mut self) -> Option<Time> {
        match &mut self.link {
            Link::Rate(capacity) => {
                let begins = self.next;
                if begins >= Time::FAR_FUTURE {
                    return None;
                }
                self.next = capacity.serve(begins, self.bytes);
                Some(begins)
            }
            Link::Trace(trace, cursor, left) => {
                let mut begins = None;
                let mut to_go = self.bytes;
                while to_go > 0 {
                    if *left == 0 {
                        (self.next, *left) = (cursor.time(trace), OPPORTUNITY_BYTES);
                        cursor.advance(trace);
                    }
                    begins.get_or_insert(self.next);
                    let used = to_go.min(*left);
                    (to_go, *left) = (to_go - used, *left - used);
                }
                begins
            }
        }
    }
}
