//! The server's end.

use airlane_base::Rate;

use super::{Epoch, Notice};

/// State of a client and its server (Plum, Fig. 9b).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// I: both ends follow their congestion controllers.
    Natural,
    /// II: the client's uplink is held to a rate.
    ClientConstrained,
    /// III: the server's downlink to the client is held to a rate.
    ServerConstrained,
}

impl State {
    /// Number in the paper's figure, in Roman numerals.
    pub const fn numeral(self) -> &'static str {
        match self {
            Self::Natural => "I",
            Self::ClientConstrained => "II",
            Self::ServerConstrained => "III",
        }
    }
}

/// Decision of the optimiser for a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Neither end is held.
    Natural,
    /// The uplink is held to this rate.
    Client(Rate),
    /// The downlink is held to this rate.
    Server(Rate),
}

/// State of one client, at the server, where all transitions begin.
///
/// The server itself is Constrained only after the client has acknowledged that it is Natural. From
/// II to III the way therefore leads through I, which lasts a round trip.
#[derive(Clone, Debug, Default)]
pub struct ServerControl {
    notice: Notice,
    /// The newest notice that the client is known to follow.
    acknowledged: Option<Epoch>,
    /// Rate that the downlink is to be held to.
    down: Option<Rate>,
    /// Rate from before the downlink was constrained.
    retained: Option<Rate>,
}

impl ServerControl {
    /// Follows a decision. `natural` is what the downlink's own controller allows now.
    pub fn decide(&mut self, decision: Decision, natural: Option<Rate>) {
        let (up, down) = match decision {
            Decision::Natural => (None, None),
            Decision::Client(rate) => (Some(rate), None),
            Decision::Server(rate) => (None, Some(rate)),
        };
        if self.down.is_none() && down.is_some() {
            self.retained = natural;
        }
        self.down = down;
        if self.notice.target != up {
            self.notice = Notice { epoch: self.notice.epoch.next(), target: up };
        }
    }

    /// Takes the epoch that came with something from the client. One that was never sent is ignored.
    pub fn on_acknowledged(&mut self, epoch: Epoch) {
        let is_known = !epoch.is_after(self.notice.epoch);
        if is_known && self.acknowledged.is_none_or(|before| epoch.is_after(before)) {
            self.acknowledged = Some(epoch);
        }
    }

    /// The notice in every header towards the client.
    pub fn notice(&self) -> Notice {
        self.notice
    }

    /// Rate that the downlink is held to; `None` while the server is Natural.
    pub fn target(&self) -> Option<Rate> {
        self.down.filter(|_| self.is_client_natural())
    }

    /// Rate from before the downlink was constrained, to go on with: once, when it is Natural again.
    pub fn take_retained(&mut self) -> Option<Rate> {
        if self.down.is_some() {
            return None;
        }
        self.retained.take()
    }

    /// State as far as the server knows: II from when it is decided, III from when the server is held.
    pub fn state(&self) -> State {
        if self.notice.target.is_some() {
            State::ClientConstrained
        } else if self.target().is_some() {
            State::ServerConstrained
        } else {
            State::Natural
        }
    }

    /// True if the client is known to follow the newest notice, and that is Natural. A client that was never
    /// constrained needs none.
    fn is_client_natural(&self) -> bool {
        let is_first = self.notice == Notice::default();
        self.notice.target.is_none() && (is_first || self.acknowledged == Some(self.notice.epoch))
    }
}
