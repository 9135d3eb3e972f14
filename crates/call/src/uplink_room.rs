//! Back-pressure of a participant's access: frames wait in the participant's own queue, which can drop them.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use airlane_quic::Connection;
use airlane_runtime::{RuntimeExt, RuntimeHandle};

/// Interval at which a connection is asked whether it has sent what it was given.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Function that is ready while an access has room for more packets, and else wakes the task once it has.
type PollRoom = dyn Fn(&mut Context<'_>) -> Poll<()> + Send + Sync;

/// Room of a participant's access for packets of its uplink. One task waits for it at a time.
#[derive(Clone)]
pub struct UplinkRoom(Arc<PollRoom>);

impl fmt::Debug for UplinkRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UplinkRoom")
    }
}

impl UplinkRoom {
    /// The room that `poll` tells of: it is ready while there is some, and else wakes the task once there is.
    pub fn new(poll: impl Fn(&mut Context<'_>) -> Poll<()> + Send + Sync + 'static) -> Self {
        Self(Arc::new(poll))
    }

    /// Waits until the access has room, and the connection has sent all that it was given: what lies in it could no
    /// longer be dropped.
    pub(crate) async fn wait(&self, connection: &Connection, clock: &RuntimeHandle) {
        loop {
            poll_fn(|cx| (self.0)(cx)).await;
            if !connection.control().stats().has_data {
                return;
            }
            clock.sleep(POLL_INTERVAL).await;
        }
    }

    /// Waits until a connection has had the time to send a frame that it was given, as far as it may.
    pub(crate) async fn settle(clock: &RuntimeHandle) {
        clock.sleep(POLL_INTERVAL).await;
    }
}
