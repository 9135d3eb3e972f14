//! Messages that were dropped on purpose.

use airlane_base::Time;
use airlane_octopus::Dropped;

use crate::sender::{DroppedHere, Fragment};

/// Messages that were dropped on purpose.
#[derive(Debug, Default)]
pub(crate) struct Drops {
    /// When a packet was last, here or on the way.
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
