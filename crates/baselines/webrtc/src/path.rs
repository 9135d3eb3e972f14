//! Whether the path to the receiver still works, as far as a sender can tell.

use std::time::Duration;

use airlane_base::Time;
use str0m::stats::PeerStats;

/// A path from which nothing came back for so long is taken for broken (libwebrtc,
/// `CONNECTION_WRITE_CONNECT_TIMEOUT`). It would be wrong to go on: after 32 768 lost packets in a
/// row the receiver can no longer tell which number of 16 bits is which packet.
const SILENCE: Duration = Duration::from_secs(5);

/// State of the path, by what came back. Reports and checks of the receiver's own do not count:
/// they say that the way back works.
#[derive(Debug)]
pub(crate) struct Path {
    heard: Time,
    /// The round trip of the packet that was reported last.
    rtt: Option<Duration>,
    /// Answers to our checks.
    answers: u64,
}

impl Path {
    pub(crate) fn new(now: Time) -> Self {
        Self { heard: now, rtt: None, answers: 0 }
    }

    /// Takes what str0m knows at `now`.
    pub(crate) fn update(&mut self, now: Time, peer: &PeerStats) {
        let answers = peer.selected_candidate_pair.as_ref().map_or(0, |p| p.responses_received);
        self.note(now, peer.rtt, answers);
    }

    fn note(&mut self, now: Time, rtt: Option<Duration>, answers: u64) {
        // Once its packets are too old, str0m forgets the round trip; that is no sign of life.
        if (rtt.is_some() && rtt != self.rtt) || answers > self.answers {
            self.heard = now;
        }
        self.rtt = rtt;
        self.answers = answers;
    }

    /// True if it is taken for broken at `now`.
    pub(crate) fn broken(&self, now: Time) -> bool {
        now >= self.heard + SILENCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_comes_back_is_a_sign_of_life() {
        let mut path = Path::new(Time::ZERO);
        let rtt = |ms| Some(Duration::from_millis(ms));
        path.note(Time::from_millis(1_000), rtt(60), 0);
        path.note(Time::from_millis(2_000), rtt(60), 0);
        assert!(!path.broken(Time::from_millis(5_999)));
        assert!(path.broken(Time::from_millis(6_000)));
        path.note(Time::from_millis(7_000), None, 0);
        assert!(path.broken(Time::from_millis(7_000)));
        path.note(Time::from_millis(8_000), None, 1);
        assert!(!path.broken(Time::from_millis(8_000)));
        path.note(Time::from_millis(14_000), rtt(61), 1);
        assert!(!path.broken(Time::from_millis(14_000)));
    }
}
