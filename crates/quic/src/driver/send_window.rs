//! Send window of a connection, bytes that may wait or be in flight: it follows the congestion window.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use airlane_base::Rate;

use crate::config::FlowControl;
use crate::control::Shared;

/// Bytes that the connections of an endpoint share for send windows that grow.
const SHARED_BYTES: u64 = 64 << 20;
/// The rate up to which such a window is never what limits a connection, however many there are.
const FASTEST: Rate = Rate::from_bps(2_000_000_000);
/// Time beyond a round trip that acknowledgements may take on a busy machine.
const SLACK: Duration = Duration::from_micros(250);

/// Bounds of a connection's send window, with the number of connections that share what there is.
pub(super) struct SendWindow {
    least: u64,
    most: u64,
    unsent: Option<u64>,
    siblings: Sibling,
}

impl SendWindow {
    /// Bounds of the send window that `flow` sets, for one more of `all` connections of an
    /// endpoint.
    pub(super) fn new(flow: &FlowControl, all: &Arc<AtomicU64>) -> Self {
        Self {
            least: flow.min_send_window_bytes,
            most: flow.send_window_bytes,
            unsent: flow.unsent_bytes,
            siblings: Sibling::new(all),
        }
    }

    /// The window that a connection begins with, bytes.
    pub(super) fn first(&self) -> u64 {
        self.least.min(self.most)
    }

    /// The window that is to take the place of `present`, bytes; `None` if it may stay. More where
    /// the congestion window has grown, and less where it has shrunk. On a path without losses it
    /// grows far beyond what the path holds, and the room that is kept for what is known of every
    /// packet in flight stays allocated as long as the connection lives: where there are many
    /// connections none gets more than its share, unless its path holds more.
    pub(super) fn adapted(&self, present: u64, control: &Shared) -> Option<u64> {
        if let Some(unsent) = self.unsent {
            let wanted = control.window() + unsent;
            // Never less than the congestion window holds, and seldom more than is asked for.
            return (wanted > present || wanted < present - present / 8).then_some(wanted);
        }
        if self.least >= self.most {
            return None;
        }
        let share = SHARED_BYTES / self.siblings.count();
        let path = control.min_rtt().map_or(self.most, |rtt| FASTEST.bytes_in(rtt + SLACK));
        let wanted = (2 * control.window()).min(share.max(path)).clamp(self.least, self.most);
        // Not for every packet: an eighth more or less changes nothing.
        (wanted.abs_diff(present) > present / 8).then_some(wanted)
    }
}

/// One of the connections of an endpoint, all of which share the number of them.
struct Sibling(Arc<AtomicU64>);

impl Sibling {
    fn new(all: &Arc<AtomicU64>) -> Self {
        all.fetch_add(1, Ordering::Relaxed);
        Self(all.clone())
    }

    /// Number of connections of the endpoint, this one included.
    fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed).max(1)
    }
}

impl Drop for Sibling {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
