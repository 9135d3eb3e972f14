//! Address of the peer, and validation of another one before anything else is sent there (RFC 9000,
//! sections 8 and 9).

use std::net::SocketAddr;
use std::time::Duration;

use airlane_base::Time;

use crate::random::UnpredictableNumbers;

/// Bytes sent to an address that is not validated, for each byte received from it, at most.
const MAX_AMPLIFICATION: u64 = 3;
/// Time between challenges to one address, while it has not answered.
const CHALLENGE_INTERVAL: Duration = Duration::from_millis(50);
/// Time after the last datagram from it at which an address that has not answered is forgotten.
const VALIDATION_TIMEOUT: Duration = Duration::from_secs(3);
/// Responses that wait to be sent.
const MAX_RESPONSES: usize = 4;

/// Unpredictable data of a challenge, which the response repeats.
pub(crate) type ChallengeData = [u8; 8];

/// The address that a session sends to.
#[derive(Debug)]
pub(crate) struct Route {
    active: SocketAddr,
    /// The peer may move.
    follows: bool,
    candidate: Option<Candidate>,
    /// Challenges of the peer that wait for their response, and where they came from.
    responses: Vec<(SocketAddr, ChallengeData)>,
}

/// An address that the peer seems to have moved to.
#[derive(Debug)]
struct Candidate {
    address: SocketAddr,
    data: ChallengeData,
    received_bytes: u64,
    sent_bytes: u64,
    challenge_at: Time,
    expires_at: Time,
}

impl Candidate {
    fn allows(&self, bytes: u64) -> bool {
        self.sent_bytes + bytes <= MAX_AMPLIFICATION * self.received_bytes
    }
}

/// A datagram that opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) from: SocketAddr,
    pub(crate) bytes: u64,
    /// No later packet has come.
    pub(crate) is_newest: bool,
}

/// A frame of the route that leaves now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RouteFrame {
    Challenge(ChallengeData),
    Response(ChallengeData),
}

/// The peer has moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moved {
    /// Only the port has changed: a NAT gave the peer another one (RFC 9000, section 9.4).
    pub(crate) same_host: bool,
}

impl Route {
    pub(crate) fn new(active: SocketAddr, follows: bool) -> Self {
        Self { active, follows, candidate: None, responses: Vec::new() }
    }

    pub(crate) fn active(&self) -> SocketAddr {
        self.active
    }

    /// A datagram of the peer has come.
    pub(crate) fn arrived(
        &mut self,
        now: Time,
        arrival: Arrival,
        random: &mut UnpredictableNumbers,
    ) {
        let Arrival { from, bytes, is_newest } = arrival;
        if !self.follows || from == self.active {
            return;
        }
        match &mut self.candidate {
            Some(known) if known.address == from => {
                known.received_bytes += bytes;
                known.expires_at = now + VALIDATION_TIMEOUT;
            }
            // A late packet is no sign of a move (RFC 9000, section 9.3).
            _ if !is_newest => {}
            other => {
                *other = Some(Candidate {
                    address: from,
                    data: random.next().to_be_bytes(),
                    received_bytes: bytes,
                    sent_bytes: 0,
                    challenge_at: now,
                    expires_at: now + VALIDATION_TIMEOUT,
                });
            }
        }
    }

    /// The peer challenges this end.
    pub(crate) fn challenged(&mut self, from: SocketAddr, data: ChallengeData) {
        if self.responses.len() < MAX_RESPONSES {
            self.responses.push((from, data));
        }
    }

    /// The peer answers a challenge. Whether it has moved to where the answer comes from.
    pub(crate) fn answered(&mut self, from: SocketAddr, data: ChallengeData) -> Option<Moved> {
        let moved = self.candidate.take_if(|c| c.address == from && c.data == data)?;
        let same_host = moved.address.ip() == self.active.ip();
        self.active = moved.address;
        Some(Moved { same_host })
    }

