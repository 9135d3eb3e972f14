//! The sender's account of which frame can be built on.

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::Time;

use crate::states::KEPT;
use crate::wire::State;

#[derive(Clone, Copy, Debug)]
struct Sent {
    number: u32,
    source: State,
    state: State,
    /// Part of it or of what it builds on was lost.
    lost: bool,
}

/// Frames that were sent, and what is known of their reception.
#[derive(Debug)]
pub(crate) struct References {
    /// The newest frames, but none before the acknowledged one.
    sent: VecDeque<Sent>,
    /// The newest frame that the receiver has decoded.
    acked: Option<(u32, State)>,
    cautious: Duration,
    /// Until when only that is built on.
    cautious_until: Time,
}

impl References {
    /// It is cautious for `cautious` after a loss.
    pub(crate) fn new(cautious: Duration) -> Self {
        Self { sent: VecDeque::new(), acked: None, cautious, cautious_until: Time::ZERO }
    }

    /// True if something was lost of late.
    pub(crate) fn is_cautious(&self, now: Time) -> bool {
        now < self.cautious_until
    }

    /// Frame that the next one is to build on: the one sent last, unless that is or may be lost.
    /// `None`: it has to stand alone.
    pub(crate) fn choose(&self, now: Time) -> Option<(u32, State)> {
        if self.is_cautious(now) {
            return self.acked;
        }
        let newest = self.sent.iter().rev().find(|sent| !sent.lost);
        newest.map(|sent| (sent.number, sent.state)).or(self.acked)
    }

    /// A frame is sent.
    pub(crate) fn sent(&mut self, number: u32, source: State, state: State) {
        let lost = self.sent.iter().any(|sent| sent.lost && sent.state == source);
        self.sent.push_back(Sent { number, source, state, lost });
        if self.sent.len() > KEPT {
            self.sent.pop_front();
        }
    }

    /// A packet of a frame is lost, and with it all that builds on the frame.
    pub(crate) fn lost(&mut self, now: Time, number: u32) {
        self.cautious_until = now + self.cautious;
        let mut gone = Vec::new();
        for sent in &mut self.sent {
            if sent.number == number || gone.contains(&sent.source) {
                sent.lost = true;
                gone.push(sent.state);
            }
        }
    }

    /// Nothing is known of what was sent since the last acknowledgement.
    pub(crate) fn doubt(&mut self, now: Time) {
        self.cautious_until = now + self.cautious;
        self.sent.iter_mut().for_each(|sent| sent.lost = true);
    }

    /// The receiver has decoded a frame.
    pub(crate) fn acked(&mut self, number: u32, state: State) {
        let newer = self.acked.is_none_or(|(acked, _)| number > acked);
        let known = self.sent.iter().any(|sent| (sent.number, sent.state) == (number, state));
        if newer && known {
            self.acked = Some((number, state));
            self.sent.retain(|sent| sent.number > number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: fn(u64) -> Time = Time::from_millis;

    #[test]
    fn what_is_lost_is_not_built_on() {
        let mut references = References::new(Duration::from_secs(5));
        assert_eq!(references.choose(AT(0)), None);
        // A chain of four.
        for number in 0..4 {
            let source = references.choose(AT(0)).map_or_else(State::default, |(_, state)| state);
            references.sent(number, source, State(number + 10));
        }
        assert_eq!(references.choose(AT(0)), Some((3, State(13))));
        references.acked(1, State(99));
        references.acked(0, State(10));
        references.lost(AT(100), 2);
        // Cautious: only what was acknowledged.
        assert_eq!(references.choose(AT(100)), Some((0, State(10))));
        references.acked(1, State(11));
        assert_eq!(references.choose(AT(100)), Some((1, State(11))));
        references.sent(4, State(11), State(14));
        assert_eq!(references.choose(AT(200)), Some((1, State(11))));
        // Later the newest, but 2, 3 and what builds on them.
        assert_eq!(references.choose(AT(5_100)), Some((4, State(14))));
        references.sent(5, State(13), State(15));
        assert_eq!(references.choose(AT(5_100)), Some((4, State(14))));
        references.doubt(AT(6_000));
        assert_eq!(references.choose(AT(20_000)), Some((1, State(11))));
        // An old acknowledgement changes nothing.
        references.acked(0, State(10));
        assert_eq!(references.choose(AT(20_000)), Some((1, State(11))));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut references = References::new(Duration::ZERO);
        (0..1_000).for_each(|n| references.sent(n, State(n), State(n + 1)));
        assert_eq!(references.sent.len(), KEPT);
    }
}
