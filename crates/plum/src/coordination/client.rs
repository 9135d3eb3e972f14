//! The client's end.

use std::time::Duration;

use airlane_base::{Rate, Time};

use super::{Epoch, Notice};

/// Silence of the server after which a client leaves the Constrained state.
pub const DEFAULT_NOTICE_TIMEOUT: Duration = Duration::from_secs(3);

/// State of a client's uplink: Natural, or Constrained to what the server last said.
///
/// A client is Natural at first, and again when no notice came for the notice timeout: a server that is gone
/// holds nobody.
#[derive(Clone, Debug)]
pub struct ClientControl {
    notice_timeout: Duration,
    /// The newest notice, and when one was last received.
    newest: Option<(Notice, Time)>,
    /// Rate from before the uplink was constrained.
    retained: Option<Rate>,
}

impl Default for ClientControl {
    fn default() -> Self {
        Self::new(DEFAULT_NOTICE_TIMEOUT)
    }
}

impl ClientControl {
    /// A client that has heard nothing yet.
    pub fn new(notice_timeout: Duration) -> Self {
        Self { notice_timeout, newest: None, retained: None }
    }

    /// Takes a notice that arrived at `now`, when the uplink's own controller allows `natural`. An older notice
    /// than the newest is ignored, but shows that the server is there.
    pub fn on_notice(&mut self, now: Time, notice: Notice, natural: Option<Rate>) {
        let was_constrained = self.target(now).is_some();
        match &mut self.newest {
            Some((newest, heard)) if !notice.epoch.is_after(newest.epoch) => *heard = now,
            newest => *newest = Some((notice, now)),
        }
        if !was_constrained && self.target(now).is_some() {
            self.retained = natural;
        }
    }

    /// Rate that the uplink is held to; `None` in the Natural state.
    pub fn target(&self, now: Time) -> Option<Rate> {
        let (notice, heard) = self.newest?;
        notice.target.filter(|_| now.since(heard) < self.notice_timeout)
    }

    /// Number of the notice that the client follows, for the server; `None` before the first. A notice that has
    /// timed out is followed no more, but acknowledged all the same: its client is in no state that a newer one
    /// would not leave.
    pub fn epoch(&self) -> Option<Epoch> {
        self.newest.map(|(notice, _)| notice.epoch)
    }

    /// Rate from before the uplink was constrained, to go on with: once, when it is Natural again.
    pub fn take_retained(&mut self, now: Time) -> Option<Rate> {
        if self.target(now).is_some() {
            return None;
        }
        self.retained.take()
    }
}