    /// The next frame of the route in a packet of `bytes`, and where it goes.
    pub(crate) fn poll(&mut self, now: Time, bytes: u64) -> Option<(SocketAddr, RouteFrame)> {
        while let Some((to, data)) = self.responses.pop() {
            let candidate = self.candidate.as_mut().filter(|c| c.address == to);
            let may_leave = match candidate {
                Some(candidate) if candidate.allows(bytes) => {
                    candidate.sent_bytes += bytes;
                    true
                }
                Some(_) => false,
                None => to == self.active,
            };
            if may_leave {
                return Some((to, RouteFrame::Response(data)));
            }
        }
        self.candidate.take_if(|c| c.expires_at <= now);
        let candidate = self.candidate.as_mut()?;
        if candidate.challenge_at > now || !candidate.allows(bytes) {
            return None;
        }
        candidate.sent_bytes += bytes;
        candidate.challenge_at = now + CHALLENGE_INTERVAL;
        Some((candidate.address, RouteFrame::Challenge(candidate.data)))
    }

    /// Time at which [`poll`](Self::poll) has something to do, for packets of `bytes`.
    pub(crate) fn deadline(&self, bytes: u64) -> Option<Time> {
        let candidate = self.candidate.as_ref()?;
        let challenge_at = candidate.allows(bytes).then_some(candidate.challenge_at);
        Some(challenge_at.map_or(candidate.expires_at, |at| at.min(candidate.expires_at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of a packet with a challenge.
    const PACKET: u64 = 45;

    fn at(port: u16) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, 1], port))
    }

    fn from(port: u16, bytes: u64) -> Arrival {
        Arrival { from: at(port), bytes, is_newest: true }
    }

    fn route() -> (Route, UnpredictableNumbers) {
        (Route::new(at(1), true), UnpredictableNumbers::new(&[1; 32]))
    }

    #[test]
    fn an_address_is_followed_once_it_has_answered() {
        let (mut route, mut random) = route();
        let now = Time::ZERO;
        route.arrived(now, from(2, 37), &mut random);
        assert_eq!(route.active(), at(1));
        let Some((to, RouteFrame::Challenge(data))) = route.poll(now, PACKET) else {
            panic!("no challenge")
        };
        assert_eq!(to, at(2));
        // Neither from elsewhere nor with other data.
        assert_eq!(route.answered(at(3), data), None);
        assert_eq!(route.answered(at(2), data.map(|byte| !byte)), None);
        assert_eq!(route.active(), at(1));
        assert_eq!(route.answered(at(2), data), Some(Moved { same_host: true }));
        assert_eq!(route.active(), at(2));
        assert_eq!(route.answered(at(2), data), None);
    }

    #[test]
    fn an_address_that_does_not_answer_gets_three_times_what_came_from_it_at_most() {
        let (mut route, mut random) = route();
        let (mut came, mut sent) = (0, 0);
        for step in 0..2_000_u64 {
            let now = Time::from_millis(step * 10);
            if step % 7 == 0 && step < 1_000 {
                route.arrived(now, from(2, 37), &mut random);
                came += 37;
                route.challenged(at(2), [7; 8]);
            }
            while let Some((to, _)) = route.poll(now, PACKET) {
                assert_eq!(to, at(2));
                sent += PACKET;
                assert!(sent <= 3 * came, "{sent} for {came}");
            }
        }
        assert!(sent > came && route.deadline(PACKET).is_none());
    }

    #[test]
    fn late_packets_and_peers_that_do_not_move_change_nothing() {
        let (mut route, mut random) = route();
        route.arrived(Time::ZERO, Arrival { is_newest: false, ..from(2, 900) }, &mut random);
        assert_eq!(route.poll(Time::ZERO, PACKET), None);
        let mut fixed = Route::new(at(1), false);
        fixed.arrived(Time::ZERO, from(2, 900), &mut random);
        assert_eq!(fixed.poll(Time::ZERO, PACKET), None);
        // It answers its peer, and nobody else.
        fixed.challenged(at(1), [1; 8]);
        fixed.challenged(at(2), [2; 8]);
        assert_eq!(fixed.poll(Time::ZERO, PACKET), Some((at(1), RouteFrame::Response([1; 8]))));
        assert_eq!(fixed.poll(Time::ZERO, PACKET), None);
    }
}
