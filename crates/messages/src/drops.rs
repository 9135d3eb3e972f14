//! Messages that were dropped on purpose.

use airlane_base::Time;
use airlane_octopus::{Dropped, Header, Reason};

use crate::fragment::Fragment;

/// Message that did not leave, by the header of its first fragment, and why.
pub(crate) type DroppedHere = (Header, Reason);

/// Messages that were dropped on purpose.
#[derive(Debug, Default)]
pub(crate) struct Drops {
    /// Time at which a packet was last dropped on purpose, here or on the way.
    pub(crate) last: Option<Time>,
    /// The message of which was told last.
    told: Option<(u16, u32)>,
}

impl Drops {
    /// Tells of a message that is dropped here once, at the first of its fragments: those of one are
    /// dropped one after the other.
    pub(crate) fn here(
        &mut self,
        now: Time,
        gone: Dropped<Fragment>,
        tell: &mut impl FnMut(DroppedHere),
    ) {
        self.last = Some(now);
        let header = gone.packet.header;
        let message = Some((header.stream, header.message));
        if self.told != message {
            self.told = message;
            tell((header, gone.reason));
        }
    }
}
