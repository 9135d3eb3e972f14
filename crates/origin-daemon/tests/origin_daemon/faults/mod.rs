//! What happens to servers and players when something goes wrong: each fault hits whom it hits, is
//! over after a while, and leaves nothing behind.

pub mod ask;
mod crowd;
mod disk;
mod handshakes;
mod malformed;
mod network;
mod silent;
mod slow;
mod stalled;
mod stopping;
mod unended;

use std::time::Duration;

use airlane_origin_daemon::serve::{ServerConfig, Timeouts};

/// A server on `folder` that is quickly out of timeouts.
fn impatient(folder: &std::path::Path) -> ServerConfig {
    let second = Duration::from_secs(1);
    let timeouts =
        Timeouts { handshake: 2 * second, head: second, stalled: second, idle: 2 * second };
    ServerConfig { timeouts, ..crate::common::request(folder) }
}
